"""What the tests of reading have in common."""

from virtualvector.streams import BadInput, Reader, open_rows
from virtualvector.streams.byte_source import CHUNK
from virtualvector.streams.formats import Options
from virtualvector.streams.reader import Asked
from virtualvector.streams.sources import find_sources

FIELDS = (
    ", as in the first line (--delimiter and --quote say how fields are written; --on-error skip "
    "leaves such rows out)."
)


def in_chunks(source, chunk=CHUNK, label=None, columns=None, stop=True, format=None):
    """Return a reader that parses so many bytes at once."""
    found = find_sources([str(source)], format)
    return Reader(found, Options(chunk=chunk), Asked(label), columns, stop)


def all_of(reader):
    """Return all rows, with the label as the last cell, and what stopped the reader."""
    rows = []
    try:
        for batch in reader:
            columns = [column.to_pylist() for column in batch.table.columns]
            if len(batch.labels):
                columns.append(batch.labels.tolist())
            rows += zip(*columns, strict=True)
    except BadInput as error:
        return rows, str(error)
    return rows, None


def complaint(*sources, **asked):
    """Return what is wrong with the sources, whether that is seen at once or later."""
    try:
        _, message = all_of(open_rows([str(source) for source in sources], **asked))
    except BadInput as error:
        message = str(error)
    assert message is not None
    for source in sources:
        message = message.replace(str(source), "FILE")
    return message
