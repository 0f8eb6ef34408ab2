"""What the page says of the numbers, against the numbers."""

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency

from virtualvector.evaluation import Tally
from virtualvector.report.phrases import bins, tiles, trend, trust
from virtualvector.report.selection import SHORTEST_PART, equal_parts


def tally_of(wrong, sure=0.8):
    """A stream of class a, predicted with the same certainty, rightly or wrongly."""
    predictions = np.where(np.asarray(wrong)[:, None], [1.0 - sure, sure], [sure, 1.0 - sure])
    return Tally(("a", "b")).with_rows(np.array(["a"] * len(wrong)), predictions)


@pytest.mark.parametrize(
    ("before", "lately", "words"),
    [
        (0.20, 0.10, "fewer than before (20.0 %): it was still getting better"),
        (0.10, 0.20, "more than before (10.0 %): the stream may have changed"),
        (0.10, 0.11, "about as many as before (10.0 %)"),
        (0.0, 0.0, "about as many as before (0 %)"),
    ],
)
def test_a_change_is_told_only_if_it_is_clear(before, lately, words):
    # The last thousand rows begin at a moment that is remembered: 3008 is 64 times 47.
    n_before, n_lately = 3008, 1000
    wrong = np.zeros(n_before + n_lately, bool)
    counts = round(before * n_before), round(lately * n_lately)
    wrong[: counts[0]] = True
    wrong[n_before : n_before + counts[1]] = True
    sentence = trend(tally_of(wrong)).replace("\N{NO-BREAK SPACE}", " ")
    assert "Of the last 1,000 rows" in sentence
    assert words in sentence
    if any(counts):
        table = [[counts[0], n_before - counts[0]], [counts[1], n_lately - counts[1]]]
        clear = chi2_contingency(table, correction=False).statistic > 2.0**2
        assert clear == ("about as many" not in words)


def test_a_short_stream_has_no_trend():
    tally = tally_of([True, False] * 500)
    assert trend(tally) == ""
    assert "wrong lately" not in [tile.name for tile in tiles(tally)]


def test_bins_that_are_off_are_counted():
    rng = np.random.default_rng(0)
    second = rng.uniform(size=20_000)
    truth = rng.uniform(size=20_000) < np.where(second < 0.5, second, second**2)
    labels = np.array(["a", "b"])[truth.astype(int)]
    tally = Tally(("a", "b")).with_rows(labels, np.column_stack([1.0 - second, second]))
    near = sum(
        binom(n, predicted).cdf(round(n * observed)) > 0.0228
        and binom(n, predicted).sf(round(n * observed) - 1) > 0.0228
        for n, predicted, observed in bins(tally)
    )
    assert near < 12  # about half of the predictions are too high
    assert trust(tally).startswith(f"In {near} of 15 bins")
    assert sum(n for n, _, _ in bins(tally)) == 20_000


@pytest.mark.parametrize("n_rows", [1, 40, 49, 50, 120, 5_000, 123_456])
@pytest.mark.parametrize("most", [8, 24])
def test_parts_are_about_equal_and_cover_the_stream(n_rows, most):
    ends = [moment.n_rows for moment in equal_parts(tally_of(np.zeros(n_rows, bool)), most)]
    lengths = np.diff([0, *ends])
    assert ends[-1] == n_rows
    assert len(ends) <= most
    if len(ends) > 1:
        assert lengths.min() >= 0.9 * max(SHORTEST_PART, n_rows / most)
        assert lengths.max() <= 2.2 * lengths.min()
