"""Models that were learned apart, as one."""

from copy import copy

import numpy as np
import pytest

import virtualvector
from tests.posterior.textbook import ep, folded
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    SOGPClassifier,
    VVMClassifier,
    WindowEPClassifier,
    pool,
)

ALL = [VVMClassifier, ADFClassifier, WindowEPClassifier, EPClassifier]


def rows_and_labels(seed, n, n_classes=2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    scores = rows[:, :n_classes] + 0.5 * rng.normal(size=(n, n_classes))
    return rows, np.array(["a", "b", "c"])[np.argmax(scores, axis=1)]


def learned(kind, seed, n=60, n_classes=2, **parameters):
    return kind(margin_noise=0.5, **parameters).partial_fit(*rows_and_labels(seed, n, n_classes))


@pytest.mark.parametrize("kind", ALL)
def test_one_model_is_given_back(kind, tmp_path):
    model = learned(kind, 0)
    again = pool([model])
    for name, each in (("model", model), ("again", again)):
        each.save(tmp_path / name)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_order_of_models_does_not_change_the_file(kind, n_classes, tmp_path):
    models = [learned(kind, seed, 30, n_classes, random_state=seed) for seed in range(3)]
    for name, order in (("one", [0, 1, 2]), ("other", [2, 0, 1])):
        pool([models[k] for k in order]).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert virtualvector.load(tmp_path / "one").n_seen_ == 90


@pytest.mark.parametrize("kind", [EPClassifier, VVMClassifier])
def test_models_that_keep_all_rows_are_one_ep_over_all_rows(kind):
    more = {"buffer_size": 200, "merge_pairs": 0} if kind is VVMClassifier else {}
    found = pool([learned(kind, seed, 40, **more) for seed in range(2)])
    both = [rows_and_labels(seed, 40) for seed in range(2)]
    rows, labels = (np.concatenate(each) for each in zip(*both, strict=True))
    mean, covariance = ep(folded(rows, np.where(labels == "b", 1.0, -1.0)), 0.5)
    np.testing.assert_allclose(np.append(found.coef_, found.intercept_), mean, atol=1e-6)
    np.testing.assert_allclose(found.covariance_, covariance, atol=1e-6)


def test_a_class_that_only_some_have_seen_did_not_come_to_the_others():
    """EP over all rows of all models, one class against the rest, says the same."""
    tables = [rows_and_labels(seed, 30, 3) for seed in range(3)]
    seen = [["c"], ["b", "c"], ["a", "b", "c"]]
    kept = [np.isin(y, classes) for (_, y), classes in zip(tables, seen, strict=True)]
    tables = [(X[some], y[some]) for (X, y), some in zip(tables, kept, strict=True)]
    found = pool([EPClassifier(margin_noise=0.5).partial_fit(*table) for table in tables])
    assert found.classes_.tolist() == ["a", "b", "c"]
    rows, labels = (np.concatenate(each) for each in zip(*tables, strict=True))
    for k, label in enumerate("abc"):
        mean, _ = ep(folded(rows, np.where(labels == label, 1.0, -1.0)), 0.5)
        np.testing.assert_allclose(np.append(found.coef_[k], found.intercept_[k]), mean, atol=1e-6)
    # It still learns classes as they come.
    found.partial_fit(rows[:1], ["d"])
    assert found.classes_.tolist() == ["a", "b", "c", "d"]


def test_models_that_went_on_from_a_common_one_count_its_rows_once():
    rows, labels = rows_and_labels(0, 30)
    common = EPClassifier(margin_noise=0.5).partial_fit(rows, labels)
    tables, models = [(rows, labels)], []
    for seed in (1, 2):
        model = EPClassifier(margin_noise=0.5).partial_fit(rows, labels)
        tables.append(rows_and_labels(seed, 30))
        models.append(model.partial_fit(*tables[-1]))
    found = pool(models, common)
    rows, labels = (np.concatenate(each) for each in zip(*tables, strict=True))
    mean, _ = ep(folded(rows, np.where(labels == "b", 1.0, -1.0)), 0.5)
    assert found.n_seen_ == 90
    np.testing.assert_allclose(np.append(found.coef_, found.intercept_), mean, atol=1e-6)


def test_together_models_predict_better_than_each():
    X, y = rows_and_labels(9, 2000)
    models = [learned(VVMClassifier, seed, 25, buffer_size=5) for seed in range(4)]
    probabilities = [m.predict_proba(X)[np.arange(2000), (y == "b") * 1] for m in models]
    together = pool(models).predict_proba(X)[np.arange(2000), (y == "b") * 1]
    assert np.log(together).mean() > max(np.log(each).mean() for each in probabilities)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (lambda: learned(ADFClassifier, 1), "kind: 'VVMClassifier' and 'ADFClassifier'"),
        (lambda: learned(VVMClassifier, 1, buffer_size=5), "buffer_size: 30 and 5"),
        (lambda: learned(VVMClassifier, 1, prior_variance=2.0), "prior_variance: 1.0 and 2.0"),
        (lambda: learned(VVMClassifier, 1, fit_intercept=False), "fit_intercept: True and False"),
        (
            lambda: VVMClassifier(margin_noise=0.5).fit(
                *[each[:, :2] if each.ndim > 1 else each for each in rows_and_labels(1, 9)]
            ),
            "number of columns: 4 and 2",
        ),
    ],
)
def test_models_that_do_not_fit_are_refused_by_what_differs(other, named):
    with pytest.raises(ValueError, match=f"model 0 and model 1 differ in {named}"):
        pool([learned(VVMClassifier, 0), other()])


