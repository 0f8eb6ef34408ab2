"""Committees that were learned apart, as one."""

import numpy as np
import pytest
from sklearn.base import clone

import virtualvector
from virtualvector import ADFClassifier, AutoVVMClassifier, Expert, VVMClassifier, pool
from virtualvector.datasets import load_spambase
from virtualvector.posterior.state import ROWS

FEW = [Expert(None, 1.0), Expert(None, 1.0, label_noise=0.02, buffer_size=3), Expert(0.5, 0.1)]


def table(seed, n, n_classes=2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    scores = rows[:, :n_classes] + 0.5 * rng.normal(size=(n, n_classes))
    return rows, np.array(["a", "b", "c"])[np.argmax(scores, axis=1)]


def learned(seed, n=300, n_classes=2, classes=None, **parameters):
    parameters = {"experts": FEW, "n_frequencies": 10} | parameters
    return AutoVVMClassifier(**parameters).partial_fit(*table(seed, n, n_classes), classes)


def saved(model, path):
    model.save(path)
    return path.read_bytes()


def test_one_committee_is_given_back(tmp_path):
    model = learned(0)
    assert saved(pool([model]), tmp_path / "one") == saved(model, tmp_path / "other")


@pytest.mark.filterwarnings("ignore:model . has 'x")
def test_the_order_of_committees_does_not_change_the_file(tmp_path):
    models = [learned(seed, 900, 3) for seed in range(3)]
    one, other = (pool([models[k] for k in order]) for order in ([0, 1, 2], [2, 0, 1]))
    assert saved(one, tmp_path / "one") == saved(other, tmp_path / "other")
    again = virtualvector.load(tmp_path / "one")
    assert again.n_seen_ == 2700
    rows, labels = table(9, 400, 3)
    assert again.partial_fit(rows, labels).score(rows, labels) > 0.7


def test_an_expert_alone_is_pooled_as_the_learner_that_it_is():
    tables = [table(seed, 80) for seed in range(3)]
    alone = {"experts": [Expert(None, 0.5)], "scale": False}
    committees = [AutoVVMClassifier(**alone).partial_fit(*each) for each in tables]
    learners = [ADFClassifier(margin_noise=0.5).partial_fit(*each) for each in tables]
    rows, _ = table(9, 50)
    expected = pool(learners).predict_proba(rows)
    assert np.array_equal(pool(committees).predict_proba(rows), expected)


@pytest.mark.parametrize("points", [0, 3])
def test_an_expert_of_low_rank_alone_is_pooled_as_the_learner_that_it_is(points):
    tables = [table(seed, 80) for seed in range(3)]
    alone = {"experts": [Expert(None, 0.5, buffer_size=points, rank=2)], "scale": False}
    committees = [AutoVVMClassifier(**alone).partial_fit(*each) for each in tables]
    how = {"margin_noise": 0.5, "covariance": "low-rank", "rank": 2}
    same = VVMClassifier(points, merge_pairs=0, **how) if points else ADFClassifier(**how)
    learners = [clone(same).partial_fit(*each) for each in tables]
    rows, _ = table(9, 50)
    expected = pool(learners).predict_proba(rows)
    assert np.array_equal(pool(committees).predict_proba(rows), expected)


def precision_of(model, e):
    state = model._committee.posteriors[e].states[0]
    return np.linalg.inv(state.factor.T @ state.factor), state.mean


def test_gaussians_of_experts_are_multiplied_and_the_common_one_counts_once():
    common = learned(0, 600, classes=["a", "b"])
    models = [learned(0, 600, classes=["a", "b"]).partial_fit(*table(seed, 300)) for seed in (1, 2)]
    found = pool(models, common)
    assert found.n_seen_ == 1200
    for e, expert in enumerate(FEW):
        if expert.buffer_size:
            continue
        (before, m0), *after = (precision_of(each, e) for each in (common, *models))
        precision = before + sum(own - before for own, _ in after)
        linear = before @ m0 + sum(own @ mean - before @ m0 for own, mean in after)
        np.testing.assert_allclose(precision_of(found, e)[0], precision, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            precision_of(found, e)[1], np.linalg.solve(precision, linear), rtol=1e-6, atol=1e-8
        )
        evidence = [each.experts_[e]["evidence"] for each in (found, common, *models)]
        assert evidence[0] == pytest.approx(evidence[2] + evidence[3] - evidence[1])


@pytest.mark.filterwarnings("ignore:model . has 'x")
def test_experts_that_grew_or_slept_in_some_models_are_there_and_do_better_together():
    X, y = load_spambase(return_X_y=True, random_state=0)
    models = [AutoVVMClassifier().partial_fit(X[a:b], y[a:b]) for a, b in ((0, 900), (900, 2400))]
    grown = [{e["detail"] for e in model.experts_} for model in models]
    asleep = [sum(not e["awake"] for e in model.experts_) for model in models]
    assert max(grown[1]) > max(grown[0])
    assert asleep[1] > asleep[0] > 0
    both = pool(models)
    assert not any(e["half_life"] for e in both.experts_)
    assert max(e["detail"] for e in both.experts_) == max(grown[1])

    def loss(model):
        probabilities = model.predict_proba(X[2400:])
        return -np.log(probabilities[np.arange(len(X) - 2400), y[2400:].astype(int)]).mean()

    assert loss(both) < min(map(loss, models))
    assert both.partial_fit(X[2400:2700], y[2400:2700]).n_awake_ <= 8


def test_classes_that_only_some_have_seen_are_known_to_all():
    some, all_ = learned(0, 200, 2), learned(1, 200, 3)
    both = pool([some, all_])
    assert both.classes_.tolist() == ["a", "b", "c"]
    assert both.takes_new_classes_
    rows, labels = table(2, 500, 3)
    assert both.score(rows, labels) > 0.7


@pytest.mark.filterwarnings("ignore:model . has 'x")
@pytest.mark.parametrize("order", [1, -1])
def test_a_committee_that_was_told_all_classes_is_pooled_with_one_that_has_seen_some(order):
    told = {"experts": FEW, "n_frequencies": 10, "n_classes": 3}
    some = AutoVVMClassifier(**told).partial_fit(*table(0, 200))
    declared = AutoVVMClassifier(**told).partial_fit(*table(1, 200, 3), ["a", "b", "c"])
    both = pool([some, declared][::order])
    assert both.classes_.tolist() == ["a", "b", "c"]
    assert not both.takes_new_classes_


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: learned(1, budget=1e6), "model 0 and model 1 differ in budget: None and 10000"),
        (lambda: learned(1, random_state=3), "differ in random_state: 0 and 3"),
        (lambda: learned(1, experts=FEW[:2]), "differ in number of experts: 3 and 2"),
        (
            lambda: learned(1, experts=[*FEW[:2], FEW[2]._replace(margin_noise=0.7)]),
            r"differ in margin_noise of experts\[2\]: 0.1 and 0.7",
        ),
        (lambda: learned(1, scale=False), "differ in scale: True and False"),
        (lambda: ADFClassifier().partial_fit(*table(1, 50)), "model 1 is of type ADFClassifier"),
        (lambda: learned(0), "model 0 and model 1 have learned the same rows"),
        (
            lambda: learned(1, experts=[Expert(None, 1.0, half_life=50.0)]),
            "model 1: found experts with a half-life; expected none",
        ),
    ],
)
def test_committees_that_do_not_fit_are_refused_by_what_differs(other, words):
    with pytest.raises(ValueError, match=words):
        pool([learned(0), other()])


