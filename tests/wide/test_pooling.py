"""Wide models that were learned apart, as one."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import virtualvector
from tests.wide.test_classifier import SMALL, notes, wide
from virtualvector import ADFClassifier, VVMClassifier, WideVVMClassifier, pool
from virtualvector.features.wide import WideEncoder
from virtualvector.posterior import mean_of, pooling, precision_of


def of_notes(first, stop, **parameters):
    table, labels = notes(240)
    model = WideVVMClassifier(text_features=["note"], n_hashed=SMALL, **parameters)
    return model.partial_fit(table[first:stop], labels[first:stop])


def saved(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(("rank", "columns"), [(0, 60), (60, 30)])
def test_precisions_of_shards_add_up_and_the_prior_counts_once(rank, columns):
    # With a rank that suffices nothing is cut, and with none there is a diagonal.
    rows, labels = wide(100, columns)
    parts = [slice(0, 40), slice(40, 100)]
    shards = [
        WideVVMClassifier(rank=rank, scale=False).partial_fit(
            sparse.csr_array(rows[part]), labels[part], [0, 1]
        )
        for part in parts
    ]
    both = pool(shards)
    precisions = [precision_of(each._posterior.states[0]) for each in (both, *shards)]
    expected = precisions[1] + precisions[2] - np.eye(columns + 1)
    np.testing.assert_allclose(precisions[0], expected, rtol=1e-9, atol=1e-9)
    means = [mean_of(each._posterior.states[0]) for each in (both, *shards)]
    linear = precisions[1] @ means[1] + precisions[2] @ means[2]
    np.testing.assert_allclose(means[0], np.linalg.solve(expected, linear), atol=1e-9)
    assert both.n_seen_ == 100


def test_texts_are_pooled_as_the_rows_that_words_become(tmp_path):
    table, labels = notes(240)
    rows = WideEncoder(["text"], ["note"], 0, SMALL).scale([table["note"].to_numpy(object)])
    texts, plain = [], []
    for part in (slice(0, 90), slice(90, 200)):
        model = WideVVMClassifier(rank=3, text_features=["note"], n_hashed=SMALL, mix=False)
        texts.append(model.partial_fit(table[["note"]][part], labels[part]))
        model = ADFClassifier(margin_noise=1.0, covariance="low-rank", rank=3)
        plain.append(model.partial_fit(rows[part], labels[part]))
    expected = pool(plain).predict_proba(rows[200:])
    both = pool(texts)
    np.testing.assert_array_equal(both.predict_proba(table[["note"]][200:]), expected)
    both.save(tmp_path / "model.vvm")
    again = virtualvector.load(tmp_path / "model.vvm")  # which passes all checks
    again.partial_fit(table[["note"]][200:], labels[200:])
    assert again.n_seen_ == 240


def test_scales_and_words_are_those_of_one_that_has_seen_all_rows():
    table, labels = notes(240)
    rng = np.random.default_rng(5)
    table["price"] = rng.uniform(1.0, 3.0, 240)  # of which none is so far out that it is moved
    entries = sparse.random(240, 9, 0.3, "csr", rng=rng, data_rvs=lambda n: rng.uniform(1, 3, n))
    parameters = {"text_features": ["note"], "rank": 0}  # so many places that no two share one
    one = WideVVMClassifier(**parameters).partial_fit(table, labels)
    start = WideVVMClassifier(**parameters).partial_fit(table[:50], labels[:50])
    parts = [slice(50, 120), slice(120, 240)]
    both = pool([copy(start).partial_fit(table[p], labels[p]) for p in parts], common=start)
    found, expected = both._encoder, one._encoder
    for name in ("counts", "means", "squares", "missing"):
        each = (getattr(encoder.numbers, name) for encoder in (found, expected))
        np.testing.assert_allclose(*each, rtol=1e-9)
    assert np.array_equal(found.met, expected.met)
    assert set(found.words) == set(expected.words)
    one, *shards = (
        WideVVMClassifier().partial_fit(entries[part], labels[part])
        for part in (slice(None), slice(0, 100), slice(100, 240))
    )
    both = pool(shards)
    np.testing.assert_array_equal(both._encoder.counts, one._encoder.counts)
    np.testing.assert_allclose(both._encoder.squares, one._encoder.squares, rtol=1e-9)


def test_one_model_is_given_back_and_order_does_not_change_the_file(tmp_path):
    north, south = of_notes(0, 100), of_notes(100, 240)
    assert saved(pool([north]), tmp_path / "again") == saved(north, tmp_path / "north")
    one, other = pool([north, south]), pool([south, north])
    assert saved(one, tmp_path / "one") == saved(other, tmp_path / "other")


def test_together_they_predict_better_than_each():
    table, labels = notes(4000, seed=4)
    make = {"text_features": ["note"], "n_hashed": SMALL, "rank": 5}
    parts = [slice(0, 400), slice(400, 800), slice(800, 1200)]
    models = [WideVVMClassifier(**make).partial_fit(table[p], labels[p]) for p in parts]

    def loss(model):
        columns = np.searchsorted(model.classes_, labels[1200:])
        said = model.predict_proba(table[1200:])[np.arange(2800), columns]
        return -np.log(said).mean()

    assert loss(pool(models)) < min(map(loss, models))


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (lambda: of_notes(100, 200, rank=2), "differ in rank: 20 and 2"),
        (lambda: of_notes(100, 200, margin_noise=0.5), "margin_noise: 1.0 and 0.5"),
        (
            lambda: WideVVMClassifier(n_hashed=SMALL).partial_fit(
                notes()[0][["price"]], notes()[1]
            ),
            "number of columns: 3 and 1",
        ),
        (lambda: VVMClassifier().partial_fit([[1.0], [2.0]], [0, 1]), "type VVMClassifier"),
        (lambda: of_notes(0, 100), "the same rows"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(other, named):
    with pytest.raises(ValueError, match=named):
        pool([of_notes(0, 100), other()])


def test_a_half_life_is_refused():
    models = [of_notes(0, 100, half_life=50.0), of_notes(100, 200, half_life=50.0)]
    with pytest.raises(ValueError, match="half_life"):
        pool(models)


def test_numbers_on_another_scale_are_told():
    table, labels = notes(240)
    far = table.assign(price=table["price"] + 1000.0)
    north = WideVVMClassifier().partial_fit(table[["price"]][:120], labels[:120])
    south = WideVVMClassifier().partial_fit(pd.DataFrame(far[["price"]][120:]), labels[120:])
    with pytest.warns(UserWarning, match="model 0 has 'price'"):
        pool([north, south])


def test_every_learner_of_a_mixture_is_pooled_and_trust_is_the_mean_by_rows():
    models = [of_notes(0, 80), of_notes(80, 240)]
    both = pool(models)._posterior
    mixtures = [model._posterior for model in models]
    assert len(both.others) == len(mixtures[0].others) > 0
    for e, own in enumerate(both.learners):  # of which all but the first are diagonal
        states = [mixture.learners[e].states[0] for mixture in mixtures]
        if own.settings.rank == 0:
            precisions = [np.diagonal(precision_of(state)) for state in states]
            expected = sum(precisions) - 1.0
            np.testing.assert_allclose(np.diagonal(precision_of(own.states[0])), expected)
            linear = sum(p * mean_of(state) for p, state in zip(precisions, states, strict=True))
            np.testing.assert_allclose(mean_of(own.states[0]), linear / expected, atol=1e-12)
    counted = [mixture.rates.counts for mixture in mixtures]
    np.testing.assert_array_equal(both.rates.counts, counted[0] + counted[1])
    assert both.rates.rows.sum() == 240.0
    trusts = [mixture.trust for mixture in mixtures]
    np.testing.assert_allclose(both.trust.evidence, trusts[0].evidence + trusts[1].evidence)
    np.testing.assert_allclose(both.trust.counts, trusts[0].counts + trusts[1].counts)
    mean = trusts[0].weights / 3.0 + 2.0 * trusts[1].weights / 3.0
    np.testing.assert_allclose(both.trust.weights, mean)


def test_residuals_that_are_too_large_to_be_written_out_are_cut_before(monkeypatch):
    # What a cut leaves as it is: the precision of each weight, and the mean of each shard.
    rows, labels = wide(100, 40)
    shards = [
        WideVVMClassifier(rank=3, scale=False, mix=False).partial_fit(
            sparse.csr_array(rows[part]), labels[part], [0, 1]
        )
        for part in (slice(0, 40), slice(40, 100))
    ]
    states = [shard._posterior.states[0] for shard in shards]
    expected = sum(np.diagonal(precision_of(state)) for state in states) - 1.0
    for most in (0, 2**24):
        monkeypatch.setattr(pooling, "_MOST_ENTRIES", most)
        both = pool(shards)._posterior.states[0]
        np.testing.assert_allclose(np.diagonal(precision_of(both)), expected, rtol=1e-9)


def test_rates_of_shards_add_up_and_what_all_have_counted_counts_once():
    table, labels = notes(240)
    labels = np.where(np.arange(240) > 200, "neither", labels)  # which only one shard has seen
    make = {"text_features": ["note"], "n_hashed": SMALL, "rank": 0}
    one, start = (
        WideVVMClassifier(**make).partial_fit(table[:stop], labels[:stop]) for stop in (240, 50)
    )
    parts = [slice(50, 120), slice(120, 240)]
    both = pool([copy(start).partial_fit(table[p], labels[p]) for p in parts], common=start)
    found, expected = both._posterior.rates, one._posterior.rates
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_array_equal(found.rows, expected.rows)


def test_what_a_wide_model_has_less_of_than_the_common_one_is_named():
    table, _ = notes(60)
    common = WideVVMClassifier(text_features=["note"], n_hashed=SMALL)
    common.partial_fit(table, ["bad", "good", *["bad"] * 58])
    with pytest.raises(ValueError, match=r"model 0 has \d+ rows of the class 'bad' and common 5"):
        pool([of_notes(0, 70)], common)
    gaps = WideVVMClassifier(text_features=["note"], n_hashed=SMALL)
    gaps.partial_fit(table[:5].assign(price=np.nan), ["bad"] * 5)
    with pytest.raises(ValueError, match="model 0 has 0 missing values of 'price' and common 5,"):
        pool([of_notes(0, 70)], gaps)