def test_models_of_other_classes_are_refused_by_name():
    told = VVMClassifier(margin_noise=0.5).fit(*rows_and_labels(0, 30))
    with pytest.raises(
        ValueError, match=r"model 1 was told .* \['a', 'b'\], and others have \['c'\]"
    ):
        pool([learned(VVMClassifier, 1, n_classes=3), told])
    rows, labels = rows_and_labels(3, 30)
    numbers = VVMClassifier(margin_noise=0.5).partial_fit(rows, (labels == "a") * 1)
    with pytest.raises(ValueError, match="model 0 has classes of the kind text and model 1 of the"):
        pool([told, numbers])


def test_what_cannot_be_a_product_is_refused():
    one, other = learned(VVMClassifier, 0), learned(VVMClassifier, 1)
    with pytest.raises(ValueError, match="model 0 and model 2 have learned the same rows"):
        pool([one, other, learned(VVMClassifier, 0)])
    with pytest.raises(ValueError, match="model 0 has learned 60 rows and common 100"):
        pool([one, other], common=learned(VVMClassifier, 2, 100))
    with pytest.raises(ValueError, match="found no models"):
        pool([])
    with pytest.raises(ValueError, match="found half_life = 50; expected none"):
        pool([learned(VVMClassifier, seed, half_life=50.0) for seed in range(2)])
    with pytest.raises(
        ValueError, match="model 1: found parameters that give another margin_noise"
    ):
        pool([one, learned(VVMClassifier, 1).set_params(margin_noise=0.7)])
    with pytest.raises(ValueError, match="model 0 is of type VVMClassifier and others are of"):
        pool([one, AutoVVMClassifier()])
    with pytest.raises(TypeError, match="model 1 is of type SOGPClassifier, which cannot be"):
        pool([one, SOGPClassifier()])


@pytest.mark.parametrize("kind", ALL)
def test_a_model_with_as_many_rows_as_the_common_one_has_to_be_the_same(kind):
    one, common = learned(kind, 0), learned(kind, 1)
    with pytest.raises(ValueError, match="model 0 has learned 60 rows and common as many, but"):
        pool([one, learned(kind, 1)], common)
    assert pool([learned(kind, 1), learned(kind, 1)], common).n_seen_ == 60
    assert pool([learned(kind, 1), copy(common)], common).n_seen_ == 60


def test_a_common_one_that_is_no_ancestor_is_refused_by_what_is_less_than_it_has():
    rows, labels = rows_and_labels(5, 40)
    sure = VVMClassifier(margin_noise=0.5).partial_fit(3.0 * rows, labels)
    unsure = VVMClassifier(margin_noise=0.5).partial_fit(3.0 * rows[:30], np.roll(labels, 1)[:30])
    with pytest.raises(ValueError, match=r"model 0 has a log evidence of -.* and common of -"):
        pool([sure], unsure)
    with pytest.raises(ValueError, match=r"has the classes \['a', 'b'\] and common also \['c'\]"):
        pool([learned(VVMClassifier, 0)], learned(VVMClassifier, 1, 20, 3))


def test_kept_rows_that_the_common_one_never_had_tell_that_it_is_no_ancestor():
    """But not that of others, who may have let go of all that would tell."""
    other, common = learned(EPClassifier, 0, 90), learned(EPClassifier, 1, 8)
    with pytest.raises(ValueError, match="model 0 has kept one of its first 8 rows and common oth"):
        pool([other], common)
    for kind in ALL:  # whose own heirs are taken, also those of a pooled one
        start = learned(kind, 1, 20)
        heirs = [copy(start).partial_fit(*rows_and_labels(seed, 15)) for seed in (2, 3, 4)]
        later = copy(pool(heirs[:2], start)).partial_fit(*rows_and_labels(5, 15))
        assert pool([later, heirs[2]], start).n_seen_ == 80


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "found NoneType in place of models; expected a list of them"),
        ("north.vvm", "found str in place of models"),
        ({"north": None}, "found dict in place of models"),
        (VVMClassifier(), r"found a single VVMClassifier; expected a list of models, as in pool\("),
        (["north.vvm"], "model 0 is of type str, which cannot be pooled"),
        ([None], "model 0 is of type NoneType, which cannot be pooled"),
    ],
)
def test_what_is_no_list_of_models_is_told(given, words):
    with pytest.raises(TypeError, match=words):
        pool(given)


def test_models_come_in_anything_that_has_them_one_after_the_other():
    models = [learned(ADFClassifier, seed, 30) for seed in range(2)]
    array = np.empty(2, object)
    array[:] = models
    for given in (tuple(models), (model for model in models), array, iter(models)):
        assert pool(given).n_seen_ == 60
