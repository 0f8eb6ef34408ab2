"""Model files: what is in them, byte by byte, and how they get onto the disk; knows no learner."""
