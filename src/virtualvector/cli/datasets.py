"""`vvm datasets`: what can be learned without any file."""

from __future__ import annotations

from virtualvector.cli.options import JsonOption


def datasets(json: JsonOption = None) -> None:
    """List the data sets that are shipped.

    For example:

        vvm datasets
        vvm learn thyroid
    """
    from virtualvector.cli.outputs import check_outputs, leaving_room_for
    from virtualvector.cli.summary import write_json
    from virtualvector.streams import read
    from virtualvector.streams.sources import SHIPPED

    check_outputs([], [("--json", json)])
    found = []
    with leaving_room_for(json):
        for name in SHIPPED:
            stream = read(name)
            n_rows, n_columns = stream.rows.shape
            classes = {c: int((stream.labels == c).sum()) for c in stream.classes.tolist()}
            listed = ", ".join(f"{label} ({count})" for label, count in classes.items())
            print(f"{name:<12}{n_rows:>6} rows{n_columns:>5} columns   {listed}")
            found.append({"name": name, "rows": n_rows, "columns": n_columns, "classes": classes})
    if json is not None:
        write_json({"datasets": found}, json)
