"""Rows to train on, to test with and to score."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Mapping, Optional, Sequence, Union

from . import _core
from .frames import frame_of, is_frame
from .job import Job

Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def _paths(paths: Paths) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.fspath(path) for path in paths]


class Dataset:
    """Rows in files or in arrays. Use one of the from_ functions."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._arrays: Optional[dict[str, Any]] = None
        self._options: dict[str, Any] = {}
        self._directory: Any = None  # of a temporary file

    @staticmethod
    def from_files(paths: Paths, *, format: str = "", schema: Union[str, "os.PathLike[str]"] = "",
                   label: str = "", task: str = "", format_params: Optional[Mapping[str, str]] = None,
                   in_memory: bool = True, shuffle: bool = True, shuffle_rows: int = 0,
                   cache: Union[str, "os.PathLike[str]"] = "", max_bad_rows: int = 0, readers: int = 1,
                   pipe_command: str = "", drop_last: bool = False) -> "Dataset":
        """Rows of files: paths, directories, patterns; plain, .gz or .zst. The options are those of
        `flotilla train`: without format and schema the first lines decide."""
        dataset = Dataset()
        dataset._paths = _paths(paths)
        if not dataset._paths:
            raise ValueError("from_files: the list of paths is empty")
        dataset._options = {
            "format": format, "schema": os.fspath(schema), "label": label,
            "format_params": dict(format_params or {}), "in_memory": in_memory, "shuffle": shuffle,
            "shuffle_rows": shuffle_rows, "cache": os.fspath(cache), "max_bad_rows": max_bad_rows,
            "readers": readers, "pipe_command": pipe_command, "drop_last": drop_last}
        if task:
            dataset._options["task"] = task
        return dataset

    @staticmethod
    def from_numpy(arrays: Mapping[str, Any], *, shuffle: bool = True, drop_last: bool = False) -> "Dataset":
        """Rows of arrays, by the names of the model's inputs.

        Numbers and labels are (rows,) or (rows, width). Ids are whole numbers (rows,) or (rows, n), or a
        tuple (ids, offsets) or (ids, offsets, weights) where row i has ids[offsets[i]:offsets[i + 1]]."""
        dataset = Dataset()
        dataset._arrays = dict(arrays)
        dataset._options = {"shuffle": shuffle, "drop_last": drop_last}
        return dataset

    @staticmethod
    def from_pandas(frame: Any, *, label: str = "", schema: Union[str, "os.PathLike[str]"] = "", task: str = "",
                    shuffle: bool = True) -> "Dataset":
        """Rows of a pandas data frame, for models of the zoo. Columns become features as those of a CSV file do
        (docs/data_formats.md): by a schema, or inferred. label: its column, if its name does not say so.

        The rows pass through a temporary file in TMPDIR, which goes with the dataset."""
        directory = tempfile.TemporaryDirectory(prefix="flotilla_frame_")
        path = os.path.join(directory.name, "frame.csv")
        frame_of(frame).write(path)
        dataset = Dataset.from_files(path, format="csv" if schema else "", schema=schema, label=label, task=task,
                                     shuffle=shuffle)
        dataset._directory = directory
        return dataset

    def share(self, job: "Job") -> "Dataset":
        """The rows of this trainer. Files are shared by the engine: every trainer passes all of them; of arrays
        trainer i takes every n-th row from the i-th on. Lists of ids are not shared here: pass each trainer
        its own."""
        if self._arrays is None or job.trainers == 1:
            return self
        shared = Dataset.from_numpy({name: array[job.index::job.trainers]
                                     for name, array in self._arrays.items()})
        shared._options = dict(self._options)
        return shared

    @property
    def in_files(self) -> bool:
        """Whether the rows are in files."""
        return self._arrays is None

    def _rows(self, model: _core.Model) -> Optional[_core.Rows]:
        """The rows in memory for this model; None: they are in files."""
        if self._arrays is None:
            return None
        return _core.Rows(model, self._arrays)

    def _check_same(self, test: "Dataset") -> None:
        """Test rows are read as the training rows are: what is said of them must agree."""
        for name, value in test._options.items():
            if name not in ("in_memory", "shuffle", "shuffle_rows", "drop_last", "cache", "readers") and value \
                    and value != self._options.get(name):
                raise ValueError(f"test: {name} is {value!r}, and {self._options.get(name)!r} for the training rows, "
                                 "as which the test rows are read")

    def _fill(self, data: _core.DataOptions) -> None:
        """Sets the options of a run on these rows."""
        data.train = list(self._paths)
        for name, value in self._options.items():
            if name == "task":
                data.set_task(value)
            else:
                setattr(data, name, value)


def as_dataset(rows: Any) -> Dataset:
    """A dataset of what a user passed: a dataset, arrays by name, or paths."""
    if isinstance(rows, Dataset):
        return rows
    if is_frame(rows):
        return Dataset.from_pandas(rows)
    if isinstance(rows, Mapping):
        return Dataset.from_numpy(rows)
    if isinstance(rows, (str, os.PathLike, list, tuple)):
        return Dataset.from_files(rows)
    raise TypeError(f"rows must be a flotilla.Dataset, a dict of arrays, a data frame or paths, not {type(rows).__name__}")