def test_long_lists_of_columns_are_told_apart_by_the_first_that_differs():
    rows, labels = table(0, 60)
    names = [f"a column with quite a long name, number {k}" for k in range(4)]
    models = [
        AutoVVMClassifier(experts=FEW).partial_fit(dict(zip(each, rows.T, strict=True)), labels)
        for each in (names, [*names[:3], "other"])
    ]
    with pytest.raises(ValueError, match=r"differ in names of columns\[3\]: 'a .* 3' and 'other'"):
        pool(models)


def test_a_committee_that_has_not_gone_on_from_the_common_one_is_refused():
    with pytest.raises(ValueError, match="model 0 has learned 100 rows and common 300, which"):
        pool([learned(0, 100), learned(1)], common=learned(2))


def test_a_committee_that_began_anew_is_refused():
    rows, labels = table(0, 1500)
    turned = np.where(labels == "a", "b", "a")
    changed = learned(1, 1500, classes=["a", "b"]).partial_fit(rows, turned)
    assert changed._committee.calm_since > 1500
    with pytest.raises(ValueError, match=r"model 1 has begun anew at row 1,\d\d\d, because"):
        pool([learned(0, classes=["a", "b"]), changed])


def of_colours(colours, seed=0, experts=FEW, model=None):
    rng = np.random.default_rng(seed)
    rows = {"x": rng.normal(size=len(colours)), "colour": colours}
    labels = np.where(rng.random(len(colours)) < [0.3 + 0.1 * len(c) for c in colours], "a", "b")
    model = AutoVVMClassifier(experts=experts, n_frequencies=10) if model is None else model
    return model.partial_fit(rows, labels, ["a", "b"] if model._route is None else None)


