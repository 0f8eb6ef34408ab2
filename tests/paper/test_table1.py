"""Table 1, in small."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tests.paper.doing import do
from virtualvector import EPClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.paper.experiment import Options
from virtualvector.paper.problems import FeatureMap, load_problem
from virtualvector.paper.table1 import BUFFER_SIZES, PAPER, Table1

QUICK = Options(quick=True)


@pytest.fixture(scope="module")
def records():
    return do(Table1(), QUICK)


@pytest.fixture(scope="module")
def summary(records):
    return Table1().summarise(records, QUICK)


def test_the_summary_has_its_fixed_shape(summary):
    sizes = {str(size) for size in BUFFER_SIZES}
    assert set(summary["vvm"]) == set(summary["window_ep"]) == sizes == {"10", "20", "30", "50"}
    assert summary["runs"] == 2


def test_errors_are_shares_of_the_75_rows_held_out(records):
    for record in records:
        assert record["error"] * 75 / 100 == pytest.approx(round(record["error"] * 75 / 100))


@pytest.mark.parametrize(
    ("learner", "size", "model"),
    [
        ("vvm", 20, VVMClassifier(20)),
        ("window_ep", 10, WindowEPClassifier(10)),
        ("ep", 140, EPClassifier()),
    ],
)
def test_errors_are_those_of_rows_never_learned(records, learner, size, model):
    for run in (0, 1):
        (record,) = (
            r for r in records
            if (r["run"], r["learner"], r["buffer_size"]) == (run, learner, size)
        )  # fmt: skip
        rows, labels = load_problem("thyroid").shuffled([0, run])
        waves = FeatureMap(100, record["bandwidth"])
        pipeline = make_pipeline(
            FunctionTransformer(waves, kw_args={"seed": [0, run]}),
            clone(model).set_params(margin_noise=record["margin_noise"]),
        ).fit(rows[:140], labels[:140])
        assert record["error"] == pytest.approx(
            100 * (1 - pipeline.score(rows[140:], labels[140:]))
        )


def test_means_and_standard_errors_are_those_of_the_records(records, summary):
    errors = [r["error"] for r in records if (r["learner"], r["buffer_size"]) == ("vvm", 30)]
    assert summary["vvm"]["30"] == pytest.approx(np.mean(errors))
    assert summary["standard_error"]["vvm"]["30"] == pytest.approx(abs(errors[0] - errors[1]) / 2)


def test_verdicts_follow_the_numbers(summary):
    worse = summary | {"vvm": dict.fromkeys(summary["vvm"], 99.0)}
    assert not any(s.holds for s in Table1().statements(worse) if s.paper.startswith("VVM,"))
    best = summary | {"vvm": dict.fromkeys(summary["vvm"], 0.0)}
    assert all(s.holds for s in Table1().statements(best) if s.paper.startswith("VVM,"))
    assert sum(s.paper.startswith("VVM,") for s in Table1().statements(best)) == len(PAPER["vvm"])


def test_the_picture_names_its_axes(records, summary):
    (axes,) = Table1().draw(records, summary).axes
    assert axes.get_xlabel().startswith("buffer size")
    assert axes.get_ylabel() == "test error, %"
    assert len(axes.get_legend().texts) == 6
