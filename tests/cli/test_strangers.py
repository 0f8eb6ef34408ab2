"""Files as strangers have them: what is in doubt is asked about, and nothing is learned wrongly."""

import json

import pandas as pd
import polars as pl
import pytest

from virtualvector import AutoVVMClassifier, load

ROWS = [(k % 7 / 2, "abc"[k % 3], "yes" if k * 7 % 5 < 2 else "no") for k in range(60)]


def lines(form="{},{},{}", head="x,c,label"):
    return "\n".join([head, *(form.format(*row) for row in ROWS)]) + "\n"


@pytest.fixture
def learn(vvm, tmp_path):
    """Write a file, learn it, and return what came out."""

    def learn(text, *options, name="rows.csv"):
        (tmp_path / name).write_text(text)
        return vvm("learn", name, "--learner", "adf", "--model", "m.vvm", *options)

    return learn


def columns_of(vvm):
    return vvm("inspect", "m.vvm").out.split("\ncolumns")[1].split("\n")[0].split(":")[1].strip()


def test_a_delimiter_in_a_name_is_told_by_the_rows(vvm, learn):
    done = learn(lines("{1};{0};{2}", "name;size, cm;label"))
    assert done.code == 0
    assert "rows.csv: columns are delimited by ';' (--delimiter)" in done.err
    assert columns_of(vvm) == "name, 'size, cm'"


@pytest.mark.parametrize("head", ["name;size, cm;label", "name;size;label, final"])
def test_a_delimiter_that_rows_do_not_tell_is_asked_for(vvm, learn, head):
    text = lines("{1};0,5;{2}", head)  # as good in two columns as in three
    done = learn(text)
    assert done.code == 2
    assert "may be delimited in more than one way; expected --delimiter to say which" in done.err
    assert learn(text, "--delimiter", ";").code == 0
    assert columns_of(vvm).startswith("name, ")


def test_a_spreadsheet_may_say_its_delimiter(vvm, learn):
    assert learn("sep=;\r\n" + lines("{};{};{}", "x;c;label")).code == 0
    assert columns_of(vvm) == "x, c"
    done = learn("sep=;\n" + lines("{};{};{}", "x;c;label") + "1;a\n")
    assert "rows.csv, line 63: found 2 fields; expected 3" in done.err


def test_rows_without_names_are_not_taken_for_names(learn):
    done = learn(lines(head="0.5,a,yes"))
    assert done.code == 2
    assert "line 1: found '0.5,a,yes', which looks like a row" in done.err
    assert "--no-header" in done.err
    assert learn(lines(head="0.5,a,yes"), "--no-header").code == 0


def test_numbers_may_be_names_if_other_names_are_none_of_the_values(learn):
    assert learn(lines(head="2021,kind,label")).code == 0


def test_names_that_come_again_are_no_row(vvm, learn, tmp_path):
    text = "c,label\n" + "".join(f"{c},{y}\n" for _, c, y in ROWS)
    done = learn(text + text)
    assert done.code == 2
    assert "rows.csv, line 62: found the names of the columns again; expected a row" in done.err
    skipped = learn(text + text, "--on-error", "skip", "--json", "s.json")
    assert skipped.code == 0
    assert '"skipped": 1' in (tmp_path / "s.json").read_text()
    assert vvm("inspect", "m.vvm").out.split("classes")[1].split("\n")[0].strip() == "no, yes"


def test_empty_columns_without_a_name_are_left_out(vvm, learn):
    done = learn(lines("{},{},{},,", "x,c,outcome,,"))
    assert done.code == 0
    assert "left out: 2 columns without a name, and without a value so far" in done.err
    assert "Label: 'outcome', the last column" in done.err
    assert columns_of(vvm) == "x, c"


def test_a_title_above_the_names_is_told(learn):
    done = learn("All about x,,\n" + lines())
    assert done.code == 2
    assert "line 1: found no names of the columns 2, 3; expected names of columns" in done.err


