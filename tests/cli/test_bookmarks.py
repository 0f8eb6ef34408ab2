"""Workers that read a source: each task goes on where the last one of its thread has stopped."""

import gc
import threading

import pytest

pytest.importorskip("distributed")

from tests.open_files import is_open, needs_list
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


@needs_list
@pytest.mark.parametrize("ends", ["its thread ends", "it reads something else", "a task fails"])
def test_what_a_thread_has_stopped_reading_is_closed(tmp_path, ends):
    paths = [tmp_path / "one.csv", tmp_path / "other.csv"]
    for path in paths:
        path.write_text("a,b,y\n" + "1,2,u\n3,4,v\n" * 200_000)
    jobs = []
    for path in paths:
        with open_rows([str(path)]) as reader:
            jobs.append(PortionJob(path.name, reader.detached(), lambda model, batch: None, {}))
    was_open = []

    def read(k):
        for _ in Portions.of(jobs[k], 0).between(0, 1, Done()):
            if ends == "a task fails":
                raise MemoryError
        was_open.append(is_open(paths[k]))

    def work():
        try:
            read(0)
        except MemoryError:
            was_open.append(True)
            return
        if ends == "it reads something else":
            read(1)
            was_open.append(not is_open(paths[0]))

    gc.disable()  # it would close files, but not before it complains of them
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert not is_open(paths[0])
        assert not is_open(paths[1])
    finally:
        gc.enable()
    assert all(was_open)
