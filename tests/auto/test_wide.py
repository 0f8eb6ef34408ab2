"""Very wide rows: the budget bounds time and memory, and what that costs is said."""

import numpy as np
import pandas as pd
import pytest

import virtualvector
from virtualvector import AutoVVMClassifier, Expert
from virtualvector.auto.experts import DEFAULT, operations, usual_budget
from virtualvector.auto.plan import EXCESS, plan
from virtualvector.auto.sketch import sketch_of
from virtualvector.features.encoder import Encoder
from virtualvector.posterior.low_rank_state import low_rank_shapes


def wide(n_rows, n_columns, seed=0):
    """Rows that follow a few factors, one of which is the class."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, 10))
    X = factors @ rng.normal(size=(10, n_columns)) / 3 + rng.normal(size=(n_rows, n_columns))
    return X, (factors[:, 0] > 0).astype(int)


def planned(n_columns, budget=None, n_classes=2, experts=DEFAULT, categorical=False):
    budget = usual_budget(n_columns, n_classes) if budget is None else budget
    return plan(experts, Encoder([categorical] * n_columns), n_classes, budget, None, 0), budget


def n_numbers(expert, n_weights):
    """How many numbers a posterior has, once rows without zeros have come."""
    if expert.rank is None:
        return int(n_weights) ** 2
    shapes = low_rank_shapes(int(n_weights), expert.settings(), int(n_weights))
    return sum(int(np.prod(shape, dtype=object)) for shape in shapes.values())


@pytest.mark.parametrize("n_columns", [10, 100, 300, 700, 1000, 1500, 2000, 5000, 20_000, 200_000])
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("budget", [None, 1e5, 3e6])
def test_no_width_takes_more_than_the_budget_allows(n_columns, n_classes, budget):
    (experts, space), budget = planned(n_columns, budget, n_classes)
    n_posteriors = 1 if n_classes == 2 else n_classes
    n_weights = np.array([space.n_weights(expert) for expert in experts])
    cost = n_posteriors * sum(map(operations, experts, n_weights))
    fixed = n_posteriors * sum(operations(expert, 9) for expert in experts)  # the narrowest
    # Fourier features may be more than the fewest, but not beyond the budget.
    assert cost <= max(EXCESS * budget, fixed)
    n_bytes = 8.0 * n_posteriors * sum(map(n_numbers, experts, n_weights))
    assert n_bytes <= max(4.0 * EXCESS * budget, 4.0 * fixed)


@pytest.mark.parametrize("n_columns", [1, 57, 100, 300, 500])
def test_of_usual_widths_nothing_is_given_up(n_columns):
    (experts, space), _ = planned(n_columns)
    assert experts == DEFAULT
    assert space.n_inputs == space.most_inputs == n_columns


def test_wide_rows_are_learned_well_within_a_small_budget():
    X, y = wide(600, 3000)
    model = AutoVVMClassifier(budget=300_000)
    predicted = model.predict_then_learn(X, y, classes=[0, 1])
    assert (predicted.labels != y)[300:].mean() < 0.15  # half of them by guessing
    assert model.n_bytes_ < 12 * 300_000 + 100 * 3000
    assert len(model.experts_) == 3
    assert "8 of 11 experts" in model.given_up_[0]
    assert "precisions of rank 0 are in their place" in model.given_up_[1]
    assert "3,000 inputs are added up in" in model.given_up_[2]
    predictions = predicted.probabilities[np.arange(600), y]
    assert -np.log(predictions).mean() < 0.6  # never too bold


def test_twenty_thousand_columns_fit_into_memory():
    X, y = wide(60, 20_000)
    model = AutoVVMClassifier(budget=100_000).partial_fit(X, y)
    assert model.n_bytes_ < 5e6
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_larger_budget_gives_up_less():
    X, y = wide(30, 400)
    small, large = (AutoVVMClassifier(budget=b).partial_fit(X, y) for b in (1e5, 3e7))
    assert small.given_up_
    assert large.given_up_ == []
    assert small.n_bytes_ < large.n_bytes_ / 4


def test_rows_in_pieces_are_the_same_to_the_last_bit(monkeypatch):
    X, y = wide(300, 500)
    options = {"budget": 1e5}
    whole = AutoVVMClassifier(**options)
    at_once = whole.predict_then_learn(X, y, classes=[]).probabilities
    pieces = AutoVVMClassifier(**options)
    monkeypatch.setattr("virtualvector.auto.attributes.CELLS_AT_ONCE", 500 * 7)
    in_pieces = pieces.predict_then_learn(X, y, classes=[]).probabilities
    np.testing.assert_array_equal(at_once, in_pieces)
    np.testing.assert_array_equal(whole.predict_proba(X), pieces.predict_proba(X))


def test_a_sketched_model_is_kept_in_a_file(tmp_path):
    X, y = wide(200, 500)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(500)])
    model = AutoVVMClassifier(budget=1e5).partial_fit(table[:150], y[:150])
    model.save(tmp_path / "wide.vvm")
    again = virtualvector.load(tmp_path / "wide.vvm")
    assert again.given_up_ == model.given_up_ != []
    for one in (model, again):
        one.partial_fit(table[150:], y[150:])
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_weights_are_still_those_of_columns():
    X, y = wide(400, 300)
    experts = [Expert(None, 1.0)]
    model = AutoVVMClassifier(budget=5e3, experts=experts, scale=False).partial_fit(X, y)
    assert model.given_up_
    (posterior,) = model._committee.posteriors
    (mean,) = posterior.means
    means = np.array([line["mean"] for line in model.weight_table_])
    margins = model._route.narrowed(X) @ mean[:-1]
    np.testing.assert_allclose(X @ means, margins, rtol=1e-9, atol=1e-9)
    assert len(model.weight_table_) == 300


def test_categories_take_places_as_they_come():
    # 150 columns of truth values could have 1,200 inputs, and have 300.
    rng = np.random.default_rng(0)
    flags = rng.random((300, 150)) < 0.5
    labels = flags[:, :3].sum(axis=1) > 1
    table = pd.DataFrame(flags.astype(str), columns=[f"f{k}" for k in range(150)])
    model = AutoVVMClassifier(budget=1e5).partial_fit(table, labels)
    assert model._sketch is not None
    places = model._sketch.places[:300]
    assert len(set(places)) == min(300, model._sketch.n_places)


def test_a_sketch_keeps_lengths_on_average_and_fills_places_evenly():
    x = np.random.default_rng(0).normal(size=(1, 500))
    squares = [np.square(sketch_of(500, 60, seed).narrowed(x)).sum() for seed in range(300)]
    assert np.mean(squares) == pytest.approx(np.square(x).sum(), rel=0.03)
    counts = np.bincount(sketch_of(500, 60, 0).places)
    assert set(counts.tolist()) == {8, 9}


def test_experts_that_were_asked_for_are_given_up_from_the_end():
    experts = [Expert(None, 1.0), Expert(0.5, 0.1), Expert(None, 3.0), Expert(1.0, 0.1)]
    (kept, _), _ = planned(400, 400_000.0, experts=experts)
    assert 0 < len(kept) < 4
    assert [experts.index(expert) for expert in kept] == sorted(map(experts.index, kept))
