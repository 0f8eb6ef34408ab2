import pytest

from scaling import Constants, seconds


def test_where_only_learning_takes_time_all_rows_but_the_first_are_shared():
    free = Constants(row=1e-5, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=0)
    assert seconds(free, 10**6, 1) == pytest.approx(10.0)
    assert seconds(free, 10**6, 8) == pytest.approx(10.0 / 8, rel=0.01)


def test_what_does_not_shrink_with_workers_is_added_for_every_round():
    slow = Constants(row=0.0, pooling=0.5, pooling_a_shard=0.25, task=0.0, model=0)
    # Until there are 128 rows for two shards, one learns: 256, 64, 80, 100 rows; then 125, 156.
    assert seconds(slow, 781, 2) == pytest.approx(1 * (0.5 + 2 * 0.25))
    tasks = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=1.0, model=0)
    assert seconds(tasks, 781, 2) == pytest.approx(5 * (2 + 3) + (2 * 2 + 3))
    large = Constants(row=0.0, pooling=0.0, pooling_a_shard=0.0, task=0.0, model=10**9)
    assert seconds(large, 781, 2) == pytest.approx(5 * 2.0 + 4.0)
