from time import process_time
from typing import ClassVar

import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB

from virtualvector import VVMClassifier
from virtualvector.evaluation import draw, error, one_by_one, predict_then_learn, side_by_side


def stream():
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 3))
    return rows, (rows[:, 0] + 0.3 * random.normal(size=120) > 0).astype(int), np.array([0, 1])


class Upset(BernoulliNB):
    def partial_fit(self, X, y, classes=None):
        raise ValueError("too hard\nat line 3")


def test_outcomes_are_those_of_each_learner_alone_and_the_lowest_error_comes_first():
    rows, labels, classes = stream()
    learners = {"svm": SGDClassifier(random_state=0), "bayes": BernoulliNB()}
    result = side_by_side(learners, rows, labels, classes)
    alone = {
        name: error(labels, predict_then_learn(model, rows, labels, classes).labels)
        for name, model in learners.items()
    }
    assert {o.learner: o.measures.error for o in result.outcomes} == alone
    assert [o.learner for o in result.outcomes] == sorted(alone, key=alone.__getitem__)
    assert all(o.error_so_far[-1] == o.measures.error for o in result.outcomes)
    assert all(o.seconds > 0 and o.n_bytes > 100 for o in result.outcomes)


def test_the_learners_given_stay_as_they_are():
    model = BernoulliNB()
    side_by_side({"bayes": model}, *stream())
    assert not hasattr(model, "classes_")


def test_a_learner_that_fails_is_left_out_with_its_reason():
    result = side_by_side({"upset": Upset(), "bayes": BernoulliNB()}, *stream())
    assert [o.learner for o in result.outcomes] == ["bayes"]
    assert result.left_out == {"upset": "too hard"}


def test_progress_names_the_learner_and_counts_its_rows():
    steps = []
    side_by_side({"bayes": BernoulliNB()}, *stream(), lambda name, n: steps.append((name, n)))
    assert {name for name, _ in steps} == {"bayes"}
    assert sum(n for _, n in steps) == 120


def test_the_picture_has_a_curve_for_each_that_ends_at_its_error():
    result = side_by_side({"VVM": BernoulliNB(), "other": SGDClassifier(random_state=0)}, *stream())
    figure = draw(result.outcomes, "A title")
    (axes,) = figure.axes
    assert (axes.get_title(), axes.get_xlabel()) == ("A title", "rows seen (logarithmic)")
    for outcome, line in zip(result.outcomes, axes.lines, strict=True):
        assert line.get_xdata()[-1] == 120
        assert line.get_ydata()[-1] == 100.0 * outcome.measures.error
        assert line.get_label() == f"{100 * outcome.measures.error:.2f} %".rjust(7, "\u2007") + (
            f"  {outcome.learner}"
        )


def test_no_two_curves_look_alike_in_grey():
    outcome = side_by_side({"bayes": BernoulliNB()}, *stream()).outcomes[0]
    names = ["VVM", "ADF", "window-EP", "SOGP", "PA", "NG", *"abcdefg"]
    figure = draw([outcome._replace(learner=name) for name in names], "")
    looks = [
        (line.get_marker(), line.get_linestyle(), line.get_markerfacecolor() == "white")
        for line in figure.axes[0].lines
    ]
    assert len(set(looks)) == len(names)


def test_rows_too_large_for_a_learner_are_no_warning():
    rows = np.array([[1e300], [-1e300], [5.0], [1e308]] * 3)
    labels = np.array([0, 1] * 6)
    learners = {"svm": SGDClassifier(random_state=0), "VVM": VVMClassifier()}
    result = side_by_side(learners, rows, labels, np.array([0, 1]))
    assert "VVM" in {o.learner for o in result.outcomes}


class Compiling(Perceptron):
    """Takes long once, at the 40th row that one instance learns: as a kernel that is compiled."""

    compiled: ClassVar[bool] = False
    n_learned = 0

    def partial_fit(self, X, y, classes=None):
        self.n_learned += 1
        if self.n_learned == 40 and not Compiling.compiled:
            Compiling.compiled = True
            end = process_time() + 0.5
            while process_time() < end:
                pass
        return super().partial_fit(X, y, classes)


def test_what_is_compiled_at_first_use_is_not_in_the_seconds():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.where(rows[:, 0] > 0, "a", "b")
    (outcome,) = side_by_side({"slow": Compiling()}, rows, labels, np.unique(labels)).outcomes
    assert Compiling.compiled
    assert outcome.seconds < 0.4


def test_learners_that_have_finished_are_there_before_the_next_one_begins():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    labels = np.where(rows[:, 0] > 0, "a", "b")
    results = one_by_one({"one": Perceptron(), "two": None}, rows, labels, np.unique(labels))
    assert next(results).learner == "one"
