"""`vvm pool`: models of several places, as one file."""

import json
import re

import numpy as np
import pytest

import virtualvector
from virtualvector import ADFClassifier, VVMClassifier, persistence
from virtualvector.persistence.lock import locked


def table(seed, n=50):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    return rows, np.where(rows[:, 0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


@pytest.fixture
def folder(tmp_path):
    """Write models of two places, the one that both went on from, and some that do not fit."""

    def learned(*seeds, kind=VVMClassifier, **parameters):
        model = kind(margin_noise=0.5, **parameters)
        for seed in seeds:
            model.partial_fit(*table(seed))
        return model

    learned(0).save(tmp_path / "start.vvm")
    learned(0, 1).save(tmp_path / "north.vvm")
    learned(0, 2).save(tmp_path / "south.vvm")
    learned(3, buffer_size=5).save(tmp_path / "small.vvm")
    learned(4, kind=ADFClassifier).save(tmp_path / "adf.vvm")
    learned(5, half_life=30.0).save(tmp_path / "fading.vvm")
    learned(6, half_life=30.0).save(tmp_path / "fading2.vvm")
    return tmp_path


def test_pooled_files_are_what_pool_makes_of_the_models(vvm, folder):
    done = vvm("pool", "north.vvm", "south.vvm", "--common", "start.vvm", "--model", "all.vvm")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "all.vvm: pooled from north.vvm (100 rows), south.vvm (100 rows), which went on from "
        "start.vvm (50 rows); 150 rows in all.\n"
    )
    models = [virtualvector.load(folder / f"{name}.vvm") for name in ("north", "south", "start")]
    expected = virtualvector.pool(models[:2], models[2])
    found = virtualvector.load(folder / "all.vvm")
    rows, _ = table(9)
    assert np.array_equal(found.predict_proba(rows), expected.predict_proba(rows))


def test_the_order_of_files_does_not_change_a_byte(vvm, folder):
    vvm("pool", "north.vvm", "south.vvm", "--model", "one.vvm")
    vvm("pool", "south.vvm", "north.vvm", "--model", "other.vvm")
    assert (folder / "one.vvm").read_bytes() == (folder / "other.vvm").read_bytes()


def test_a_summary_for_machines_has_parts_and_rows(vvm, folder):
    done = vvm("pool", "north.vvm", "south.vvm", "--model", "all.vvm", "--json", "-")
    assert json.loads(done.out) == {
        "model": "all.vvm",
        "rows": 200,
        "classes": ["no", "yes"],
        "pooled": [["north.vvm", 100], ["south.vvm", 100]],
    }


def test_inspect_says_what_a_model_was_pooled_from(vvm, folder):
    vvm("pool", "north.vvm", "south.vvm", "--model", "all.vvm")
    done = vvm("inspect", "all.vvm", "--json", "facts.json")
    assert re.search(r"learned apart +pooled from north.vvm \(100 rows\), south.vvm", done.out)
    assert json.loads((folder / "facts.json").read_text())["pooled"][0] == ["north.vvm", 100]
    assert "pooled" not in vvm("inspect", "north.vvm").out


@pytest.mark.parametrize("notes", [{"pooled": 3}, {"pooled": [["a", "b"]]}, {"pooled": []}])
def test_other_notes_of_that_name_are_not_taken_for_parts(vvm, folder, notes):
    persistence.save(virtualvector.load(folder / "north.vvm"), folder / "odd.vvm", about=notes)
    done = vvm("inspect", "odd.vvm")
    assert done.code == 0
    assert "pooled" not in done.out


def test_a_model_that_is_replaced_is_kept(vvm, folder):
    before = (folder / "adf.vvm").read_bytes()
    done = vvm("pool", "north.vvm", "south.vvm", "--model", "adf.vvm")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert (folder / "adf.vvm~").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("north.vvm south.vvm --model south.vvm", "--model south.vvm: .* the model south.vvm"),
        ("north.vvm south.vvm --model x --json north.vvm", "--json north.vvm: .* same file"),
        ("north.vvm --common start.vvm --model start.vvm", "same file as the model start.vvm"),
        ("north.vvm south.vvm --model no/x.vvm", "there is no folder no"),
        ("north.vvm none.vvm --model x.vvm", "none.vvm: no such file"),
        ("north.vvm rows.csv --model x.vvm", "rows.csv: "),
        (
            "north.vvm small.vvm --model x.vvm",
            "north.vvm and small.vvm differ in buffer_size: 30 an",
        ),
        ("north.vvm adf.vvm --model x.vvm", "differ in kind: 'VVMClassifier' and 'ADFClassifier'"),
        ("north.vvm south.vvm north.vvm --model x.vvm", "have learned the same rows"),
        ("start.vvm --common south.vvm --model x.vvm", "start.vvm has learned 50 rows and south"),
        ("north.vvm --common south.vvm --model x.vvm", "100 rows and south.vvm as many, but other"),
        ("fading.vvm fading2.vvm --model x.vvm", "found half_life = 30; expected none"),
        ("north.vvm south.vvm --model rows.csv", "rows.csv: .* It is not replaced"),
    ],
)
def test_what_cannot_be_pooled_is_told_in_one_line(vvm, folder, arguments, words):
    (folder / "rows.csv").write_text("x,y\n1,2\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = vvm("pool", *arguments.split())
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(words, done.err)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_broken_file_is_named_as_it_was_given(vvm, folder):
    for place in ("north", "south"):
        (folder / place).mkdir()
        (folder / f"{place}.vvm").rename(folder / place / "m.vvm")
    (folder / "south/m.vvm").write_bytes((folder / "south/m.vvm").read_bytes()[:-9])
    done = vvm("pool", "north/m.vvm", "south/m.vvm", "--model", "x.vvm")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("vvm: south/m.vvm: found contents that do not match their checksum")


def test_models_of_vvm_learn_are_pooled_and_predict(vvm, folder):
    for k, name in enumerate(("east", "west", "far")):
        rows, labels = table(k, 300)
        rows[:, 1] += 50.0 * (name == "far")
        lines = [
            ",".join(map(repr, row)) + f",{label}"
            for row, label in zip(rows.tolist(), labels, strict=True)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["u,v,w,y", *lines]))
        assert vvm("learn", f"{name}.csv", "--model", f"{name}.vvm", "--quiet").code == 0
    done = vvm("pool", "east.vvm", "west.vvm", "--model", "all.vvm")
    assert (done.code, done.err) == (0, "")
    assert "600 rows in all" in done.out
    assert vvm("evaluate", "far.csv", "--model", "all.vvm", "--label", "y").code == 0
    done = vvm("pool", "east.vvm", "far.vvm", "--model", "all.vvm")
    assert (done.code, done.err.count("\n")) == (0, 2)
    assert re.search(r"note: east.vvm has 'v' at .* all together at 2\d", done.err)
    done = vvm("pool", "north.vvm", "east.vvm", "--model", "x.vvm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "north.vvm is of type VVMClassifier and others are of type AutoVVM" in done.err


@pytest.fixture
def of_classes(vvm, tmp_path):
    """Learn a file of some classes, and return the name of the model."""

    def learn(name, classes, *options):
        rows, _ = table(len(name), 40)
        lines = [f"{a},{b},{classes[k % len(classes)]}" for k, (a, b, _) in enumerate(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["u,v,y", *lines]))
        model = f"{name}.vvm"
        done = vvm("learn", f"{name}.csv", "--model", model, "--label", "y", "-q", *options)
        assert done.code == 0
        return model

    return learn


def test_models_of_not_as_many_classes_are_refused_by_these_and_the_option_that_helps(
    vvm, of_classes
):
    two, three = of_classes("two", ["no", "yes"]), of_classes("three", ["maybe", "no", "yes"])
    done = vvm("pool", two, three, "--model", "x.vvm")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "two.vvm has the classes ['no', 'yes'] and three.vvm ['maybe', 'no', 'yes']" in done.err
    assert "--classes of vvm learn" in done.err
    declared = of_classes("two", ["no", "yes"], "--classes", "maybe,no,yes")
    done = vvm("pool", declared, three, "--model", "x.vvm")
    assert (done.code, "80 rows in all" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--learner vvm --buffer-size 10", "differ in buffer_size of experts[0]: 30 and 10."),
        ("--learner adf", "differ in buffer_size of experts[0]: 30 and 0."),
        ("", "differ in number of experts: 1 and "),
    ],
)
def test_learners_that_differ_are_refused_by_what_does(vvm, of_classes, options, words):
    one = of_classes("one", ["no", "yes"], "--learner", "vvm")
    other = of_classes("other", ["no", "yes"], *options.split())
    done = vvm("pool", one, other, "--model", "x.vvm")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


def test_models_without_a_class_in_common_are_pooled_with_a_note(vvm, of_classes):
    one, other = of_classes("one", ["no", "yes"]), of_classes("other", ["blue", "red"])
    done = vvm("pool", one, other, "--model", "all.vvm")
    assert done.code == 0
    assert (
        "note: one.vvm has no class in common with the others: 'no', 'yes' and 'blue', 'red'."
        in done.err
    )
    assert virtualvector.load("all.vvm").classes_.tolist() == ["blue", "no", "red", "yes"]


def test_nobody_writes_a_model_that_is_being_learned(vvm, folder):
    with locked(folder / "all.vvm.run"):
        done = vvm("pool", "north.vvm", "south.vvm", "--model", "all.vvm")
    assert done.code == 1
    assert "another process is learning it" in done.err
    with locked(folder / "all.vvm.run") as file:
        file.add_line("begun")
    done = vvm("pool", "north.vvm", "south.vvm", "--model", "all.vvm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert not (folder / "all.vvm").exists()
