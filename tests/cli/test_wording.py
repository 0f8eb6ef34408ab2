"""Messages that read well aloud."""

import gzip
import re

import pytest

FAST = ("--learner", "adf")


def test_one_is_not_many(vvm, tmp_path):
    (tmp_path / "one.csv").write_text("a,y\n1,x\n2,z\n3,x\n1\n")
    done = vvm("learn", "one.csv", "--on-error", "skip", *FAST)
    assert "one.csv: 1 column. Label: 'y', the only column called 'y'.\n" in done.err
    assert "found 1 field; expected 2, as in" in done.err
    (tmp_path / "one.csv").write_text("a,y\n1,x\n1\n")
    done = vvm("learn", "one.csv", "--model", "m.vvm", "-q", *FAST)
    assert done.err.endswith("The row before it is in m.vvm.\n")
    assert not re.search(r"\b1 (rows|columns|fields|classes)\b", done.err)


def test_only_what_was_asked_is_called_so(vvm, model):
    for mode in ("--append", "--resume"):
        known = vvm("learn", "rows.csv", "--model", model, mode)
        assert "Label: 'outcome', as learned before.\n" in known.err
        asked = vvm("learn", "rows.csv", "--model", model, mode, "--label", "outcome")
        assert "Label: 'outcome', as asked.\n" in asked.err
    assert "rows.csv: all of it had been learned; there is nothing new.\n" in asked.err
    assert "(0 rows per second)" not in asked.out


@pytest.mark.parametrize(
    ("contents", "kind"),
    [
        (b"a,b,label\n1,2,x\n", "text that looks like CSV"),
        (b"a;b;label\n1;2;x\n", "text that looks like CSV"),
        (b"a,b\n", "text that looks like CSV"),
        ("größe\tname\n1\tx\n".encode(), "text that looks like CSV"),
        (b"import this; that\n\nhi\n", "text"),
        (b'{"a": 1}\n', "text"),
        (b"", "an empty file"),
        (b"PAR1" + bytes(40), "a Parquet file"),
        (b"ARROW1" + bytes(40), "an Arrow file"),
        (gzip.compress(b"a,b\n", mtime=0), "a compressed file"),
        (bytes(100), "something else"),
    ],
)
@pytest.mark.parametrize("verb", ["inspect", "predict", "learn"])
def test_what_is_no_model_is_told_by_what_it_looks_like(vvm, tmp_path, rows, contents, kind, verb):
    (tmp_path / "other").write_bytes(contents)
    rows(5)
    options = {
        "inspect": ("other",),
        "predict": ("rows.csv", "--model", "other"),
        "learn": ("rows.csv", "--model", "other", "-q"),
    }[verb]
    done = vvm(verb, *options)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"vvm: other: found {kind}; expected a model file, as vvm learn and `save` write it."
        + " It is not replaced." * (verb == "learn")
        + "\n"
    )
    assert (tmp_path / "other").read_bytes() == contents


def test_a_model_that_was_cut_off_is_still_told_as_one(vvm, model, tmp_path):
    (tmp_path / "cut.vvm").write_bytes((tmp_path / model).read_bytes()[:1000])
    done = vvm("inspect", "cut.vvm")
    assert done.code == 2
    assert "found 1,000 bytes with a header of" in done.err
    assert "expected a whole model file" in done.err


def test_inspection_names_columns(vvm, model):
    done = vvm("inspect", model)
    assert re.search(r"^categorical +colour$", done.out, re.MULTILINE)
    assert "categorical_features" not in done.out
    assert "None" not in done.out
    assert "Expert(" not in done.out


def test_options_that_differ_are_named(vvm, model):
    done = vvm("learn", "rows.csv", "--model", model, "--append", "--learner", "vvm")
    assert done.err.startswith("vvm: --learner vvm: the model has been learned with other options;")
    done = vvm("learn", "rows.csv", "--buffer-size", "10")
    assert "--buffer-size is not for --learner auto." in done.err


def test_a_missing_or_impossible_model_is_named(vvm):
    assert vvm("inspect", "none.vvm").err == "vvm: none.vvm: no such file.\n"
    assert vvm("inspect", ".").err == "vvm: .: found a folder or a device; expected a model file.\n"