def test_densities_over_the_same_categories_are_multiplied_in_whatever_order_these_came(tmp_path):
    linear = [Expert(None, 0.5), Expert(None, 1.0, squares=True)]
    here = of_colours(["red", "blue"] * 20, experts=linear)
    there = of_colours(["green", "blue", "red", "blue"] * 12, 1, linear)
    both = pool([here, there])
    names = ["colour = green", "colour = blue", "colour = red"]  # of who has learned more
    assert both._labels(both._encoder)[1:] == names
    for e, first in enumerate([1, 2]):  # weights of numbers, and of squares, come first
        n = len(precision_of(both, e)[1])
        precision, linear_term = np.eye(n), np.zeros(n)
        for model in (here, there):
            own, mean = precision_of(model, e)
            labels = model._labels(model._encoder)[1:]
            places = [*range(first), *(first + names.index(label) for label in labels), n - 1]
            kept = [*range(first + len(labels)), len(mean) - 1]  # others have their prior
            wide, long = np.eye(n), np.zeros(n)
            wide[np.ix_(places, places)], long[places] = own[np.ix_(kept, kept)], mean[kept]
            precision += wide - np.eye(n)
            linear_term += wide @ long
        found, mean = precision_of(both, e)
        np.testing.assert_allclose(found, precision, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mean, np.linalg.solve(precision, linear_term), atol=1e-9)
    assert saved(both, tmp_path / "one") == saved(pool([there, here]), tmp_path / "other")
    assert virtualvector.load(tmp_path / "one").n_seen_ == 88  # which passes all checks


def test_experts_that_see_categories_by_frequencies_are_those_of_who_has_learned_most(tmp_path):
    experts = [Expert(None, 1.0), Expert(0.5, 0.1), Expert(0.5, 0.1, columns=1)]
    here = of_colours(["red", "blue"] * 20, 0, experts)
    there = of_colours(["blue", "red"] * 30, 1, experts)
    with pytest.warns(UserWarning, match="model 0 in another .* than to model 1: what 1 of its 3"):
        both = pool([here, there])
    posteriors = both._committee.posteriors
    assert [each.states[0].counts[ROWS] for each in posteriors] == [100, 60, 100]
    kept, own = posteriors[1].states[0], there._committee.posteriors[1].states[0]
    np.testing.assert_array_equal(kept.mean, own.mean)
    both.save(tmp_path / "model.vvm")
    both = virtualvector.load(tmp_path / "model.vvm")  # which passes all checks
    both.partial_fit({"x": [0.0], "colour": ["green"]}, ["a"])
    assert both.n_seen_ == 101


def test_a_common_start_that_knows_the_categories_lets_all_experts_be_pooled():
    starts = [of_colours(["red", "blue"] * 20) for _ in range(3)]
    here = of_colours(["red", "blue"] * 20, 1, model=starts[0])
    there = of_colours(["blue", "red"] * 21, 2, model=starts[1])
    together = pool([here, there], common=starts[2])
    assert together.n_seen_ == 122
    assert together.is_categorical_.tolist() == [False, True]


