import pytest

from faults.inputs import FORMATS, attack, case_of


@pytest.mark.processes
def test_damaged_and_forged_files_are_read_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a file that fails is kept
    outcomes = list(attack(600.0, seed=5, most=105))
    assert [outcome.failures for outcome in outcomes] == [[]] * len(FORMATS)
    assert sum(outcome.n_cases for outcome in outcomes) == 105
    for outcome in outcomes:
        assert outcome.ends["read"] > 0
        assert outcome.ends["refused"] > 0


def test_a_case_is_the_same_each_time():
    for number in range(40):
        assert case_of(3, number) == case_of(3, number)
