"""Whatever real learning leads to, from streams as nasty as can be, is saved and loads again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.persistence.nasty_streams import LABELS, NOISES, ROWS, learners
from virtualvector import ADFClassifier, AutoVVMClassifier, VVMClassifier, persistence
from virtualvector.learners.expert import Expert
from virtualvector.persistence.mixin import contents_of


def assert_comes_back(model, folder):
    path = folder / "model.vvm"
    contents = contents_of(model)
    path.write_bytes(contents)
    assert contents_of(persistence.read(path).model) == contents


def learn_in_pieces(model, rows, labels, classes, folder):
    """Learn, save and load again after each piece."""
    with np.errstate(all="ignore"):
        for piece in np.array_split(np.arange(len(rows)), 3):
            if len(piece):
                model.partial_fit(rows[piece], labels[piece], classes)
                assert_comes_back(model, folder)


streams = {
    "rows": st.sampled_from(ROWS),
    "labels": st.sampled_from(LABELS),
    "n_rows": st.sampled_from([1, 7, 70, 200]),
    "n_columns": st.integers(1, 8),
    "n_classes": st.sampled_from([2, 2, 3, 12]),
    "declared": st.booleans(),
    "seed": st.integers(0, 10**6),
}


def drawn(rows, labels, n_rows, n_columns, n_classes, declared, seed):
    rng = np.random.default_rng(seed)
    table = rows(rng, (n_rows, n_columns))
    return table, labels(rng, table, n_classes), list(range(n_classes)) if declared else None


@given(noise=st.sampled_from(NOISES), data=st.data(), **streams)
@settings(max_examples=50)
def test_learners(tmp_path_factory, noise, data, **stream):
    model = data.draw(st.sampled_from(learners(noise)))
    learn_in_pieces(model, *drawn(**stream), tmp_path_factory.mktemp("model"))


experts = st.builds(
    Expert,
    bandwidth=st.sampled_from([None, 0.5, 1e-6, 1e6]),
    margin_noise=st.sampled_from([0.0, 0.1, 1e-12]),
    label_noise=st.sampled_from([0.0, 0.02]),
    buffer_size=st.sampled_from([0, 3]),
    half_life=st.sampled_from([None, None, 0.5, 20.0, 1e300]),
    detail=st.just(1),
    merge_pairs=st.sampled_from([0, 2]),
    eviction=st.sampled_from(["divergence", "margin", "oldest"]),
    columns=st.just(0),
    squares=st.just(False),
    reach=st.just(1.0),
    rank=st.none(),  # test_low_rank_experts.py has some
)
SQUARES = {"bandwidth": None, "squares": True}
views = st.sampled_from([{"columns": 1}, {"columns": 2}, SQUARES, SQUARES | {"reach": 3.0}, {}])
experts = st.builds(
    lambda expert, view: (
        expert._replace(bandwidth=expert.bandwidth or 0.5, **view)
        if "columns" in view
        else expert._replace(**view)
    ),
    experts,
    views,
)


@given(several=st.lists(experts, min_size=1, max_size=3), scale=st.booleans(), **streams)
@settings(max_examples=25)
def test_committees(tmp_path_factory, several, scale, **stream):
    model = AutoVVMClassifier(experts=several, n_frequencies=3, scale=scale)
    learn_in_pieces(model, *drawn(**stream), tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("calm", [True, False])
def test_committees_that_grow_fork_fall_asleep_or_begin_anew(calm, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2600, 2))
    labels = (rows.prod(axis=1) > 0).astype(int)
    if not calm:  # so that all are sure, and wrong
        labels = (rows[:, 0] > 0).astype(int)
        labels[1500:] = 1 - labels[1500:]
    model = AutoVVMClassifier(budget=3e5)
    for start in range(0, 2600, 173):
        model.partial_fit(rows[start : start + 173], labels[start : start + 173], [0, 1])
        assert_comes_back(model, tmp_path)
    assert calm or model._committee.calm_since > 0
    assert len(model.experts_) > len(model._committee.at_start)


def test_a_hundred_classes_some_of_which_come_late(tmp_path):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 3)), np.sort(rng.permutation(200) % 100)
    learn_in_pieces(VVMClassifier(3, margin_noise=0.1), rows, labels, None, tmp_path)
    learn_in_pieces(ADFClassifier(), rows, labels, list(range(100)), tmp_path)


def test_points_that_have_lost_their_unit_length_by_merging_are_saved(tmp_path):
    off = []
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        rows = rng.choice([-1.7e308, 1.7e308, 5e-324, 0.0, 1.0], size=(10_000, 2))
        model = VVMClassifier(6, eviction="margin", merge_pairs=40, margin_noise=0.5)
        model.partial_fit(rows, rng.integers(2, size=10_000))
        off.append(np.abs(np.linalg.norm(model.virtual_points_, axis=1) - 1.0).max())
        assert_comes_back(model, tmp_path)
    assert max(off) > 1e-6


def test_many_classes_that_never_came_are_written_out_as_far_as_memory_has_to_be_bounded(tmp_path):
    rng = np.random.default_rng(0)
    rows, declared = rng.normal(size=(2, 100)), list(range(1200))
    model = ADFClassifier().partial_fit(rows, [0, 1], declared)  # 1200 posteriors of 80 kB
    contents = contents_of(model)
    assert_comes_back(model, tmp_path)
    in_memory = sum(array.nbytes for state in model._posterior.states for array in state)
    assert in_memory > 2**26
    assert in_memory < 2**26 + 6 * len(contents)