def test_more_categories_than_there_is_room_for_are_refused_by_name():
    here, there = (of_colours([f"{who}{k}" for k in range(6)] * 8) for who in ("here", "there"))
    with pytest.raises(ValueError, match=r"has an input for 'colour = \w+', and there is no room"):
        pool([here, there])


def test_a_category_that_came_to_one_model_only_did_not_come_to_the_other():
    def of(colours, model=None):
        rows = {"colour": colours, "shape": ["round"] * len(colours)}
        labels = np.where(np.arange(len(colours)) % 3 > 0, "a", "b")
        model = AutoVVMClassifier(experts=[Expert(None, 0.5)]) if model is None else model
        return model.partial_fit(rows, labels)

    known, more = ["red", "blue"] * 6, ["red", "green", "blue", "green", "red"] * 4
    common, here, there = (of(known) for _ in range(3))
    of(more, here)
    of(known[:9], there)
    both = pool([there, here], common)
    assert both.n_seen_ == 12 + 20 + 9
    assert both._encoder.categories == here._encoder.categories
    # Weights: red, round, blue, then green, and the bias behind all inputs that there is room for.
    places = [*both._encoder.categories[0].values(), *both._encoder.categories[1].values()]
    assert sorted(places) == [0, 1, 2, 3]
    n = len(precision_of(both, 0)[1])

    def padded(model):
        precision, mean = precision_of(model, 0)
        own = [*range(len(mean) - 1), n - 1]
        wide, long = np.eye(n), np.zeros(n)
        wide[np.ix_(own, own)], long[own] = precision, mean
        return wide, wide @ long

    (before, linear_before), *after = (padded(each) for each in (common, here, there))
    precision = before + sum(own - before for own, _ in after)
    linear = linear_before + sum(own - linear_before for _, own in after)
    found, mean = precision_of(both, 0)
    np.testing.assert_allclose(found, precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mean, np.linalg.solve(precision, linear), rtol=1e-9, atol=1e-9)


def test_what_was_observed_with_rare_categories_adds_up_if_only_some_models_have_them():
    def of(values, model=None):
        labels = ["a" if k % 3 else "b" for k in range(len(values))]
        rows = {"x": np.arange(len(values)) % 5, "city": [f"c{k}" for k in values]}
        model = AutoVVMClassifier(experts=FEW, n_frequencies=10) if model is None else model
        return model.partial_fit(rows, labels)

    few, many = [*range(6)] * 6, [*range(14)] * 6
    common, here, there = (of(few) for _ in range(3))
    of(many, here)  # of whose cities six have no input of their own
    of(few[:20], there)
    both = pool([here, there], common)
    counts = both._encoder.statistics.counts[1].sum(axis=0)
    rare = np.array(many) >= 8
    of_b = np.array([k % 3 == 0 for k in range(len(many))])
    first_of_all = both._encoder.statistics.classes.tolist()[0]
    assert counts[0] == rare.sum() == 36
    assert counts[1] == (rare & (of_b if first_of_all == "a" else ~of_b)).sum()
    totals = both._encoder.statistics.totals
    assert totals[0] == 36 + 84 + 20
    assert both._encoder.labels(["x", "city"]) == here._encoder.labels(["x", "city"])
    again = both.partial_fit({"x": [1.0], "city": ["c13"]}, ["a"])
    assert again.n_seen_ == 141


def test_columns_on_other_scales_are_told():
    (rows, labels), shift = table(1, 300), np.array([0.0, 0.0, 9.0, 0.0])
    far = AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(rows + shift, labels)
    with pytest.warns(UserWarning, match=r"model 0 has 'x2' at .* and all together at 4\.\d+ ±"):
        pool([learned(0), far])


def test_columns_that_came_later_are_refused():
    """Each shard may have its own, at other inputs."""
    rows, labels = table(0, 60)
    models = [AutoVVMClassifier(experts=FEW[:2], new_columns="add") for _ in range(2)]
    for t, row in enumerate(rows.tolist()):
        names = "abcd" if t >= 40 else "a"
        models[t % 2].learn_one(dict(zip(names, row, strict=False)), labels[t])
    with pytest.raises(ValueError, match=r"model 0: found 3 columns that came later"):
        pool(models)
