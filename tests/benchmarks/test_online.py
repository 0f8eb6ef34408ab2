import json

import numpy as np
import pandas as pd
import pytest

from baselines import Learner, Predictions
from chance import beyond_chance, calibration_if_right
from online import LEAST, ask, figures, main, mean_ranks, print_auto
from streams import Stream

STREAM = Stream("small", np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"]))


def test_the_first_in_every_stream_has_rank_one_and_ties_share_theirs():
    table = pd.DataFrame({"x": [1.0, 1.0], "y": [2.0, 3.0], "z": [3.0, 3.0]})
    assert mean_ranks(table).tolist() == [1.0, 2.25, 2.75]


def test_what_was_called_impossible_costs_a_finite_amount():
    predictions = Predictions(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), seconds=3e-6)
    found = figures(STREAM, predictions)
    assert found["error"] == pytest.approx(1 / 3)
    assert found["log_loss"] == pytest.approx(-np.log(LEAST) / 3, rel=1e-4)
    assert found["microseconds"] == pytest.approx(1.0)


def test_who_is_right_is_off_by_as_much_as_frequencies_are_by_chance():
    even = np.tile([0.3, 0.7], (500, 1))
    # The mean distance of a normal number with the variance of a frequency.
    by_chance = np.sqrt(2 * 0.21 / (np.pi * 500))
    assert calibration_if_right(even).mean() == pytest.approx(by_chance, rel=0.15)


@pytest.mark.parametrize("off", [0.0, 0.1])
def test_beyond_chance_is_how_far_off_probabilities_are(off):
    """In the mean over short streams, of the square."""
    random = np.random.default_rng(0)
    right = random.choice([0.25, 0.45, 0.65, 0.85], (2000, 80))
    came, said = (random.random(right.shape) < right).astype(int), right - off
    each = [
        beyond_chance(y, np.column_stack([1.0 - p, p]), np.array([0, 1]))
        for y, p in zip(came, said, strict=True)
    ]
    above = np.mean(np.square(each))  # of those below zero it is zero
    assert off**2 <= above <= off**2 + 0.004


@pytest.mark.parametrize(("n_first", "quantile"), [(150, 0.0), (165, 0.86), (200, 1.0)])
def test_the_quantile_says_whether_a_calibration_error_may_be_chance(n_first, quantile):
    """Of 500 rows of which 0.3 are said to be of the first class, so many are."""
    labels = np.where(np.arange(500) < n_first, "a", "b")
    stream = Stream("even", np.zeros((500, 1)), labels)
    found = figures(stream, Predictions(np.tile([0.3, 0.7], (500, 1)), seconds=1.0))
    # 15 more than 150 is 1.46 standard deviations: 0.86 of normal numbers are nearer.
    assert found["calibration_quantile"] == pytest.approx(quantile, abs=0.07)


def test_nobody_is_asked_twice_until_the_code_changes(tmp_path):
    asked = []

    def even(stream):
        asked.append(stream.name)
        return Predictions(np.full((len(stream.y), 2), 0.5), 1.0)

    learner = Learner(even, ("kernels",))
    once = ask("even", learner, STREAM, tmp_path)
    n_asked = len(asked)
    again = ask("even", learner, STREAM, tmp_path)
    assert len(asked) == n_asked
    np.testing.assert_array_equal(once.probabilities, again.probabilities)

    ask("even", Learner(even, ("features",)), STREAM, tmp_path)
    assert len(asked) == 2 * n_asked


def test_the_script_prints_tables_and_writes_numbers(tmp_path, capsys):
    out = tmp_path / "figures.json"
    main(["--streams", "thyroid", "--models", "AROW,VVM", "--json", str(out)])
    printed = capsys.readouterr().out
    assert "Log-loss" in printed
    assert "Mean rank" in printed
    assert [figure["learner"] for figure in json.loads(out.read_text())] == ["AROW", "VVM"]


def test_a_name_that_nobody_has_is_refused():
    with pytest.raises(SystemExit, match="unknown: nobody"):
        main(["--models", "nobody"])


def test_the_mix_is_held_against_its_best_expert_and_the_forest(capsys):
    common = {"stream": "small", "rows": 100, "calibration_error": 0.02}
    common["calibration_if_right"], common["calibration_quantile"] = 0.03, 0.5
    common["calibration_beyond_chance"] = 0.01
    mix = {"learner": "AutoVVM", "log_loss": 0.31, "best_expert": 0.3, "n_experts": 8}
    forest = {"learner": "ARF", "log_loss": 0.4, "best_expert": None, "n_experts": None}
    results = [common | mix | {"microseconds": 30.0}, common | forest | {"microseconds": 300.0}]
    print_auto(pd.DataFrame(results))
    printed = capsys.readouterr().out
    assert "0.1000" in printed
    assert f"{0.3 * 1.01 + np.log(8) / 100:.4f}" in printed