@pytest.mark.parametrize(
    "cell",
    ["2021-5-6", "6 May 2021", "May 6, 2021", "06-May-21", "1. Mai 2021", "2021-05", "05/2021",
     "2021.05.06", "2021-W05", "May 2021", "2021-05-06 7:08", "2021-05-06 07:08:09 CET",
     "Thu, 06 May 2021 07:08:09 GMT", "Thu May 6 07:08:09 2021", "7:08", "12:30 PM", "26:30:00",
     "0 days 01:00:00", "2021年5月6日", "1 234", "1'234", "1.234.567", "1.234,5", "1_000", "(5)",
     "−5", "USD 5", "5 EUR", "'0.5'"],
)  # fmt: skip
def test_dates_and_numbers_in_other_words_are_never_categories(learn, cell):
    done = learn(lines(f'{{0}},"{cell}",{{2}}'))
    assert done.code == 2
    assert f"column 'c': found {cell!r}" in done.err
    assert "expected" in done.err
    assert "--ignore c" in done.err
    assert learn(lines(f'{{0}},"{cell}",{{2}}'), "--categorical", "c").code == 0


@pytest.mark.parametrize(
    "cell",
    ["3XL", "A12", "1/2", "Windows 2019", "5 kg", "192.168.1.1", "2021-22", "16:9", "v1.2.3"],
)
def test_codes_are_categories(learn, cell):
    assert "categories: 'c'" in learn(lines(f"{{0}},{cell}{{1}},{{2}}")).err


def test_dates_of_two_kinds_are_asked_about(learn):
    text = lines("{0},2021-05-06,{2}\n{0},06/05/2021,{2}")
    done = learn(text)
    assert done.code == 2
    assert "found '06/05/2021', a date of which day and month are in doubt" in done.err


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([str(20210501 + k) for k in range(28)], "if these are dates"),
        ([str(1620284889 + k) for k in range(28)], "if these are seconds since 1970"),
        ([f"{1620284889000 + k}" for k in range(28)], "if these are milliseconds since 1970"),
        (["<5", "7", ">9"], "'c' has numbers in 20 of the first 60 rows, and is taken for"),
    ],
)  # fmt: skip
def test_numbers_that_may_be_something_else_get_a_line(learn, cells, told):
    rows = [f"{cells[k % len(cells)]},{y}\n" for k, (_, _, y) in enumerate(ROWS)]
    done = learn("c,label\n" + "".join(rows))
    assert done.code == 0
    assert told in done.err


def test_types_are_given_as_the_reason_where_they_are(vvm, tmp_path):
    table = pl.DataFrame({"x": [0.5, 1.5] * 9, "n": ["1", "2"] * 9, "label": ["a", "b"] * 9})
    table.write_parquet(tmp_path / "rows.parquet")
    told = vvm("learn", "rows.parquet", "--learner", "adf").err
    assert "numbers: 'x' (by type)" in told
    assert "'n' holds numbers written as texts, taken for categories" in told


def test_columns_whose_names_have_commas_and_quotes_can_be_named(vvm, learn):
    text = lines('{0},"$5",{2}', '"size, ""cm""","is on",label')
    hint = learn(text).err
    assert "--ignore 'is on'" in hint
    text = lines('"$5",{1},{2}', '"size, ""cm""","is on",label')
    hint = learn(text).err
    assert '--ignore \'"size, ""cm"""\' leaves' in hint
    assert learn(text, "--ignore", '"size, ""cm"""').code == 0
    assert columns_of(vvm) == "is on"


def test_a_column_with_two_duties_is_told(learn):
    for option in ("--ignore", "--id"):
        done = learn(lines(), "--label", "label", option, "label")
        assert done.code == 2
        assert "'label' as --label and among those to leave out (--ignore or --id)" in done.err
        assert "(--ignore or --id); the columns are" in learn(lines(), option, "nope").err
    assert learn(lines(), "--categorical", "label,c").code == 0  # which it is


@pytest.mark.parametrize(("labels", "declared"), [(("True", "False"), "True,False"),
                                                  (("1", "0"), "1.0,0.0")])  # fmt: skip
def test_declared_classes_have_one_spelling_too(learn, labels, declared):
    text = "\n".join(["x,label", *(f"{x},{labels[y == 'no']}" for x, _, y in ROWS)]) + "\n"
    assert learn(text, "--classes", declared).code == 0


