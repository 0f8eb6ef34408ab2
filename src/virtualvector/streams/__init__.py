"""Reading tables: from a name or a file to rows and labels."""

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.table import Stream, read

__all__ = ["BadInput", "Stream", "read"]
