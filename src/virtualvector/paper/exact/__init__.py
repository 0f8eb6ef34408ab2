"""Posteriors without approximation: samplers, and what a sphere has left of itself."""
