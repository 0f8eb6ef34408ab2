"""Models as files: one each, written whole or not at all, read without running anything in it."""

from virtualvector.files.models import Saved, load, read, read_header, save
from virtualvector.storage.errors import BadModelFile, CannotSave

__all__ = ["BadModelFile", "CannotSave", "Saved", "load", "read", "read_header", "save"]
