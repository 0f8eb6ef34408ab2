"""`--json -`: JSON and nothing else on standard output, whatever else there is to say."""

import json

import pytest


@pytest.mark.parametrize(
    ("arguments", "field", "told"),
    [
        ("learn rows.csv --learner adf", "rows", "log-loss"),
        ("learn rows.csv --learner adf -q", "rows", ""),
        ("evaluate rows.csv --model m.vvm", "confusion", "observed, predicted"),
        ("predict rows.csv --model m.vvm --output said.csv", "rows", ""),
        ("inspect m.vvm", "weights", "The most certain of 6 weights"),
        ("datasets", "datasets", "ionosphere"),
        ("compare rows.csv --learners ADF", "learners", "calibration error"),
    ],
)
def test_standard_output_is_json(vvm, model, tmp_path, arguments, field, told):
    done = vvm(*arguments.split(), "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)[field]
    assert told in done.err  # what is for people
    kept = vvm(*arguments.split(), "--json", "s.json")
    assert told in kept.out
    assert json.loads((tmp_path / "s.json").read_text()).keys() == json.loads(done.out).keys()


def test_predictions_and_json_do_not_share_standard_output(vvm, model):
    for output in ((), ("--output", "-")):
        done = vvm("predict", "rows.csv", "--model", model, "--json", "-", *output)
        assert (done.code, done.out) == (2, "")
        assert "--json -: this is the same file as --output -" in done.err


def test_a_dash_is_standard_output_for_predictions(vvm, model, tmp_path):
    done = vvm("predict", "rows.csv", "--model", model, "--output", "-")
    assert done.out.startswith("predicted\n")
    assert not (tmp_path / "-").exists()