@pytest.mark.parametrize(
    ("own", "kind"),
    [
        *((bool, kind) for kind in ("boolean", "bool[pyarrow]", "category")),
        *((int, kind) for kind in ("Int64", "int64[pyarrow]", "category")),
    ],
)
def test_labels_of_pandas_come_back_as_they_were(vvm, tmp_path, own, kind):
    rows = pd.DataFrame({"x": [x for x, _, _ in ROWS]})
    labels = pd.Series([own(y == "yes") for _, _, y in ROWS]).astype(kind)
    model = AutoVVMClassifier(random_state=0).fit(rows, labels)
    assert [type(label) for label in model.predict(rows[:2]).tolist()] == [own, own]
    model.save(tmp_path / "m.vvm")
    rows.assign(label=labels).to_csv(tmp_path / "more.csv", index=False)
    assert vvm("learn", "more.csv", "--append", "--model", "m.vvm", "-q").code == 0
    assert [type(label) for label in load(tmp_path / "m.vvm").classes_.tolist()] == [own, own]


@pytest.mark.parametrize("name", ["said.parquet", "said.jsonl", "said.csv.gz", "said.tsv"])
def test_predictions_are_not_called_what_they_are_not(vvm, learn, name):
    assert learn(lines()).code == 0
    done = vvm("predict", "rows.csv", "--model", "m.vvm", "--output", name)
    assert done.code == 2
    assert "predictions are written as CSV; expected a name that ends in .csv" in done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--learner", "foo"), "vvm: Invalid value for '--learner': 'foo' is not one of 'auto'"),
        (("--buffer-size", "3"), "vvm: --buffer-size is not for --learner auto."),
    ],
)
def test_wrong_options_are_told_without_jargon(vvm, options, told):
    done = vvm("learn", "spambase", *options)
    assert done.code == 2
    assert done.err.startswith(told)


def test_one_value_is_not_many(vvm, learn, tmp_path):
    assert learn(lines()).code == 0
    (tmp_path / "new.csv").write_text("x,c\n1,z\n")
    done = vvm("predict", "new.csv", "--model", "m.vvm")
    assert "1 value is of a category never seen in learning: 'c' (1)." in done.err
    assert "1 column, which is categorical." in learn("c,label\n" + "a,x\nb,y\n" * 9).err


def test_rows_outside_the_confusion_matrix_are_counted(learn):
    out = learn(lines()).out
    matrix = out.split("observed, predicted")[1].split("\n")[1:3]
    inside = sum(int(cell) for line in matrix for cell in line.split()[1:] if cell.isdigit())
    assert inside == len(ROWS) - 1
    assert "1 row is not among these, as a class was not known when its first row came." in out


def test_text_in_utf_32_is_seen(learn, vvm, tmp_path):
    (tmp_path / "wide.csv").write_bytes(lines().encode("utf-32"))
    done = vvm("learn", "wide.csv", "--learner", "adf")
    assert done.code == 0
    assert "wide.csv: text is in UTF-32 (--encoding)" in done.err


