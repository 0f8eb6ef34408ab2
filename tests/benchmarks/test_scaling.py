import pytest

from scaling import FEW, Constants, seconds


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
