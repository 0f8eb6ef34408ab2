"""Workers that read a source: each task goes on where the last one of its thread has stopped."""

import pytest

pytest.importorskip("distributed")

from virtualvector.cli.portions import Done, PortionJob, Portions
from virtualvector.streams import open_rows


def test_who_has_to_begin_anew_notes_what_the_first_did(tmp_path):
    (tmp_path / "one.csv").write_text("a,b,y\n1,2,u\n3,4,v\n")
    (tmp_path / "other.csv").write_text("a,b,c,y\n1,2,3,u\n4,5,6,v\n")
    with open_rows([str(tmp_path / name) for name in ("one.csv", "other.csv")]) as reader:
        # A cluster of threads in this process hands one job to all tasks, which may come in any
        # order: a task that is before the last one reads from the start.
        job = PortionJob("run", reader.detached(), lambda model, batch: None, {})
    noted = []
    for _ in range(2):
        portions = Portions(job)
        assert sum(batch.table.num_rows for batch in portions.between(0, 9, Done())) == 4
        noted.append(portions.reader.notes)
    assert noted[0] == noted[1]
    assert any("other.csv: left out: 'c'" in note for note in noted[0])
    assert not any("other.csv" in note for note in reader.notes)
