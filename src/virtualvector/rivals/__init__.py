"""Learners to compare with, and samplers that give exact answers."""
