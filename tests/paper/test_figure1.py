"""Figure 1, in small."""

import copy
import json

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVC

from tests.paper.doing import do
from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.paper.experiment import Options
from virtualvector.paper.figure1 import (
    FLIPPED,
    LABEL_NOISE,
    MIXTURES,
    NEARLY,
    SEPARABLE,
    Figure1,
)
from virtualvector.paper.mixture import Mixture, labelled, rows_on_the_wrong_side

QUICK = Options(quick=True, runs=2)
LEARNERS = {"EP", "VVM-10", "VVM-40", "window-EP-10", "window-EP-40", "ADF"}


@pytest.fixture(scope="module")
def records():
    return do(Figure1(), QUICK)


@pytest.fixture(scope="module")
def summary(records):
    return Figure1().summarise(records, QUICK)


@pytest.fixture(scope="module")
def twenty_runs():
    """The mean squared errors of the paper's 20 runs, against fewer bounces."""
    errors = {}
    for task in Figure1().plan(Options(), []):
        if task.arguments["mixture"] == SEPARABLE:
            for record in Figure1().work(task.arguments | {"bounces": 5_000}):
                errors.setdefault(record["learner"], []).append(record["squared_error"])
    assert {len(values) for values in errors.values()} == {20}
    return {learner: np.mean(values) for learner, values in errors.items()}


def rows_of(mixture, run=0):
    """The rows that the quick version draws."""
    panel = list(MIXTURES).index(mixture)
    rng = np.random.default_rng(np.random.SeedSequence([0, run, panel]))
    rows, signs, _ = MIXTURES[mixture].draw(rng)
    return rows, signs


def separable(points):
    found = linprog(
        np.zeros(3), A_ub=-points, b_ub=-np.ones(len(points)), bounds=[(None, None)] * 3
    )
    return found.status == 0


def columns(record, name):
    return np.array([record[f"{name}_{k}"] for k in (1, 2, 3)])


class TestMixture:
    @pytest.mark.parametrize("mixture", [SEPARABLE, NEARLY, "size 8", "spread 2.4"])
    def test_150_rows_of_each_class_in_mixed_order(self, mixture):
        rows, signs = rows_of(mixture)
        assert rows.shape == (300, 2)
        assert np.sum(signs == 1.0) == np.sum(signs == -1.0) == 150
        assert 100 < np.sum(signs[1:] != signs[:-1]) < 200

    def test_each_class_has_two_components_of_about_equal_weight(self):
        rows, signs, _ = Mixture(deviation=1e-9).draw(np.random.default_rng(0))
        for sign in (1.0, -1.0):
            centres, counts = np.unique(rows[signs == sign].round(6), axis=0, return_counts=True)
            assert len(centres) == 2
            assert counts.min() > 50

    def test_rows_and_centres_scatter_as_they_should(self):
        rng = np.random.default_rng(1)
        mixture = Mixture(separation=3.0, spread=0.2, deviation=0.1)
        sides = []
        for _ in range(100):
            rows, signs, _ = mixture.draw(rng)
            sides.append(rows[signs > 0.0].mean(axis=0))
            within = np.linalg.norm(rows[signs > 0.0].std(axis=0))
            assert within > 0.1
        assert np.mean(sides, axis=0) == pytest.approx([3.0, 0.0], abs=0.06)
        # The mean of two centres, equally weighted, and hardly any more scatter of the rows.
        assert np.std(sides, axis=0) == pytest.approx(0.2 / np.sqrt(2.0), rel=0.2)

    def test_draws_are_separable_where_they_should_be(self):
        for run in range(3):
            assert separable(labelled(*rows_of(SEPARABLE, run)))

    def test_a_support_vector_machine_leaves_few_rows_of_nearly_separable_draws(self):
        for run in range(3):
            rows, signs = rows_of(NEARLY, run)
            assert not separable(labelled(rows, signs))
            line = SVC(kernel="linear", C=1e4).fit(rows, signs)
            assert 1 <= np.sum(line.predict(rows) != signs) <= 3

    def test_flipped_labels_are_about_five_per_cent_of_a_separable_draw(self):
        flipped = 0
        for seed in range(5):
            _, kept, _ = Mixture().draw(np.random.default_rng(seed))
            _, signs, _ = MIXTURES[FLIPPED].draw(np.random.default_rng(seed))
            flipped += np.sum(kept != signs)
        n = 5 * 300
        spread = np.sqrt(n * LABEL_NOISE * (1 - LABEL_NOISE))
        assert abs(flipped - n * LABEL_NOISE) < 4 * spread

    def test_enlarging_enlarges_the_rows_only(self):
        rows, signs, _ = Mixture(wrong=(0, 300)).draw(np.random.default_rng(0))
        larger, same, _ = Mixture(wrong=(0, 300)).enlarged(8.0).draw(np.random.default_rng(0))
        assert np.array_equal(signs, same)
        assert larger == pytest.approx(8.0 * rows)


