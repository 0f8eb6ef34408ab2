"""Models that cannot have been learned, with a right checksum: refused in one line."""

import numpy as np
import pytest

from faults.sealing import changed, compact, header_and_data, sealed, setting_of
from tests.persistence.model_examples import EXAMPLES
from virtualvector.persistence.mixin import contents_of
from virtualvector.posterior.state import POINTS, ROWS, SWEEPS, UNSETTLED

# Posteriors: compiled code does not look.


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mean", lambda a: a[:2]),
        ("mean", lambda a: a[:0]),
        ("mean", lambda a: a[0].reshape(())),
        ("mean", lambda a: a.reshape(2, 2)),
        ("mean", lambda a: a.astype(np.int64)),
        ("mean", lambda a: a * np.nan),
        ("mean", lambda a: np.zeros(300_000)),
        ("factor", lambda a: np.full_like(a, np.inf)),
        ("factor", lambda a: a.T.copy()),
        ("factor", lambda a: -a),
        ("factor", lambda a: np.zeros_like(a)),
        ("factor", lambda a: a[:, :2]),
        ("points", lambda a: a[:3]),
        ("points", lambda a: a[:0]),
        ("points", lambda a: 2.0 * a),
        ("points", lambda a: np.zeros((200_000, 4))),
        ("margin_noises", lambda a: a - 1.0),
        ("margin_noises", lambda a: a[:1]),
        ("margin_noises", lambda a: np.zeros(10**6)),
        ("row_numbers", lambda a: a - 10**6),
        ("row_numbers", lambda a: a.astype(float)),
        ("site_precisions", lambda a: a[:2]),
        ("site_shifts", lambda a: a[:2]),
        ("variances_at_refresh", lambda a: np.zeros(7)),
        ("matched", lambda a: np.zeros((7, 4))),
        ("gram", lambda a: np.zeros((3, 3))),
        ("gram", lambda a: np.eye(7)),
        ("weight_mean", lambda a: np.zeros(9)),
        ("weight_factor", lambda a: a.T.copy()),
        ("distances", lambda a: a[:2, :2]),
        ("distances", lambda a: np.zeros((0, 0))),
        ("counts", lambda a: a[:3]),
        ("counts", lambda a: -a),
        ("counts", lambda a: a * 2**55),
        ("counts", lambda a: np.where(np.arange(7) == POINTS, 7, a)),
        ("counts", lambda a: np.where(np.arange(7) == POINTS, 10**9, a)),
        ("counts", lambda a: np.where(np.arange(7) == POINTS, -1, a)),
        ("sums", lambda a: a[:1]),
        ("sums", lambda a: a * np.nan),
        # Numbers that learning cannot lead to.
        ("mean", lambda a: a + 1e9),
        ("factor", lambda a: a * 1e9),
        ("factor", lambda a: a * 1e-15),
        ("factor", lambda a: a * 1e-300),
        ("points", lambda a: np.roll(a, 1, axis=0)),
        ("margin_noises", lambda a: a + 1.0),
        ("row_numbers", lambda a: a + 40),
        ("row_numbers", lambda a: 0 * a),
        ("site_precisions", lambda a: a + 1e14),
        ("site_precisions", lambda a: -1.0 - a),
        ("site_shifts", lambda a: a + 1e12),
        ("weight_mean", lambda a: a - 1e9),
        ("weight_factor", lambda a: a * 1e9),
        ("distances", lambda a: a + 1.0),
        ("distances", lambda a: a.clip(1e-3)),
        ("counts", lambda a: np.where(np.arange(7) == ROWS, 41, a)),
        ("counts", lambda a: np.where(np.arange(7) == SWEEPS, 10**6, a)),
        ("counts", lambda a: np.where(np.arange(7) == UNSETTLED, 10**6, a)),
        ("sums", lambda a: a + 1e9),
        ("sums", lambda a: a - 1e300),
    ],
)
def test_posteriors_that_cannot_be(vvm, refused, name, change):
    place = f"posterior/states/0/{name}"
    refused(changed(vvm, arrays=lambda arrays: arrays.update({place: change(arrays[place])})))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("points", lambda a, n: a + 1e-4),
        ("products", lambda a, n: a * (1.0 + 1e-4)),
        ("products", lambda a, n: a + 1e-3),
        ("variances_at_refresh", lambda a, n: -a),
        ("variances_at_refresh", lambda a, n: a + 1e300),
        ("gram", lambda a, n: a + 1.0),
        ("gram", lambda a, n: a + np.diag(np.arange(len(a)) == n)),
        ("margins", lambda a, n: a + 1e200),
        ("margins", lambda a, n: a + 1e-3),
        ("margins", lambda a, n: a + 0.1 * (np.arange(len(a)) < n)),
        ("covariances", lambda a, n: a * 1e200),
        ("covariances", lambda a, n: a * 20.0),
        ("covariances", lambda a, n: np.where(np.eye(len(a)) > 0, a, 99.0 * a.max())),
        ("matched", lambda a, n: a - [0.0, 0.0, 0.0, -1e4]),
        ("matched", lambda a, n: a - [0.0, 1e4, 0.0, 0.0]),
    ],
)
def test_margins_that_cannot_be(many_columns, refused, name, change):
    place = "posterior/states/0/"

    def forge(arrays):
        n = arrays[place + "counts"][POINTS]
        assert n > 2
        arrays[place + name] = change(arrays[place + name], n)

    refused(changed(many_columns, arrays=forge))


