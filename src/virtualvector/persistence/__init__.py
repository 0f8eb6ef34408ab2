"""Models as files: one each, written whole or not at all, read without running anything in it."""

from virtualvector.persistence.errors import BadModelFile, CannotSave
from virtualvector.persistence.registry import Saved, load, read, read_header, save

__all__ = ["BadModelFile", "CannotSave", "Saved", "load", "read", "read_header", "save"]