def test_rows_on_the_wrong_side_are_counted():
    # On a line, −3 … −1 and 1 … 3 are separable; the same row with the other label is not.
    x = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    signs = np.sign(x)
    points = np.column_stack([x, np.zeros(6), np.ones(6)]) * signs[:, None]
    assert rows_on_the_wrong_side(points) == 0
    contradiction = np.vstack([points, -points[0]])
    assert rows_on_the_wrong_side(contradiction) == 1


class TestRecords:
    def test_every_learner_is_in_every_run(self, records):
        runs = {}
        for record in records:
            runs.setdefault((record["mixture"], record["run"]), []).append(record["learner"])
        assert {mixture for mixture, _ in runs} == set(MIXTURES)
        assert all(sorted(learners) == sorted(LEARNERS) for learners in runs.values())

    def test_errors_are_those_of_the_means(self, records):
        for record in records:
            mean, exact = columns(record, "mean"), columns(record, "exact")
            assert record["squared_error"] == pytest.approx(np.mean((mean - exact) ** 2))
            turned = mean / np.linalg.norm(mean) - exact / np.linalg.norm(exact)
            assert record["squared_direction_error"] == pytest.approx(np.mean(turned**2))

    @pytest.mark.parametrize(
        ("learner", "model"),
        [
            ("EP", EPClassifier),
            ("VVM-40", lambda **noise: VVMClassifier(40, **noise)),
            ("VVM-10", lambda **noise: VVMClassifier(10, **noise)),
            ("window-EP-40", lambda **noise: WindowEPClassifier(40, **noise)),
            ("window-EP-10", lambda **noise: WindowEPClassifier(10, **noise)),
            ("ADF", ADFClassifier),
        ],
    )
    @pytest.mark.parametrize("mixture", [SEPARABLE, NEARLY])
    def test_means_are_those_of_the_public_learners(self, records, learner, model, mixture):
        rows, signs = rows_of(mixture)
        noise = 0.0 if mixture == SEPARABLE else LABEL_NOISE
        fitted = model(label_noise=noise).partial_fit(rows, signs)
        (record,) = (
            r for r in records if (r["mixture"], r["run"], r["learner"]) == (mixture, 0, learner)
        )
        expected = np.append(fitted.coef_, fitted.intercept_)
        # EP stops at other tolerances, the others are the same to the last digits.
        assert columns(record, "mean") == pytest.approx(
            expected, rel=1e-4 if learner == "EP" else 1e-9
        )

    @pytest.mark.parametrize("mixture", [SEPARABLE, NEARLY, FLIPPED, "separation 2.8", "spread 0"])
    def test_exact_means_agree_with_directions_all_over_the_sphere(self, records, mixture):
        record = next(r for r in records if r["mixture"] == mixture)
        points = labelled(*rows_of(mixture))
        # A lattice that covers the sphere evenly, turned by the golden angle from each to the next.
        k = np.arange(400_000) + 0.5
        height, turn = 1.0 - 2.0 * k / len(k), np.pi * (1.0 + np.sqrt(5.0)) * k
        around = np.sqrt(1.0 - height**2)
        w = np.column_stack([around * np.cos(turn), around * np.sin(turn), height])
        wrong = np.concatenate([np.sum(p @ points.T <= 0.0, axis=1) for p in np.split(w, 40)])
        odds = record["label_noise"] / (1.0 - record["label_noise"])
        weight = odds ** (wrong - wrong.min()) if odds else (wrong == 0).astype(float)
        expected = np.sqrt(8.0 / np.pi) * weight @ w / weight.sum()
        error = np.sqrt(record.get("squared_standard_error", 0.0))
        assert columns(record, "exact") == pytest.approx(expected, abs=4.0 * error + 0.004)

    def test_the_billiard_agrees_with_the_polygon(self, records):
        chosen = [r for r in records if r["mixture"] == SEPARABLE and r["learner"] == "EP"]
        for record in chosen:
            assert record["squared_distance_to_centroid"] < 16 * record["squared_standard_error"]
            assert record["squared_standard_error"] < 0.02 * record["squared_error"]

    def test_the_same_seed_gives_the_same_records_and_another_one_others(self, records):
        first, other = (Figure1().plan(o, [])[0] for o in (QUICK, QUICK._replace(seed=1)))
        again = Figure1().work(first.arguments)
        assert again == records[: len(again)]
        assert Figure1().work(other.arguments)[0]["mean_1"] != again[0]["mean_1"]

    def test_records_can_be_written_as_json(self, records):
        assert json.loads(json.dumps(records, allow_nan=False)) == records


