"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier


@parametrize_with_checks(
    [
        VVMClassifier(),
        VVMClassifier(buffer_size=5, margin_noise=0.5, label_noise=0.01, eviction="margin"),
        ADFClassifier(),
        WindowEPClassifier(),
        EPClassifier(),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
