"""Threads may share a learner: no row is lost, and what is seen of it fits together."""

import copy
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from tests.learners.learner_examples import LEARNERS, every_learner, problem
from virtualvector import AutoVVMClassifier, NaturalGradientClassifier, SOGPClassifier, load
from virtualvector.features import RandomFourierFeatures, RunningStandardScaler
from virtualvector.persistence.mixin import contents_of

SECONDS = 60  # after which something hangs
ROW, OTHER = np.array([0.5, -1.0, 0.25, 2.0]), np.array([-0.5, 0.3, 1.0, 1.0])


def in_threads(*works):
    """Do all of it at the same time."""
    together = threading.Barrier(len(works))

    def begin(work):
        together.wait(SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [each.result(SECONDS) for each in [pool.submit(begin, work) for work in works]]


@contextmanager
def beside(work):
    """Let a thread do something once after the other, until the block ends."""
    over = threading.Event()

    def again_and_again():
        while not over.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(again_and_again)
        try:
            yield
        finally:
            over.set()
        done.result(SECONDS)


def started(learner, **options):
    """A learner that knows two classes and two rows."""
    return learner(**options).partial_fit(np.array([ROW, OTHER]), [0, 1], classes=[0, 1])


@every_learner
def test_no_row_is_lost_when_threads_learn_tables_and_single_rows(learner):
    """All rows are the same, so that their order makes no difference."""
    table, labels = np.tile(ROW, (10, 1)), [0] * 10
    model = started(learner, margin_noise=0.5)
    ways = [
        lambda: model.partial_fit(table, labels),
        lambda: model.predict_then_learn(table, labels),
        lambda: [model.learn_one(ROW, 0) for _ in range(10)],
        lambda: [model.partial_fit(table[:1], labels[:1]) for _ in range(10)],
    ]
    in_threads(*(lambda way=way: [way() for _ in range(12)] for way in ways * 2))
    whole = started(learner, margin_noise=0.5).partial_fit(np.tile(ROW, (960, 1)), [0] * 960)
    assert model.n_seen_ == 962
    assert contents_of(model) == contents_of(whole)


@pytest.mark.parametrize(
    "learner",
    [
        partial(AutoVVMClassifier, budget=3e4),
        NaturalGradientClassifier,
        SOGPClassifier,
    ],
)
def test_no_row_is_lost_by_other_learners(learner):
    rows, labels = np.tile(ROW, (10, 1)), [0] * 10
    model = started(learner)
    in_threads(*[lambda: [model.partial_fit(rows, labels) for _ in range(6)]] * 4)
    whole = started(learner).partial_fit(np.tile(ROW, (240, 1)), [0] * 240)
    if isinstance(model, AutoVVMClassifier):
        assert model.n_seen_ == 242
    rows = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_array_equal(model.predict_proba(rows), whole.predict_proba(rows))


def test_no_row_is_lost_by_who_scales_them():
    rows = np.array([[1.0], [3.0]] * 20)
    scaler = RunningStandardScaler()
    in_threads(
        *[lambda: [scaler.partial_fit(rows) for _ in range(20)]] * 3,
        lambda: [scaler.learn_then_transform(rows) for _ in range(20)],
    )
    assert scaler.n_seen_ == 3200
    np.testing.assert_allclose([scaler.mean_[0], scaler.scale_[0]], [2.0, 1.0])


COPIES = {
    "copy": lambda model, folder: copy.copy(model),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "file": lambda model, folder: (model.save(folder / "model.vvm"), load(folder / "model.vvm"))[1],
}


@every_learner
@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_copy_is_as_the_learner_was_after_some_row(learner, duplicate, n_classes, tmp_path):
    X, y = problem(rows=100, n_classes=n_classes)
    model = learner(margin_noise=0.5).partial_fit(X[:5], y[:5], classes=range(n_classes))
    copies = []
    with beside(lambda: copies.append(duplicate(model, tmp_path))):
        for t in range(5, 100):
            model.learn_one(X[t], y[t])
    assert copies
    copies = copies[:: len(copies) // 25 + 1]  # which were made all along the stream
    whole = learner(margin_noise=0.5).partial_fit(X[:5], y[:5], classes=range(n_classes))
    after = {5: contents_of(whole)}
    for t in range(5, 100):
        whole.learn_one(X[t], y[t])
        if t == 99 or any(each.n_seen_ == t + 1 for each in copies):
            after[t + 1] = contents_of(whole)
    for each in copies:
        assert contents_of(each) == after[each.n_seen_]
    assert contents_of(model) == after[100]  # nothing was lost
    assert contents_of(copies[-1].learn_one(ROW, 0)) != after[copies[-1].n_seen_ - 1]
    assert contents_of(model) == after[100]


def test_a_clone_of_a_learner_at_work_has_its_parameters():
    model = started(LEARNERS["vvm"], margin_noise=0.5)
    with beside(lambda: clone(model).fit([ROW, OTHER], [0, 1])):
        for _ in range(100):
            model.learn_one(ROW, 0)
    assert model.n_seen_ == 102


@pytest.mark.parametrize("learner", [*LEARNERS.values(), partial(AutoVVMClassifier, budget=3e4)])
def test_who_reads_sees_one_learner_while_others_fit_another(learner):
    """Of two columns and two classes, or of five and four: never of something in between."""
    narrow, wide = (
        problem(rows=30, columns=2),
        problem(rows=30, columns=5, n_classes=4, seed=1),
    )
    model = learner().fit(*narrow)
    expected = {}
    for X, y in (narrow, wide):
        one = learner().fit(X, y)
        expected[X.shape[1]] = one.predict_proba(X), one.predict(X)

    def fit():
        model.fit(*narrow)
        model.fit(*wide)

    found = 0
    with beside(fit):
        while found < 40:
            for X, _ in (narrow, wide):
                for k, read in enumerate((model.predict_proba, model.predict)):
                    try:
                        predictions = read(X)
                    except ValueError as error:
                        if "features" not in str(error):
                            raise
                    else:
                        np.testing.assert_array_equal(predictions, expected[X.shape[1]][k])
                        found += 1
            if hasattr(model, "coef_"):
                assert model.coef_.shape in ((1, 2), (4, 5))


def test_parameters_are_not_lost_while_a_table_is_learned():
    X, y = problem(rows=200)
    model = started(LEARNERS["vvm"], margin_noise=0.5)
    with beside(lambda: model.partial_fit(X, y)):
        for k in range(1, 100):
            assert model.set_params(prior_variance=float(k)).prior_variance == k
    assert model.prior_variance == 99.0


def test_features_are_drawn_once():
    features = RandomFourierFeatures(20, bandwidth=1.0)  # without a seed
    X = np.array([ROW, OTHER])
    found = in_threads(*[lambda: features.partial_fit(X).transform(X)] * 8)
    assert len({each.tobytes() for each in found}) == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.learn_one(ROW, 0),
        lambda model: model.predict_proba_one(ROW),
        lambda model: model.predict_proba([ROW, OTHER]),
        copy.copy,
    ],
    ids=["learn", "predict one", "predict several", "copy"],
)
def test_a_handler_of_a_signal_is_told_when_a_row_is_being_learned(use):
    """It would wait for the very call that it interrupts, or see or change a row half learned."""
    model = started(LEARNERS["vvm"], margin_noise=0.5).learn_one(ROW, 0)
    seen = []

    class Row:
        """Signals come when it is read."""

        def __array__(self, dtype=None, copy=None):
            signal.raise_signal(signal.SIGUSR1)
            return OTHER

    def handler(*_):
        with pytest.raises(RuntimeError, match="from within another call"):
            use(model)
        seen.append(model)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        model.learn_one(Row(), 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen
    whole = started(LEARNERS["vvm"], margin_noise=0.5).partial_fit([ROW, OTHER], [0, 1])
    assert contents_of(model) == contents_of(whole)


def test_a_handler_of_a_signal_may_read_but_not_learn_while_a_table_is_learned():
    model = started(LEARNERS["vvm"], margin_noise=0.5)
    expected = model.predict_proba([ROW, OTHER])
    seen = []

    class StructTable:
        def __array__(self, dtype=None, copy=None):
            signal.raise_signal(signal.SIGUSR1)
            return np.array([ROW, OTHER])

    def handler(*_):
        seen.append(model.predict_proba([ROW, OTHER]))
        with pytest.raises(RuntimeError, match="from within another call"):
            model.partial_fit([ROW, OTHER], [1, 0])

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        model.partial_fit(StructTable(), [0, 1])
    finally:
        signal.signal(signal.SIGUSR1, before)
    np.testing.assert_array_equal(seen[0], expected)
    whole = started(LEARNERS["vvm"], margin_noise=0.5).partial_fit([ROW, OTHER], [0, 1])
    assert contents_of(model) == contents_of(whole)
