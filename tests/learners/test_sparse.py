import numpy as np
import pytest
from scipy import sparse

import virtualvector
from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier, pool

COVARIANCES = ("full", "low-rank", "diagonal")
LEARNERS = {
    "vvm": lambda **more: VVMClassifier(5, margin_noise=0.5, **more),
    "adf": lambda **more: ADFClassifier(margin_noise=0.5, **more),
    "window-ep": lambda **more: WindowEPClassifier(5, margin_noise=0.5, **more),
}


def stream(n_rows=150, columns=60, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns)) * (rng.random((n_rows, columns)) < 0.1)
    scores = rows @ rng.normal(size=(columns, classes)) + rng.normal(size=(n_rows, classes))
    labels = np.argmax(scores, axis=1)
    labels[:classes] = np.arange(classes)
    return rows, labels


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_sparse_table_is_learned_to_the_last_bit_as_the_dense_one(name, covariance, classes):
    rows, labels = stream(classes=classes)
    dense, by_non_zeros = (LEARNERS[name](covariance=covariance, rank=4) for _ in range(2))
    dense.partial_fit(rows[:100], labels[:100])
    for some in (slice(0, 1), slice(1, 40), slice(40, 100)):
        by_non_zeros.partial_fit(sparse.csr_array(rows[some]), labels[some])
    expected = dense.predict_proba(rows[100:])
    assert np.array_equal(by_non_zeros.predict_proba(sparse.csr_array(rows[100:])), expected)
    assert np.array_equal(by_non_zeros.coef_, dense.coef_)


@pytest.mark.parametrize("kind", [sparse.csc_matrix, sparse.coo_array, sparse.lil_array])
def test_sparse_tables_of_any_kind_are_taken(kind):
    rows, labels = stream()
    expected = ADFClassifier(margin_noise=0.5).fit(rows, labels).coef_
    assert np.array_equal(ADFClassifier(margin_noise=0.5).fit(kind(rows), labels).coef_, expected)
    of_ep = EPClassifier(margin_noise=0.5).fit(rows[:30], labels[:30]).coef_
    found = EPClassifier(margin_noise=0.5).fit(kind(rows[:30]), labels[:30]).coef_
    assert np.array_equal(found, of_ep)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_unsorted_repeated_and_written_out_zeros_change_nothing(covariance):
    rows, labels = stream()
    clean = sparse.csr_array(rows)
    values, places, starts = [], [], [0]
    for row in rows:
        (found,) = np.nonzero(row)
        for place in found[::-1]:  # unsorted, each as the sum of two halves, and a zero
            values += [0.5 * row[place], 0.0, 0.5 * row[place]]
            places += [place, (place + 1) % len(row), place]
        starts.append(len(places))
    untidy = sparse.csr_array((values, places, starts), shape=rows.shape)
    kept = untidy.copy()
    model = VVMClassifier(5, margin_noise=0.5, covariance=covariance, rank=4)
    expected = model.fit(clean, labels).predict_proba(clean)
    assert np.array_equal(model.fit(untidy, labels).predict_proba(untidy), expected)
    assert np.array_equal(untidy.indices, kept.indices)  # which is left as it was
    assert np.array_equal(untidy.data, kept.data)


def test_an_empty_row_says_what_its_bias_does():
    rows, labels = stream()
    rows[::7] = 0.0
    with_bias, without = (
        ADFClassifier(margin_noise=0.5, covariance="low-rank", fit_intercept=intercept)
        for intercept in (True, False)
    )
    table = sparse.csr_array(rows)
    assert with_bias.fit(table, labels).n_seen_ == len(rows)
    assert without.fit(table, labels).counters_["ignored"] == len(rows[::7])
    empty = sparse.csr_array((1, rows.shape[1]))
    assert without.predict_proba(empty).tolist() == [[0.5, 0.5]]
    variance = with_bias.covariance_[-1, -1] + 0.5
    assert np.isclose(
        with_bias.decision_function(empty)[0], with_bias.intercept_[0] / np.sqrt(variance)
    )