def test_more_rows_than_there_is_room_for(ep, refused):
    def full(arrays):
        counts = arrays["posterior/states/0/counts"]
        counts[POINTS] = len(arrays["posterior/states/0/points"]) + 1

    assert "points; expected 0 to" in refused(changed(ep, arrays=full))


COMMITTEE = ("state", "committee")
INPUTS = ("state", "encoder")


@pytest.mark.parametrize(
    ("places", "to"),
    [
        (["parameters", "n_frequencies"], 6),
        (["parameters", "budget"], 1e9),
        (["parameters", "random_state"], 1),
        (["parameters", "experts", 0, "margin_noise"], 2.0),
        (["parameters", "scale"], False),
        ([*COMMITTEE, "feature_space", "spread"], 5.0),
        ([*COMMITTEE, "history", "n_blocks"], 10**6),
        ([*COMMITTEE, "history", "entries", 0, "weights", 0, 1], 2.0),
        ([*COMMITTEE, "history", "entries", 0, "n_rows"], 10**6),
        ([*COMMITTEE, "drift", "n_blocks"], 10**6),
        ([*COMMITTEE, "drift", "usual"], 1e300),
        ([*COMMITTEE, "drift", "variance"], 1e300),
        ([*COMMITTEE, "n_rows"], 151),
        ([*COMMITTEE, "experts"], []),
        ([*COMMITTEE, "at_start"], []),
        ([*COMMITTEE, "posteriors"], []),
        ([*COMMITTEE, "experts", 0, "same as"], "committee/at_start/1"),
        ([*COMMITTEE, "at_start", 1, "detail"], 10**6),
        ([*COMMITTEE, "at_start", 1, "detail"], 0),
        ([*COMMITTEE, "at_start", 1, "bandwidth"], 0.0),
        ([*COMMITTEE, "at_start", 1, "bandwidth"], "Infinity"),
        ([*COMMITTEE, "at_start", 0, "merge_pairs"], 10**12),
        ([*COMMITTEE, "at_start", 0, "label_noise"], 2.0),
        ([*COMMITTEE, "feature_space", "n_frequencies"], 10**9),
        ([*COMMITTEE, "feature_space", "n_frequencies"], 0),
        ([*COMMITTEE, "feature_space", "n_inputs"], 10**9),
        ([*COMMITTEE, "feature_space", "spread"], 0.0),
        ([*COMMITTEE, "feature_space", "n_scaled"], 10**6),
        ([*COMMITTEE, "feature_space", "seed"], -1),
        ([*COMMITTEE, "feature_space", "budget"], -1.0),
        ([*COMMITTEE, "history", "every"], 0),
        ([*COMMITTEE, "history", "entries"], [[1, []]]),
        ([*COMMITTEE, "drift", "variance"], -1.0),
        ([*COMMITTEE, "drift", "excess"], "Infinity"),
        ([*COMMITTEE, "n_rows"], -1),
        ([*COMMITTEE, "n_rows"], 10),
        ([*COMMITTEE, "calm_since"], 10**6),
        ([*COMMITTEE, "classes_at_start"], {"dtype": "<U3", "values": ["no", "yes"]}),
        ([*INPUTS, "categorical"], [False, True]),
        ([*INPUTS, "categorical"], [True] * 4),
        ([*INPUTS, "categories"], []),
        ([*INPUTS, "categories", 0, 0], 0),
        ([*INPUTS, "categories", 0, 1], [["Rome", 0], ["Oslo", 0]]),
        ([*INPUTS, "categories", 0, 1], [["Rome", 0], ["Rome", 1]]),
        ([*INPUTS, "categories", 0, 1], [["Rome", 9]]),
        ([*INPUTS, "categories", 0, 1], [["Rome"]]),
        ([*INPUTS, "categories", 0, 1], [[0, 0]]),
        ([*INPUTS, "scaling"], 1),
        (["state", "categorical"], [True] * 3),
        (["n_columns"], 5),
        (["parameters", "experts"], "all"),
        (["parameters", "experts", 0], [1, 2, 3]),
    ],
    ids=str,
)
def test_committees_that_cannot_be(auto, refused, places, to):
    refused(changed(auto, setting_of(*places, to=to)))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("committee/weights", lambda a: a[:1]),
        ("committee/weights", lambda a: -a),
        ("committee/weights", lambda a: 0 * a),
        ("committee/weights", lambda a: a[:, np.newaxis]),
        ("committee/weights", lambda a: 2.0 * a),
        ("committee/weights", lambda a: a * (1.0 - 1e-6)),
        ("committee/weights", lambda a: np.eye(len(a))[0]),
        ("committee/awake", lambda a: np.arange(len(a)) == 0),
        ("committee/awake", lambda a: np.zeros_like(a)),
        ("committee/awake", lambda a: a.astype(np.int64)),
        ("committee/awake", lambda a: np.append(a, True)),
        ("committee/evidence", lambda a: a * np.nan),
        ("committee/evidence", lambda a: a[:1]),
        ("committee/corrections", lambda a: a[:3]),
        ("committee/corrections", lambda a: -a),
        ("committee/corrections", lambda a: 2.0 * a),
        ("committee/corrections", lambda a: a * (1.0 - 1e-6)),
        ("committee/corrections", lambda a: np.eye(len(a))[0]),
        ("committee/recalibration/by_class", lambda a: a[:, :1]),
        ("committee/recalibration/by_class", lambda a: a * np.nan),
        ("committee/recalibration/class_covariances", lambda a: -a),
        ("committee/recalibration/class_covariances", lambda a: 2.0 * np.maximum(a, 0.1)),
        ("committee/recalibration/class_covariances", lambda a: a + np.eye(2)[::-1] / 9),
        ("committee/recalibration/likeliest_covariance", lambda a: a - 0.1),
        ("committee/recalibration/likeliest_covariance", lambda a: a[:2, :2]),
        ("committee/recalibration/of_likeliest", lambda a: a + 1e9),
        ("committee/recalibration/leads", lambda a: a + 20.0),
        ("committee/evidence", lambda a: a + 1e6),
        ("committee/evidence", lambda a: a - 1e6),
        ("committee/posteriors/1/states/0/mean", lambda a: a[:-1]),
        ("encoder/counts", lambda a: np.append(a, 1.0)),
        ("encoder/counts", lambda a: -a),
        ("encoder/counts", lambda a: a + 1.0),
        ("encoder/counts", lambda a: a - 0.5),
        ("encoder/means", lambda a: a * np.inf),
        ("encoder/means", lambda a: a + 1e200),
        ("encoder/squares", lambda a: a + 1e303),
        ("committee/counts", lambda a: a + 1.0),
        ("committee/counts", lambda a: a[:1]),
        ("committee/counts", lambda a: a * [-1.0, *[1.0] * (len(a) - 1)]),
        ("encoder/missing", lambda a: a + 1000),
        ("encoder/squares", lambda a: -1.0 - a),
        ("encoder/missing", lambda a: a[:2]),
        ("encoder/missing", lambda a: a - 10**6),
    ],
)
def test_committees_whose_numbers_cannot_be(auto, refused, name, change):
    refused(changed(auto, arrays=lambda arrays: arrays.update({name: change(arrays[name])})))


