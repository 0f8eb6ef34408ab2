"""What experts may assume."""

import re

import numpy as np
import pytest

from virtualvector import AutoVVMClassifier, Expert
from virtualvector.auto.experts import usual_budget
from virtualvector.datasets import load_thyroid


@pytest.mark.parametrize("smallest", [5e-324, 1e-310, 1e-200])
def test_the_smallest_numbers_are_parameters_like_others(smallest):
    X, y = load_thyroid(return_X_y=True, random_state=0)
    label_noise = max(smallest, 1e-300)
    experts = [
        Expert(smallest, 0.1, buffer_size=3),
        Expert(None, smallest, buffer_size=3),
        Expert(None, 0.0, label_noise=label_noise, buffer_size=3),
        Expert(1.0, 0.1, label_noise=label_noise),
    ]
    model = AutoVVMClassifier(experts=experts, n_frequencies=3)
    predicted = model.predict_then_learn(X, y).probabilities
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("expert", "told"),
    [
        (Expert(None, -1.0), "margin_noise = -1.0; expected 0 or more"),
        (Expert(None, float("nan")), "margin_noise = nan; expected 0 or more"),
        (Expert(None, 1.0, label_noise=0.7), "label_noise = 0.7; expected 0, or 1e-300 to less"),
        (Expert(None, 1.0, label_noise=5e-324), "label_noise = 5e-324; expected 0, or 1e-300"),
        (Expert(-2.0, 1.0), "bandwidth = -2.0; expected more than 0"),
        (Expert(None, 1.0, buffer_size=-3), "buffer_size = -3; expected 0 or more"),  # it crashed
        (Expert(None, 1.0, buffer_size=2.5), "buffer_size = 2.5; expected a whole number"),
        (Expert(None, 1.0, half_life=0.0), "half_life = 0.0; expected more than 0"),
        (Expert(None, 1.0, merge_pairs=-1), "merge_pairs = -1; expected 0 to"),
        (Expert(None, 1.0, detail=0), "detail = 0; expected 1 or more"),
        (Expert(None, "much"), "could not convert string to float"),
        (Expert(None, 1.0, eviction="youngest"), "eviction = 'youngest'; expected one of"),
        ("adf", "expected an Expert"),
    ],
)
def test_an_expert_that_cannot_be_is_named(expert, told):
    model = AutoVVMClassifier(experts=[Expert(None, 1.0), expert])
    with pytest.raises(ValueError, match=rf"experts\[1\]: .*{re.escape(told)}"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_a_committee_has_experts():
    with pytest.raises(ValueError, match="experts: found none"):
        AutoVVMClassifier(experts=[]).fit([[0.0], [1.0]], [0, 1])


def test_more_budget_is_for_those_who_grow_and_not_for_a_wider_start():
    rows, labels = np.random.default_rng(0).normal(size=(4, 5)), [0, 1, 0, 1]
    usual, tenfold, tenth = (
        AutoVVMClassifier(budget=share * usual_budget(5, 2)).partial_fit(rows, labels, [0, 1])
        for share in (1.0, 10.0, 0.1)
    )
    spaces = [model._committee.feature_space for model in (usual, tenfold, tenth)]
    assert usual._committee.at_start == tenfold._committee.at_start
    assert spaces[0].n_frequencies == spaces[1].n_frequencies > spaces[2].n_frequencies
    assert spaces[1].budget == 10 * spaces[0].budget
