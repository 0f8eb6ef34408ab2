"""Compiled maths on plain arrays: no state, no input checks, one formula per function."""