def test_truth_values_are_zero_or_one(auto, refused):
    header, data = header_and_data(auto)
    start, _ = header["committee/awake"]["data_offsets"]
    assert data[start] == 1
    assert "truth values" in refused(
        sealed(compact(header), data[:start] + b"\x02" + data[start + 1 :])
    )


def test_the_only_expert_has_all_trust(refused):
    alone = contents_of(EXAMPLES["auto, one expert, not scaled"].started())
    for to in (0.5, 1.0 + 1e-12, 2.0):
        weights = np.array([to])
        forged = changed(alone, arrays=lambda a, w=weights: a.update({"committee/weights": w}))
        assert "all trust in the only expert" in refused(forged)


# What is the same as something else takes memory when it learns.


def test_more_classes_than_were_written(refused):
    adf = contents_of(EXAMPLES["adf, third class comes later"].started())

    def many(document):
        posterior = document["state"]["posterior"]
        posterior["classes"]["values"] = document["classes"] = list(range(60_000))
        there = [{"same as": "posterior/states/0"}] * 59_999
        posterior["states"] = [posterior["states"][0], *there]

    def fewer(arrays):
        for name in list(arrays):
            if "states/" in name and "states/0/" not in name:
                del arrays[name]

    assert "expected it written out again" in refused(changed(adf, many, fewer), megabytes=128)


def test_references_to_what_has_references(refused):
    auto = contents_of(EXAMPLES["auto, third class comes later"].started())

    def many(document):
        committee = document["state"]["committee"]
        states = committee["posteriors"][0]["states"]
        states += [{"same as": "committee/posteriors/0/states/0"}] * 1000
        committee["posteriors"] += [{"same as": "committee/posteriors/0"}] * 1000

    assert "expected it written out again" in refused(changed(auto, many))


def test_labels_much_wider_than_their_texts(refused):
    auto = contents_of(EXAMPLES["auto, categories and missing values"].started())

    def wide(document):
        for k, posterior in enumerate(document["state"]["committee"]["posteriors"]):
            posterior["classes"] = {"dtype": "<U9999999", "values": [f"{k}"]}

    assert "found labels of 39,999,996 bytes" in refused(changed(auto, wide), megabytes=128)
