"""The estimators: scikit-learn's own checks, and what users combine them with."""

import pickle

import numpy
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from flotilla.sklearn import Classifier, Regressor


@parametrize_with_checks([Classifier("lr", threads=1), Regressor("lr", threads=1)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_it_predicts_as_well_as_a_logistic_regression():
    rows, label = load_breast_cancer(return_X_y=True)
    theirs = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), rows, label, cv=3,
                             scoring="roc_auc").mean()
    for model in ("lr", "wide_deep", "deepfm"):
        ours = cross_val_score(make_pipeline(StandardScaler(), Classifier(model)), rows, label, cv=3,
                               scoring="roc_auc").mean()
        assert ours > theirs - 0.005, model


def test_classes_are_words_and_a_pickle_holds_the_model():
    rows, codes = load_iris(return_X_y=True)
    names = numpy.array(["setosa", "versicolor", "virginica"])[codes]
    one = Classifier("lr", epochs=50).fit(rows, names)
    assert list(one.classes_) == ["setosa", "versicolor", "virginica"]
    assert (one.predict(rows) == names).mean() > 0.9
    numpy.testing.assert_allclose(one.predict_proba(rows).sum(axis=1), 1)
    other = pickle.loads(pickle.dumps(one))
    assert numpy.array_equal(other.predict_proba(rows), one.predict_proba(rows))


def test_a_search_with_processes():
    rows, label = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(Classifier("lr", threads=1), {"epochs": [1, 3]}, n_jobs=2, cv=2).fit(rows, label)
    assert search.best_score_ > 0.9


def test_frames_categories_and_weights():
    pandas = pytest.importorskip("pandas")
    random = numpy.random.default_rng(1)
    shop = random.integers(0, 20, 3000)
    frame = pandas.DataFrame({"the shop": shop, "size": random.normal(size=3000)})
    label = numpy.where(random.random(3000) < numpy.where(shop % 2 == 0, 0.9, 0.1), "yes", "no")
    model = Classifier("lr", categorical=["the shop"]).fit(frame, label)
    assert (model.predict(frame) == label).mean() > 0.85
    assert numpy.array_equal(model.predict(frame[["size", "the shop"]]), model.predict(frame))
    with pytest.raises(ValueError, match="no column 'shop'"):
        Classifier("lr", categorical=["shop"]).fit(frame, label)
    # All weight on the rows of one class.
    weighted = Classifier("lr").fit(frame, label, sample_weight=numpy.where(label == "yes", 1.0, 1e-3))
    assert (weighted.predict(frame) == "yes").mean() > 0.95


def test_a_regression_and_sparse_rows():
    rows, label = load_diabetes(return_X_y=True)
    assert cross_val_score(Regressor("wide_deep", epochs=20), rows, label, cv=3).mean() > 0.2
    sparse = pytest.importorskip("scipy.sparse")
    random = numpy.random.default_rng(1)
    matrix = sparse.random(2000, 50, density=0.2, format="csr", random_state=1)
    clicks = (matrix @ random.normal(size=50) > 0).astype(int)
    assert Classifier("lr", epochs=20).fit(matrix, clicks).score(matrix, clicks) > 0.8


def test_columns_are_checked_and_found_by_name_or_number():
    pandas = pytest.importorskip("pandas")
    rows, label = load_breast_cancer(return_X_y=True)
    frame = pandas.DataFrame(rows[:, :4])  # their names are numbers
    model = Classifier("lr", threads=1, epochs=2).fit(frame, label)
    assert numpy.array_equal(model.predict_proba(frame[[3, 2, 1, 0]]), model.predict_proba(frame))
    for wrong in (99, -1, 1.5, "mean"):
        for given in (rows, frame):
            with pytest.raises(ValueError, match=f"categorical: there is no column {wrong!r}"):
                Classifier("lr", threads=1, epochs=1, categorical=[wrong]).fit(given, label)
    # A name counts before a number, also one that is a number.
    shop = numpy.arange(3000) % 20
    shops = pandas.DataFrame({1: numpy.ones(3000), 0: shop})
    for given in (shops, shops.to_numpy()[:, ::-1]):
        model = Classifier("lr", threads=1, epochs=5, categorical=[0]).fit(given, shop % 2)
        assert (model.predict(given) == shop % 2).mean() > 0.95
    for row in (3, 500):
        broken = frame.rename(columns=str).astype({"1": "float32"})
        broken.iloc[row, 1] = numpy.inf
        with pytest.raises(ValueError, match="Input X contains infinity, in column '1'"):
            Classifier("lr", threads=1, epochs=1).fit(broken, label)
        with pytest.raises(ValueError, match="Input X contains infinity, in column '1'"):
            model.predict(broken.iloc[:, 1:3])
    missing = frame.astype({1: "Float64"})
    missing.iloc[3, 1] = None
    Classifier("lr", threads=1, epochs=1).fit(missing, label)