def json_lines(change):
    """Return rows as JSON lines, each of which is changed by its number."""
    rows = [
        change(k, dict(zip(("x", "c", "label"), row, strict=True))) for k, row in enumerate(ROWS)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_objects_within_json_lines_can_be_left_out(vvm, learn):
    text = json_lines(lambda k, row: row | {"o": {"deep": [k]}})
    done = learn(text, name="rows.jsonl")
    assert done.code == 2
    assert "line 1, column 'o': found a list or an object" in done.err
    assert "(--ignore o leaves it out)" in done.err
    assert learn(text, "--ignore", "o", name="rows.jsonl").code == 0
    assert columns_of(vvm) == "x, c"
    assert len(vvm("predict", "rows.jsonl", "--model", "m.vvm").out.splitlines()) == 61


def test_a_key_that_comes_late_can_be_left_out(vvm, learn):
    text = json_lines(lambda k, row: row | ({"late": 1} if k == 58 else {}))
    text = json_lines(lambda k, row: row) * 2 + text  # behind the rows that are looked at
    done = learn(text, name="rows.jsonl")
    assert done.code == 2
    assert "column 'late': found a key that the first rows do not have" in done.err
    assert "--ignore late leaves it out" in done.err
    done = learn(text, "--ignore", "late", name="rows.jsonl")
    assert done.code == 0
    assert "no row has 'late' so far (--ignore)" in done.err
    assert columns_of(vvm) == "x, c"


def test_ids_of_json_lines_are_handed_on_by_a_model_that_leaves_them_out(vvm, learn):
    text = json_lines(lambda k, row: row | {"no": f"n{k}"})
    assert learn(text, "--id", "no", name="rows.jsonl").code == 0
    told = vvm("predict", "rows.jsonl", "--model", "m.vvm").out.splitlines()
    assert [line.split(",")[0] for line in told] == ["no", *(f"n{k}" for k in range(60))]


@pytest.mark.parametrize("verb", ["learn", "predict", "evaluate"])
def test_how_a_later_file_is_written_and_what_it_has_more_is_told(vvm, learn, tmp_path, verb):
    assert learn(lines()).code == 0
    more = lines("{};{};{};7", "x;c;label;more").replace(".", ",")
    (tmp_path / "second.csv").write_text(more)
    options = ["--learner", "adf"] if verb == "learn" else ["--model", "m.vvm"]
    done = vvm(verb, "rows.csv", "second.csv", *options)
    assert done.code == 0, done.err
    for told in (
        "second.csv: columns are delimited by ';' (--delimiter)",
        "second.csv: numbers are written as 1,5 (--decimal)",
        "second.csv: left out: 'more', which",
    ):
        assert done.err.count(told) == 1


NUMBERS = {
    "-999": "'x' is -999 in 20 of the first 60 rows, taken for a number (--missing -999 if",
    "99": "'x' is 99 in 20 of the first 60 rows, taken for a number (--missing 99 if",
    "9007199254740993": "'x' has whole numbers beyond 2^53, which are rounded",
    "01067": "'x' is taken for numbers, but has '01067', which begins with a zero (--categorical x",
    "0": None,
    "0.25": None,
    "9": None,  # which is no row of nines
    "3.25": None,
}


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_may_mean_something_else_get_a_line(learn, number):
    rows = [f"{number if k % 3 == 0 else x},{c},{y}" for k, (x, c, y) in enumerate(ROWS)]
    done = learn("\n".join(["x,c,label", *rows]) + "\n")
    assert done.code == 0
    told = NUMBERS[number]
    assert told in done.err if told else "'x' is" not in done.err and "'x' has" not in done.err


def test_nines_among_their_like_get_no_line(learn):
    rows = [f"{(95, 97, 99, 101)[k % 4]},{c},{y}" for k, (_, c, y) in enumerate(ROWS)]
    done = learn("\n".join(["x,c,label", *rows]) + "\n")
    assert "--missing" not in done.err


def test_categories_and_classes_that_differ_by_capitals_get_a_line(learn):
    rows = [
        f"{x},{'Ulm' if k % 2 else 'ULM'},{y.upper() if k % 5 == 0 else y}"
        for k, (x, _, y) in enumerate(ROWS)
    ]
    done = learn("\n".join(["x,c,label", *rows]) + "\n")
    assert "'c' has 'ULM' and 'Ulm', which are two categories" in done.err
    assert "labels: 'YES' and 'yes' are two classes" in done.err
    assert "two c" not in learn(lines()).err


def test_an_empty_column_is_not_said_to_have_numbers(learn):
    done = learn(lines(",{1},{2}"))
    assert "numbers:" not in done.err
    assert "'x': no value in the first rows; taken for numbers" in done.err


def test_a_table_of_categories_alone_is_learned(learn):
    assert learn(lines("{1}{0},{1},{2}")).code == 0


ODD = {
    "1,234": "found '1,234', a number with commas; expected 1234.5, or --decimal , where 1,5",
    "12.3%": "found '12.3%', a number with signs; expected 12.5, as in most of the first rows",
    "oops": "found 'oops'; expected a number, as in most of the first rows (--missing oops if",
}


@pytest.mark.parametrize("cell", ODD)
def test_a_stray_cell_is_told_with_what_it_may_mean(learn, cell):
    done = learn(lines() + f'"{cell}",a,yes\n')
    assert done.code == 2
    assert f"rows.csv, line 62, column 'x': {ODD[cell]}" in done.err


@pytest.mark.parametrize("column", ["x", "c"])
def test_an_input_is_not_handed_on_besides(vvm, learn, column):
    assert learn(lines()).code == 0
    done = vvm("predict", "rows.csv", "--model", "m.vvm", "--id", column)
    assert done.code == 2
    assert f"--id {column}: the model has learned it as an input" in done.err
    done = vvm("predict", "rows.csv", "--model", "m.vvm", "--id", "label,label")
    assert "--id: found 'label' twice; expected it once" in done.err
    assert done.code == 2
