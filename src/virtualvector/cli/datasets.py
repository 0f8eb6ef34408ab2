"""`vvm datasets`: what can be learned without any file."""

from __future__ import annotations


def datasets() -> None:
    """List the data sets that are shipped.

    For example:

        vvm datasets
        vvm learn thyroid
    """
    from virtualvector.streams import read
    from virtualvector.streams.sources import SHIPPED

    for name in SHIPPED:
        stream = read(name)
        n_rows, n_columns = stream.rows.shape
        classes = ", ".join(f"{c} ({(stream.labels == c).sum()})" for c in stream.classes.tolist())
        print(f"{name:<12}{n_rows:>6} rows{n_columns:>5} columns   {classes}")