def test_what_is_wrong_with_a_sparse_table_is_said():
    rows, labels = stream()
    model = ADFClassifier(margin_noise=0.5, covariance="diagonal").fit(rows, labels)
    table = sparse.csr_array(rows)
    table.data[3] = np.nan
    row, column = table.tocoo().coords
    with pytest.raises(ValueError, match=rf"NaN at row {row[3]}, column {column[3]};"):
        model.partial_fit(table, labels)
    outside = sparse.csr_array(rows)
    outside.indices[0] = 2**30
    with pytest.raises(ValueError, match=r"shape \(150, 60\) whose indices do not fit"):
        model.partial_fit(outside, labels)
    with pytest.raises(ValueError, match="61 features, but ADFClassifier is expecting 60"):
        model.predict(sparse.csr_array((2, 61)))


@pytest.mark.parametrize("covariance", ["low-rank", "diagonal"])
def test_single_rows_may_be_arrays_sparse_rows_or_dicts_of_columns(covariance):
    rows, labels = stream()
    expected = VVMClassifier(5, margin_noise=0.5, covariance=covariance, rank=4)
    expected.partial_fit(rows, labels)
    for written in (
        lambda row: row,
        lambda row: sparse.csr_array(row[np.newaxis]),
        lambda row: {int(k): row[k] for k in np.nonzero(row)[0][::-1]},
    ):
        model = VVMClassifier(5, margin_noise=0.5, covariance=covariance, rank=4)
        model.partial_fit(rows[:20], labels[:20])
        for row, label in zip(rows[20:], labels[20:], strict=True):
            model.learn_one(written(row), label)
        found = model.predict_proba_one(written(rows[0]))
        assert np.array_equal(found, expected.predict_proba(rows[:1])[0])
        assert model.predict_one(written(rows[0])) == expected.predict(rows[:1])[0]


def test_a_dict_with_a_column_that_there_is_not_is_refused():
    rows, labels = stream()
    model = ADFClassifier(margin_noise=0.5, covariance="diagonal").fit(rows, labels)
    with pytest.raises(ValueError, match="found the key 60 in a row; expected columns from 0"):
        model.learn_one({60: 1.0}, 1)
    with pytest.raises(ValueError, match="found the key 'age'"):
        model.predict_proba_one({"age": 1.0})
    assert model.n_seen_ == len(rows)


@pytest.mark.parametrize("covariance", ["low-rank", "diagonal"])
@pytest.mark.parametrize("half_life", [None, 30.0])
def test_a_model_file_goes_on_where_the_model_was(tmp_path, covariance, half_life):
    rows, labels = stream(classes=3)
    table = sparse.csr_array(rows)
    size = 5 if half_life is None else 0
    for cut in (1, 40, 100):
        model = VVMClassifier(
            size, margin_noise=0.5, covariance=covariance, rank=4, half_life=half_life
        ).partial_fit(table[:cut], labels[:cut])
        model.save(tmp_path / "model.vvm")
        again = virtualvector.load(tmp_path / "model.vvm")
        for each in (model, again):
            each.partial_fit(table[cut:], labels[cut:])
        assert np.array_equal(again.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize("classes", [2, 3])
def test_what_was_learned_apart_is_pooled_as_full_covariances_where_the_rank_suffices(classes):
    rows, labels = stream(classes=classes)
    known = np.arange(classes)

    def pooled(**kind):
        shards = (
            ADFClassifier(margin_noise=0.5, **kind).partial_fit(rows[k::2], labels[k::2], known)
            for k in range(2)
        )
        return pool(list(shards))

    full, low_rank = pooled(), pooled(covariance="low-rank", rank=150)
    np.testing.assert_allclose(low_rank.coef_, full.coef_, atol=1e-9)
    np.testing.assert_allclose(low_rank.predict_proba(rows), full.predict_proba(rows), atol=1e-9)


def test_a_row_of_a_very_wide_table_is_learned_and_takes_little_memory():
    d = 2**20
    rng = np.random.default_rng(0)
    places = np.sort(rng.choice(d, size=(300, 20)), axis=1)
    table = sparse.csr_array(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, 20)), shape=(300, d)
    )
    labels = (places[:, 0] < d // 20).astype(int)
    model = ADFClassifier(margin_noise=1.0, covariance="diagonal").partial_fit(table, labels)
    (state,) = model._posterior.states
    assert sum(array.nbytes for array in state) < 8.1 * 3 * d
    assert np.count_nonzero(model.coef_) <= 300 * 20
