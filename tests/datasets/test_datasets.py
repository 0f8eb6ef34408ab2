import gzip
import sys
import tomllib
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from virtualvector import datasets
from virtualvector.datasets import load_ionosphere, load_spambase, load_thyroid

LOADERS = [load_spambase, load_thyroid, load_ionosphere]
every_loader = pytest.mark.parametrize("load", LOADERS)


def load_two_class_thyroid(**options):
    return load_thyroid(two_class=True, **options)


def fields(file_name):
    with gzip.open(file_name, "rt") as file:
        return [line.rstrip("\n").split(",") for line in file]


def sorted_rows(data, target):
    table = np.column_stack([data, target])
    return table[np.lexsort(table.T)]


@pytest.mark.parametrize(
    ("load", "shape", "class_counts"),
    [
        (load_spambase, (4601, 57), {"ham": 2788, "spam": 1813}),
        (load_thyroid, (215, 5), {"normal": 150, "hyper": 35, "hypo": 30}),
        (load_two_class_thyroid, (215, 5), {"normal": 150, "abnormal": 65}),
        (load_ionosphere, (351, 34), {"b": 126, "g": 225}),
    ],
)
def test_shapes_and_class_counts_are_the_published_ones(load, shape, class_counts):
    bunch = load()
    assert bunch.data.shape == shape
    assert bunch.feature_names.shape == (shape[1],)
    counts = np.bincount(bunch.target)
    assert dict(zip(bunch.target_names.tolist(), counts.tolist(), strict=True)) == class_counts


@every_loader
def test_every_number_in_the_file_is_loaded(load):
    bunch = load()
    header, *lines = fields(bunch.filename)
    assert bunch.feature_names.tolist() == header[:-1]
    assert bunch.data.tolist() == [[float(field) for field in line[:-1]] for line in lines]
    assert np.isfinite(bunch.data).all()


def test_targets_are_codes_of_the_labels_in_the_file():
    bunch = load_ionosphere()
    labels = [line[-1] for line in fields(bunch.filename)[1:]]
    assert bunch.target_names[bunch.target].tolist() == labels
    assert bunch.target.dtype == np.dtype(int)


def test_two_class_thyroid_is_normal_against_the_rest():
    three, two = load_thyroid(), load_two_class_thyroid()
    np.testing.assert_array_equal(two.target, (three.target > 0).astype(int))
    np.testing.assert_array_equal(two.data, three.data)


def test_column_a02_of_ionosphere_is_constant():
    frame = load_ionosphere(as_frame=True).frame
    assert [name for name in frame if frame[name].nunique() == 1] == ["a02"]


def test_spambase_repeats_391_rows():
    X, y = load_spambase(return_X_y=True)
    assert len(X) - len(np.unique(np.column_stack([X, y]), axis=0)) == 391


@every_loader
def test_the_tuple_holds_the_data_and_target_of_the_bunch(load):
    X, y = load(return_X_y=True)
    bunch = load()
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)
    assert bunch.frame is None


@every_loader
def test_frames_hold_the_numbers_of_the_arrays(load):
    arrays, frames = load(random_state=3), load(random_state=3, as_frame=True)
    assert list(frames.data.columns) == arrays.feature_names.tolist()
    assert frames.target.name == "target"
    assert list(frames.frame.columns) == [*arrays.feature_names, "target"]
    np.testing.assert_array_equal(frames.data.to_numpy(), arrays.data)
    np.testing.assert_array_equal(frames.target.to_numpy(), arrays.target)
    X, y = load(random_state=3, as_frame=True, return_X_y=True)
    assert X.equals(frames.data)
    assert y.equals(frames.target)


@every_loader
def test_a_seed_permutes_the_rows(load):
    ordered, shuffled = load(return_X_y=True), load(return_X_y=True, random_state=0)
    assert not np.array_equal(ordered[0], shuffled[0])
    np.testing.assert_array_equal(sorted_rows(*ordered), sorted_rows(*shuffled))


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    X, _ = load_thyroid(return_X_y=True, random_state=0)
    np.testing.assert_array_equal(X, load_thyroid(random_state=0).data)
    assert not np.array_equal(X, load_thyroid(random_state=1).data)


def test_changing_a_loaded_array_does_not_change_the_next():
    first = load_thyroid()
    first.data[:] = np.nan
    first.target[:] = -1
    second = load_thyroid()
    assert np.isfinite(second.data).all()
    assert second.target.min() == 0


@pytest.mark.parametrize(
    ("load", "doi"),
    [
        (load_spambase, "10.24432/C53G6X"),
        (load_thyroid, "10.24432/C5D010"),
        (load_ionosphere, "10.24432/C5W01B"),
    ],
)
def test_descriptions_cite_their_own_source_only(load, doi):
    description = load().DESCR
    assert doi in description
    assert description.count("10.24432/") == 1


def test_arrays_load_without_pandas_and_frames_say_they_need_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load_thyroid().data.shape == (215, 5)
    with pytest.raises(ImportError, match=r"as_frame=True needs pandas"):
        load_thyroid(as_frame=True)


def test_every_file_lies_inside_the_package():
    names = {path.name for path in (resources.files(datasets) / "data").iterdir()}
    assert names == {"README.md", "ionosphere.csv.gz", "new_thyroid.csv.gz", "spambase.csv.gz"}


def test_every_file_is_named_by_the_package_data_patterns_of_the_build():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["virtualvector.datasets"]
    package = Path(datasets.__file__).parent
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    assert shipped == set((package / "data").iterdir())
