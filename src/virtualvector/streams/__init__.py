"""Reading tables: from a name, a file or a pipe to rows and labels."""

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.batches import Batch
from virtualvector.streams.columns import Column
from virtualvector.streams.dialect import Dialect
from virtualvector.streams.reader import Reader, open_rows
from virtualvector.streams.table import Stream, read

__all__ = [
    "BadInput",
    "Batch",
    "Column",
    "Dialect",
    "Reader",
    "Stream",
    "open_rows",
    "read",
]
