"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier


def expected_to_fail(estimator):
    """Return what cannot hold of an estimator, and why."""
    found = {}
    if estimator.label_noise == estimator.margin_noise == 0.0:
        found["check_class_weight_classifiers"] = (
            "without noise a likelihood is 0 or 1, and so are its powers: weights change nothing"
        )
    if getattr(estimator, "buffer_size", 0) < 30 and not isinstance(estimator, EPClassifier):
        found |= dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "what is learned in one pass depends on the order, and repeated rows come in another "
            "one; in the same order it holds to the last bit (test_weights.py)",
        )
    return found


@parametrize_with_checks(
    [
        VVMClassifier(),
        VVMClassifier(buffer_size=5, margin_noise=0.5, label_noise=0.01, eviction="margin"),
        ADFClassifier(),
        ADFClassifier(margin_noise=1.0),
        WindowEPClassifier(),
        EPClassifier(),
        EPClassifier(margin_noise=1.0),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
