"""Scores of a saved model."""

from __future__ import annotations

import os
from typing import Any, Mapping, Union

import numpy

from . import _core


class Predictor:
    """A saved model. May be used by several threads at once, and pickled with its directory's name."""

    def __init__(self, dir: Union[str, "os.PathLike[str]"], threads: int = 0) -> None:
        self._arguments = (os.path.abspath(os.fspath(dir)), threads)
        self._core = _core.Predictor(*self._arguments)

    def predict(self, arrays: Mapping[str, Any]) -> numpy.ndarray:
        """Scores of rows in arrays by the names of the inputs, without labels: (rows,) the probability of a
        click or the number, (rows, classes) for more than two classes."""
        return self._core.predict(dict(arrays))

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
