import pytest

from scaling import FEW, Constants, cases, cost, measured, seconds, simulated, three_digits


def test_where_only_learning_takes_time_all_rows_but_the_first_are_shared():
    free = Constants(row=1e-5, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=0)
    assert seconds(free, 10**8, 1) == pytest.approx(1000.0)
    assert seconds(free, 10**8, 8) == pytest.approx(1000.0 / 8, rel=0.01)


def test_what_does_not_shrink_with_workers_is_added_for_every_round():
    # Until there are 4,096 rows for two shards, one learns: 16,384 rows; then half of all before.
    n_rows = 16_384 + 8_192 + 12_288
    slow = Constants(row=0.0, pooling=0.5, pooling_a_shard=0.25, task=0.0, model=0)
    assert seconds(slow, n_rows, 2) == pytest.approx(2 * (0.5 + 2 * 0.25))
    tasks = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=1.0, model=0)
    assert seconds(tasks, n_rows, 2) == pytest.approx(1 + 2 * 2)
    large = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=10**9)
    assert seconds(large, n_rows, 2) == pytest.approx(1.0 + 2 * 2.0)


def test_one_puts_many_shards_together_and_sends_what_came_of_it():
    pytest.importorskip("distributed")
    from virtualvector.dask import rounds

    assert FEW == rounds.FEW == 16
    # Spans have 2,048 rows at least; the last of these rounds has as many rows as came before.
    n_rows = 16_384 + 8_192 + 12_288 + 18_432 + 27_648 + 82_944
    few = [1, 4, 6, 9, 13]
    tasks = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=1.0, model=0)
    assert seconds(tasks, n_rows, 32) == pytest.approx(sum(few) + 32 + 1)
    large = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=10**9)
    assert seconds(large, n_rows, 32) == pytest.approx(sum(few) + 2 * 32)


def test_one_process_takes_what_a_row_takes_without_rounds():
    both = Constants(row=1e-5, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=0, alone=3e-5)
    assert seconds(both, 10**8, 1) == pytest.approx(3000.0)
    assert seconds(both, 10**8, 8) == pytest.approx(1000.0 / 8, rel=0.01)


def test_weights_points_and_a_committee_have_lines_of_their_own():
    found = cases([51, 201], [0, 100], 99)
    each = [(case.n_columns + 1, case.name) for case in found]
    by_weights = [(51, "ADF"), (51, "VVM(30)"), (201, "ADF"), (201, "VVM(30)")]
    assert each == [*by_weights, (101, "ADF"), (101, "VVM(100)"), (100, "committee")]
    linear, *_, committee = (case._replace(n_first=300) for case in cases([4], [5], 3))
    cheap = committee._replace(make=lambda: committee.make(budget=1e4))
    for case in (linear, cheap):
        result = measured(case, 1e-3)
        line = cost(result)
        assert line.startswith(f"| 4 | {case.name}")
        assert ("experts awake" in line) == (case is cheap)
        assert simulated(result).count("|") == 5


def test_large_numbers_have_no_exponents():
    assert [three_digits(x) for x in (15123.4, 7.554, 0.01234)] == ["15,100", "7.55", "0.0123"]
