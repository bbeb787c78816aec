"""Scores of a saved model."""

from __future__ import annotations

import os
from typing import Any, Union

import numpy

from . import _core
from .frames import frame_of, is_frame


class Predictor:
    """A saved model. May be used by several threads at once, and pickled with its directory's name."""

    def __init__(self, dir: Union[str, "os.PathLike[str]"], threads: int = 0) -> None:
        self._arguments = (os.path.abspath(os.fspath(dir)), threads)
        self._core = _core.Predictor(*self._arguments)

    def predict(self, rows: Any) -> "numpy.ndarray[Any, Any]":
        """Scores of rows, which need no labels: a dict of arrays by the names of the inputs or, for a model that
        was trained with a schema, a data frame with its columns in any order. (rows,) is the probability of a
        click or the number, (rows, classes) for more than two classes."""
        if is_frame(rows):
            return self._core.predict_frame(frame_of(rows))
        return self._core.predict(dict(rows))

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs."""
        return self._core.inputs

    @property
    def step(self) -> int:
        """The number of updates of the model."""
        return self._core.step

    def __reduce__(self) -> Any:
        return (Predictor, self._arguments)