class TestPlan:
    def test_tasks_have_names_and_seeds_of_their_own(self):
        tasks = Figure1().plan(Options(), [])
        assert len({task.name for task in tasks}) == len(tasks) == 20 * len(MIXTURES)
        assert len({tuple(task.arguments["seed"]) for task in tasks}) == len(tasks)
        assert json.loads(json.dumps([task.arguments for task in tasks])) == [
            task.arguments for task in tasks
        ]

    def test_the_user_chooses_the_number_of_runs(self):
        tasks = Figure1().plan(Options(runs=7), [])
        assert len(tasks) == 7 * len(MIXTURES)

    def test_the_quick_version_has_fewer(self):
        tasks = Figure1().plan(Options(quick=True), [])
        assert sum(task.arguments["mixture"] == SEPARABLE for task in tasks) == 3

    def test_nothing_follows_from_the_records(self, records):
        assert Figure1().plan(QUICK, records) == Figure1().plan(QUICK, [])


class TestSummary:
    def test_it_has_its_fixed_shape(self, summary):
        for name in ("mse", "standard_error", "mse_label_noise", "mse_flipped_labels"):
            assert set(summary[name]) == LEARNERS
        assert summary["runs"] == 2
        json.dumps(summary, allow_nan=False)

    def test_means_and_standard_errors_are_over_the_runs(self, records, summary):
        for learner in LEARNERS:
            errors = [
                r["squared_error"]
                for r in records
                if r["mixture"] == SEPARABLE and r["learner"] == learner
            ]
            assert summary["mse"][learner] == pytest.approx(np.mean(errors))
            expected = np.sqrt(np.var(errors, ddof=1) / 2)
            assert summary["standard_error"][learner] == pytest.approx(expected)

    def test_ratios_are_quotients_of_means(self, summary):
        ratio, error = summary["ratios"][SEPARABLE]["VVM-40 / EP"]
        assert ratio == pytest.approx(summary["mse"]["VVM-40"] / summary["mse"]["EP"])
        assert error > 0.0

    def test_statements_follow_the_numbers(self, summary):
        def holds(summary, start):
            (found,) = (s.holds for s in Figure1().statements(summary) if s.paper.startswith(start))
            return found

        for worst in LEARNERS:
            changed = copy.deepcopy(summary)
            changed["mse"][worst] = 1.0
            assert holds(changed, "The ADF classifier") == (worst == "ADF")
            changed["mse"][worst] = 0.0
            assert holds(changed, "EP achieves") == (worst == "EP")
        for ratio, similar in ((1.1, True), (1.2, False)):
            changed = copy.deepcopy(summary)
            changed["ratios"][SEPARABLE]["VVM-40 / EP"] = [ratio, 0.1]
            assert holds(changed, "VVMs provide similar") == similar
        for difference, significant in ((0.3, True), (0.1, False), (-1.0, False)):
            changed = copy.deepcopy(summary)
            changed["advantage_over_window"] = {"10": [difference, 0.1], "40": [1.0, 0.1]}
            assert holds(changed, "VVMs outperform") == significant

    def test_it_is_said_that_the_mixture_was_picked_after_looking(self, summary):
        assert any("after looking" in remark for remark in Figure1().remarks(summary))


class TestWhatMustHold:
    def test_forty_virtual_points_are_as_good_as_ep(self, twenty_runs):
        assert twenty_runs["VVM-40"] <= 1.15 * twenty_runs["EP"]

    def test_ten_virtual_points_are_better_than_a_window_of_forty(self, twenty_runs):
        assert twenty_runs["VVM-10"] < twenty_runs["window-EP-40"]

    def test_a_window_is_far_worse_than_virtual_points(self, twenty_runs):
        assert twenty_runs["window-EP-40"] >= 2.5 * twenty_runs["VVM-40"]

    def test_more_virtual_points_are_better(self, twenty_runs):
        assert twenty_runs["VVM-40"] < twenty_runs["VVM-10"]


def test_the_picture_has_axes_with_names_and_legends(records, summary):
    figure = Figure1().draw(records, summary)
    axes = figure.get_axes()
    assert len(axes) == 6
    assert all(ax.get_xlabel() for ax in axes)
    assert all(ax.get_yscale() == "log" for ax in axes)
    assert axes[0].get_ylabel()
    assert axes[3].get_ylabel()
    assert {len(ax.get_xticks()) for ax in axes[:3]} == {6}
    legends = [ax.get_legend() for ax in axes if ax.get_legend()]
    assert {text.get_text() for text in legends[0].get_texts()} == {
        "a run",
        "mean ± standard error",
    }
    assert "VVM-40 / EP" in {text.get_text() for text in legends[1].get_texts()}
    figure.canvas.draw()
