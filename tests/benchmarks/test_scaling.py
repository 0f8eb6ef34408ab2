import pytest

from scaling import Constants, seconds


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
    assert seconds(tasks, n_rows, 2) == pytest.approx((1 + 2) + 2 * (2 * 1 + 2))
    large = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=10**9)
    assert seconds(large, n_rows, 2) == pytest.approx(2.0 + 2 * 4.0)
