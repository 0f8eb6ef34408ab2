import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from virtualvector.features.hashing import hashed, place_of, tokens_of_texts
from virtualvector.features.wide import WideEncoder
from virtualvector.kernels.scaling import scale_entries

TEXTS = ["A dry, RED wine; a wine!", "Blé noir 2021", "", "don't x"]


def test_places_are_those_of_hashing_vectorizer():
    vectorizer = HashingVectorizer(
        n_features=2**18, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b", binary=True, norm=None,
        alternate_sign=False, preprocessor=None,
    )  # fmt: skip
    tokens = [[token.removeprefix("t: ") for token in own] for own in tokens_of_texts("t", TEXTS)]
    rows, _, _ = hashed(tokens, 2**18)
    assert (rows != vectorizer.transform(TEXTS)).nnz == 0


def test_a_place_shared_by_two_words_counts_once_and_shows_the_first():
    encoder = WideEncoder(["text"], ["t"], 0, 1)
    rows = encoder.learn([np.array(["b a", "c"], object)])
    assert rows.toarray().tolist() == [[1.0], [1.0]]
    assert encoder.words == ["t: b"]
    assert encoder.labels(np.array([0])) == ["t: b"]
    assert place_of("anything", 1) == 0


def test_entries_are_divided_by_the_root_mean_square_of_those_so_far():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.6)
    counts, squares = np.zeros(4), np.zeros(4)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    places, values = np.nonzero(dense)[1], dense[dense != 0]
    scaled = np.empty_like(values)
    scale_entries(starts, places, values, counts, squares, True, scaled)
    expected = []
    for t, k in zip(*np.nonzero(dense), strict=True):
        so_far = dense[: t + 1, k]
        expected.append(dense[t, k] / np.sqrt(np.mean(so_far[so_far != 0] ** 2)))
    np.testing.assert_allclose(scaled, expected, rtol=1e-12)
    np.testing.assert_array_equal(counts, (dense != 0).sum(axis=0))


def test_what_is_always_the_same_is_one_and_a_slip_is_kept_in_bounds():
    values = np.array([3.0] * 20 + [3e300])
    scaled, counts, squares = np.empty(21), np.zeros(1), np.zeros(1)
    scale_entries(np.arange(22), np.zeros(21, np.int64), values, counts, squares, True, scaled)
    np.testing.assert_array_equal(scaled[:20], np.ones(20))
    assert 1.0 < scaled[20] <= 4.0
    assert 9.0 < squares[0] < 9.0 * 2
