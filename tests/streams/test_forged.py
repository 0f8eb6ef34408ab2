"""What a binary file says of itself is checked before anything follows it."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from tests.streams.gathering import all_of, complaint
from tests.streams.limits import read
from virtualvector.streams import open_rows

UTF_8 = "found bytes that are no UTF-8; expected text in UTF-8."
WRITERS = {"rows.arrow": ipc.new_file, "rows.feather": ipc.new_stream}


def written(path, table, compression=None):
    options = ipc.IpcWriteOptions(compression=compression)
    with WRITERS[path.name](str(path), table.schema, options=options) as writer:
        writer.write_table(table)
    return path.read_bytes()


def texts(*values):
    """Return texts that need not be any."""
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.fixture(params=WRITERS)
def path(request, tmp_path):
    return tmp_path / request.param


def in_folders(path, files):
    """Write files of one name, one in each folder."""
    for count, data in enumerate(files):
        place = path.parent / str(count) / path.name
        place.parent.mkdir()
        place.write_bytes(data)
        yield place


@pytest.mark.parametrize("column", ["town", "label"])
def test_offsets_outside_are_refused(path, column):
    files = []
    for kind, size in ((pa.string(), "<4i"), (pa.large_string(), "<4q")):
        cells = {"town": ["oslo", "rome", "bern"], "label": ["x", "y", "x"]}
        cells[column] = ["aaaaa", "bbbbb", "ccccc"]
        table = pa.table({name: pa.array(values, kind) for name, values in cells.items()})
        data, right = written(path, table), struct.pack(size, 0, 5, 10, 15)
        assert data.count(right) == 1
        forged = ((0, 5, 2**30, 15), (0, 5, -(2**30), 15), (0, 5, 1, 15), (0, 5, 10, 2**20))
        files += [data.replace(right, struct.pack(size, *wrong)) for wrong in forged]
    paths = list(in_folders(path, files))
    told = read(*paths, on_error="skip")  # which would be the end of the process
    assert len(told) == len(paths)
    for place, (n_rows, message) in zip(paths, told, strict=True):
        assert n_rows == 0
        assert message.startswith(f"{place}, after row 0, column '{column}': ")


def test_indices_outside_a_dictionary_are_refused(path):
    places = (0, 1, 2, 0, 1, 2, 2, 1)
    town = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), ["oslo", "rome", "bern"])
    data = written(path, pa.table({"town": town, "label": ["x", "y"] * 4}))
    assert data.count(bytes(places)) == 1
    forged = [struct.pack("8b", 0, 1, 2, index, 1, 2, 2, 1) for index in (3, 127, -1)]
    paths = list(in_folders(path, [data.replace(bytes(places), some) for some in forged]))
    for place, (n_rows, message) in zip(paths, read(*paths, on_error="skip"), strict=True):
        assert n_rows == 0
        assert message.startswith(f"{place}, after row 0, column 'town': ")


def test_what_is_no_unicode_is_a_bad_row(path, tmp_path):
    town = texts(b"oslo", b"r\xff", None, b"bern", b"\xed\xa0\x80")
    label = texts(b"x", b"y", b"x", b"\xc3", b"y")
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0, 5.0], "town": town, "label": label})
    written(path, table)
    other = tmp_path / "rows.parquet"
    parquet.write_table(table, other)
    for file in (path, other):
        reader = open_rows([str(file)], on_error="skip")
        assert all_of(reader) == ([(1.0, "oslo", "x"), (3.0, None, "x")], None)
        assert reader.problems == [
            f"{file}, row 2, column 'town': {UTF_8}",
            f"{file}, row 4, column 'label': {UTF_8}",
            f"{file}, row 5, column 'town': {UTF_8}",
        ]
        assert all_of(open_rows([str(file)])) == ([(1.0, "oslo", "x")], reader.problems[0])


def test_lengths_of_messages_are_not_believed(path):
    table = pa.table({"a": np.arange(1000.0), "label": ["x", "y"] * 500})
    data = written(path, table, "zstd")
    place = data.rfind(struct.pack("<q", 8000))  # what the column becomes
    path.write_bytes(data[:place] + struct.pack("<q", 2**40) + data[place + 8 :])
    assert "bytes that become 1,099,511,6" in complaint(path)


def test_a_footer_that_repeats_itself_is_refused(tmp_path):
    path = tmp_path / "rows.arrow"
    table = pa.table({"a": np.arange(1000.0), "label": ["x", "y"] * 500})
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    data = bytearray(path.read_bytes())
    length = struct.unpack("<i", data[-10:-6])[0]
    footer = data[-10 - length : -10]
    first = next(
        place for place in range(0, length - 240, 8)
        if all(
            0 < struct.unpack_from("<q", footer, place + 24 * k)[0] < len(data)
            and 0 < struct.unpack_from("<q", footer, place + 24 * k + 16)[0] < len(data)
            for k in range(10)
        )
    )  # fmt: skip
    for k in range(10):  # each as long as all of the file
        struct.pack_into("<q", footer, first + 24 * k + 16, len(data) - 1000)
    data[-10 - length : -10] = footer
    path.write_bytes(data)
    assert complaint(path) == "FILE: found a damaged footer; expected an Arrow file."


@pytest.mark.parametrize("cut", [1, 5, 20, 300])
def test_a_file_that_was_cut_off_is_refused(tmp_path, cut):
    table = pa.table({"a": np.arange(1000.0), "label": ["x", "y"] * 500})
    arrow, columns = tmp_path / "rows.arrow", tmp_path / "rows.parquet"
    data = written(arrow, table)
    arrow.write_bytes(data[:-cut])
    assert complaint(arrow) == "FILE: found no footer; expected an Arrow file as a whole."
    parquet.write_table(table, columns)
    columns.write_bytes(columns.read_bytes()[:-cut])
    assert complaint(columns).startswith("FILE: ")


def page_at(path, column):
    """Return where the last page of a column is."""
    return parquet.read_metadata(path).row_group(0).column(column).data_page_offset


@pytest.mark.parametrize("checked", [True, False])
def test_the_column_of_a_damaged_page_is_named(tmp_path, checked):
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": np.arange(500.0), "b": np.arange(500.0), "label": ["x", "y"] * 250})
    parquet.write_table(
        table, path, use_dictionary=False, compression="zstd", write_page_checksum=checked
    )
    data = bytearray(path.read_bytes())
    start = page_at(path, 1) + 100
    data[start : start + 20] = bytes(20)
    path.write_bytes(data)
    assert complaint(path).startswith("FILE, after row 0, column 'b': ")


def test_a_page_with_a_checksum_is_what_was_written(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": np.arange(500.0), "label": ["x", "y"] * 250})
    parquet.write_table(
        table, path, use_dictionary=False, compression="none", write_page_checksum=True
    )
    data = path.read_bytes()
    right, wrong = struct.pack("<d", 77.0), struct.pack("<d", 78.5)
    assert data.count(right) == 1
    path.write_bytes(data.replace(right, wrong))
    message = complaint(path)
    assert message.startswith("FILE, after row 0, column 'a': ")
    assert "CRC" in message


def test_names_that_are_no_unicode_are_refused(tmp_path):
    path = tmp_path / "rows.arrow"
    data = written(path, pa.table({"town": ["oslo"], "label": ["x"]}))
    path.write_bytes(data.replace(b"town", b"to\xffn"))
    assert complaint(path) == (
        "FILE: found a name whose bytes are no UTF-8; expected text in UTF-8."
    )


@pytest.mark.parametrize("key", [b'"\xff"', b'"\\ud800"'])
def test_a_key_that_is_no_unicode_is_a_bad_row(tmp_path, key):
    path = tmp_path / "rows.jsonl"
    bad = b"{" + key + b': 1, "label": "x"}\n'
    path.write_bytes(b'{"a": 1, "label": "x"}\n' + bad + b'{"a": 2, "label": "y"}\n')
    reader = open_rows([str(path)], on_error="skip")
    assert all_of(reader) == ([(1.0, "x"), (2.0, "y")], None)
    sign = "'\\udcff'" if b"\xff" in key else "'\\ud800'"
    assert reader.problems == [
        f"{path}, line 2: found the key {sign}, whose bytes are no UTF-8; expected text in UTF-8."
    ]
    path.write_bytes(bad)
    assert "whose bytes are no UTF-8" in complaint(path)


def test_half_a_character_does_not_get_through(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [b'{"a": 1, "b": "u", "label": "x"}', b'{"a": 2, "b": "\\udc00", "label": "y"}']
    path.write_bytes(b"\n".join(lines) + b"\n")
    reader = open_rows([str(path)], on_error="skip")
    assert all_of(reader) == ([(1.0, "u", "x")], None)
    assert reader.problems == [
        f"{path}, line 2, column 'b': {UTF_8[:-1]} (--encoding says in what else)."
    ]


def test_a_table_of_nothing_but_labels_is_refused(tmp_path):
    for name, text in {"rows.jsonl": '{"label": "x"}\n', "rows.svm": "1\n-1\n"}.items():
        path = tmp_path / name
        path.write_text(text)
        message = "FILE: found no column to learn from; expected one or more."
        assert complaint(path) == message


def test_a_carriage_return_ends_a_line_of_svmlight(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:2\r2:3 3:1\n-1 3:5\n")
    assert complaint(path) == (
        "FILE, line 2, column 'label': found '2:3'; expected a number as a label."
    )


def test_what_cannot_be_seen_of_a_file_name_is_not_said(tmp_path):
    path = tmp_path / "ro\x1b[31mws\u202e.csv"
    path.write_text("a,label\ninf,x\n")
    message = complaint(path)
    assert message.isprintable()
    assert "ro\\x1b[31mws\\u202e.csv, line 2" in message
    assert complaint(tmp_path / "\x00.csv").isprintable()


def test_a_label_does_not_lose_its_end(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,label\n1,x\n2,x\0\n3,\0\n4,y\n")
    reader = open_rows([str(path)], on_error="skip")
    assert all_of(reader) == ([(1.0, "x"), (4.0, "y")], None)
    message = "expected a class without zero bytes."
    assert reader.problems == [
        f"{path}, line 3, column 'label': found 'x\\x00'; {message}",
        f"{path}, line 4, column 'label': found '\\x00'; {message}",
    ]


def test_a_table_of_nothing_is_refused(path):
    written(path, pa.table({}))
    assert complaint(path) == "FILE: found no columns; expected some."


def test_metadata_that_would_end_the_process_is_refused():
    """Arrow aborts when it is asked about a column whose histogram has another size."""
    path = Path(__file__).parent / "damaged" / "histogram.parquet"
    ((n_rows, told),) = read(path)
    assert n_rows == 0
    assert told == f"{path}: found damaged metadata; expected that of a Parquet file."
