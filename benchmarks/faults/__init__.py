"""Attacks that anyone can run for an hour: forged models, lying files, kills and full disks."""
