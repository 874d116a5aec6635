"""BudgetRF as an estimator of scikit-learn."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import thriftwood as tw

WEIGHTS_ARE_DRAWS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "Repeated rows are drawn otherwise than weighted ones, as in scikit-learn's forests."
    )
}


@parametrize_with_checks(
    [tw.BudgetForestClassifier(10), tw.BudgetForestClassifier(10, bootstrap=False)],
    expected_failed_checks=lambda model: WEIGHTS_ARE_DRAWS if model.bootstrap else {},
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)
