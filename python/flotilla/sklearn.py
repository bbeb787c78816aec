"""Estimators with the interface of scikit-learn, on the models of the zoo.

    from flotilla.sklearn import Classifier
    Classifier(model="deepfm").fit(frame, y).predict_proba(frame)
"""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
from typing import Any, Optional, Sequence, Union

import numpy
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # type: ignore
from sklearn.utils.multiclass import check_classification_targets  # type: ignore
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d  # type: ignore

from . import _core
from .callbacks import Listener
from .dataset import Dataset
from .frames import _column, check_names, is_frame
from .predictor import Predictor
from .trainer import Trainer, _cores

Array = "numpy.ndarray[Any, Any]"


def _is_sparse(rows: Any) -> bool:
    return hasattr(rows, "tocsr")


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What classifiers and regressors share: rows to a schema, training, and the model as bytes."""

    def __init__(self, model: str = "wide_deep", *, epochs: Optional[int] = None,
                 batch_size: Optional[int] = None, categorical: Sequence[Union[str, int]] = (),
                 threads: Optional[int] = None, seed: int = 0, flags: Optional[dict[str, Any]] = None) -> None:
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.categorical = categorical
        self.threads = threads
        self.seed = seed
        self.flags = flags

    # ---- Rows ----

    def _check(self, rows: Any, fitting: bool) -> Any:
        """The rows as a data frame, a CSR matrix or an array, after checking their columns."""
        if is_frame(rows):
            if len(rows) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            check_names(rows)
            columns = [str(name) for name in rows.columns]
            names: Optional[list[str]] = columns
            checked = rows
            for name, column in zip(columns, (rows.iloc[:, i] for i in range(rows.shape[1]))):
                if getattr(column.dtype, "kind", "O") == "f" and numpy.isinf(column.to_numpy(dtype=float,
                                                                                             na_value=numpy.nan)).any():
                    raise ValueError(f"Input X contains infinity, in column {name!r}: make it a missing value (NaN) or "
                                     "a large number")
        else:
            names = None
            checked = check_array(rows, accept_sparse="csr", force_all_finite="allow-nan" if not _is_sparse(rows)
                                  else True, dtype=None, ensure_min_features=1)
            if checked.dtype.kind == "c":
                raise ValueError("Complex data not supported")
            if checked.dtype.kind == "O":
                checked = checked.astype(numpy.float64)
        if fitting:
            self.n_features_in_ = checked.shape[1]
            if names is not None:
                self.feature_names_in_ = numpy.array(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif checked.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {checked.shape[1]} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input")
        elif names is not None and names != list(getattr(self, "feature_names_in_", names)):
            missing = [name for name in self.feature_names_in_ if name not in names]
            if missing:
                raise ValueError(f"the data frame lacks the columns {missing}")
            checked = rows.iloc[:, [names.index(name) for name in self.feature_names_in_]]
        return checked

    def _columns(self, rows: Any) -> list[Any]:
        """Columns c0, c1, .. whatever they are called, so that no name needs quotes in a schema."""
        if is_frame(rows):
            return [_column(f"c{i}", rows.iloc[:, i]) for i in range(rows.shape[1])]
        columns: list[Any] = []
        for i in range(rows.shape[1]):
            values = rows[:, i]
            kind: Any = numpy.int64 if values.dtype.kind in "biu" else numpy.float64
            if values.dtype == numpy.float32:
                kind = numpy.float32  # a value is its text, whose digits depend on the type
            columns.append((f"c{i}", numpy.ascontiguousarray(values, dtype=kind)))
        return columns

    def _categories(self) -> set[int]:
        """The numbers of the columns that are categories by the user's word: a name, also one that is a number, or the
        number of a column."""
        names = list(getattr(self, "feature_names_in_", []))
        found = set()
        for each in self.categorical:
            if str(each) in names:
                found.add(names.index(str(each)))
            elif isinstance(each, (int, numpy.integer)) and 0 <= each < self.n_features_in_:
                found.add(int(each))
            else:
                raise ValueError(f"categorical: there is no column {each!r}; the columns are "
                                 f"{', '.join(map(repr, names)) or f'0 to {self.n_features_in_ - 1}'}")
        return found

    def _schema(self, path: str, columns: list[Any], listener: Listener) -> str:
        text = _core.infer_schema(path, "y", self._workers(), listener)
        categories = self._categories()
        for i, column in enumerate(columns):
            if column[0] == "w":
                text = re.sub(r"(?m)^w:\S+", "w:weight", text)
            elif i in categories:
                text = re.sub(rf"(?m)^c{i}:\S+", f"c{i}:category", text)
            elif len(column) == 2 and column[1].dtype.kind != "O":
                # A number that is different in every row is still a number.
                text = re.sub(rf"(?m)^c{i}:ignore\b\S*", f"c{i}:number(standardise)", text)
        return text

    def _workers(self) -> int:
        return self.threads if self.threads is not None else _cores()

    # ---- Training ----

    def _train(self, rows: Any, label: Any, task: str, sample_weight: Any) -> None:
        weight = None
        if sample_weight is not None:
            weight = numpy.ascontiguousarray(column_or_1d(sample_weight), dtype=numpy.float64)
            if len(weight) != rows.shape[0]:
                raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({rows.shape[0]},)!")
        trainer = Trainer(self.model, threads=self._workers(), seed=self.seed,
                          deterministic=True, **(self.flags or {}))
        with tempfile.TemporaryDirectory(prefix="flotilla_sklearn_") as directory:
            if _is_sparse(rows):
                dataset = self._sparse(rows, label, weight, task, directory)
            else:
                columns = self._columns(rows) + [label] + ([("w", weight)] if weight is not None else [])
                path = os.path.join(directory, "rows.csv")
                _core.Frame(columns).write(path)
                schema = os.path.join(directory, "rows.schema")
                with open(schema, "w", encoding="utf-8") as file:
                    file.write(self._schema(path, columns, Listener(trainer)))
                dataset = Dataset.from_files(path, format="csv", schema=schema, label="y", task=task)
            trainer.fit(dataset, epochs=self.epochs, batch_size=self.batch_size, progress=False)
            out = os.path.join(directory, "model")
            trainer.save(out, inference=True)
            archive = io.BytesIO()
            with tarfile.open(fileobj=archive, mode="w") as tar:
                tar.add(out, arcname=".")
        #: The trained model, as a tar archive of its directory.
        self.model_ = archive.getvalue()
        self._predictor = self._open()

    def _sparse(self, rows: Any, label: Any, weight: Any, task: str, directory: str) -> Dataset:
        from sklearn.datasets import dump_svmlight_file  # type: ignore

        if weight is not None:
            raise ValueError("sample_weight is not supported with sparse rows")
        path = os.path.join(directory, "rows.svm")
        values = label[1]
        dump_svmlight_file(rows.tocsr(), values, path, zero_based=True)
        return Dataset.from_files(path, format="libsvm", task=task)

    # ---- Prediction ----

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_predictor"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "model_" in state:
            self._predictor = self._open()

    def _more_tags(self) -> dict[str, Any]:
        return {"allow_nan": True, "_xfail_checks": {
            "check_sample_weights_invariance":
                "a row of weight 0 or 2 is one row of a batch, and no row or two rows change the batches"}}

    def _open(self) -> Predictor:
        with tempfile.TemporaryDirectory(prefix="flotilla_sklearn_") as directory:
            with tarfile.open(fileobj=io.BytesIO(self.model_)) as tar:
                tar.extractall(directory)
            return Predictor(directory)

    def _scores(self, rows: Any) -> Any:
        check_is_fitted(self, "model_")
        rows = self._check(rows, fitting=False)
        if _is_sparse(rows):
            rows = rows.tocsr()
            return self._predictor.predict({"features": (rows.indices.astype(numpy.int64),
                                                         rows.indptr.astype(numpy.int64), rows.data)})
        return self._predictor._core.predict_frame(_core.Frame(self._columns(rows)))


class Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A classifier: two classes by any model of the zoo, more by lr, wide_deep and dcnv2.

    model: a name of flotilla.zoo(). epochs, batch_size: those of its recipe unless given. categorical: columns
    (names or numbers) that are categories though they hold numbers. flags: further flags of the model. X: a data
    frame, an array, or for lr and fm a scipy CSR matrix. The same seed gives the same bits."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Classifier":
        """Trains anew."""
        rows = self._check(X, fitting=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if len(y) != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows and y {len(y)}")
        self.classes_, codes = numpy.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs samples of at least 2 classes, but y has one class: "
                             f"{self.classes_[0]!r}")
        codes = codes.astype(numpy.int64)
        if len(self.classes_) == 2:
            self._train(rows, ("y", codes), "click", sample_weight)
        else:
            # Words of equal length, so that their order is that of the classes.
            digits = len(str(len(self.classes_)))
            names = [f"k{code:0{digits}}" for code in range(len(self.classes_))]
            self._train(rows, ("y", codes, names), "classes", sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes, (rows, classes)."""
        scores = self._scores(X).astype(numpy.float64)
        if scores.ndim == 1:
            return numpy.stack([1 - scores, scores], axis=1)
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class Regressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A regressor; its arguments are those of Classifier."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Regressor":
        """Trains anew."""
        rows = self._check(X, fitting=True)
        y = column_or_1d(y, warn=True).astype(numpy.float64)
        if len(y) != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows and y {len(y)}")
        if len(y) == 1:
            raise ValueError("a regression needs more than one row, but n_samples=1")
        if not numpy.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        self._train(rows, ("y", y), "regression", sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        """The predicted numbers."""
        return self._scores(X).astype(numpy.float64)
