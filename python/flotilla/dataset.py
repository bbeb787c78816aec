"""Rows to train on, to test with and to score."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import _core
from .frames import check_names, frame_of, is_frame
from .generators import batches
from .job import Job

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]


def _paths(paths: Paths) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.fspath(path) for path in paths]


def is_stream(rows: Any) -> bool:
    """Whether these rows come as an Arrow stream."""
    return hasattr(rows, "__arrow_c_stream__")


class Dataset:
    """Rows in files, in memory or of a generator. Use one of the from_ functions."""

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}

    @staticmethod
    def from_files(paths: Paths, *, format: str = "", schema: Path = "", label: str = "", task: str = "",
                   format_params: Optional[Mapping[str, str]] = None, in_memory: bool = True,
                   shuffle: bool = True, shuffle_rows: int = 0, cache: Path = "", max_bad_rows: int = 0,
                   readers: int = 1, pipe_command: str = "", drop_last: bool = False) -> "Dataset":
        """Rows of files: paths, directories, patterns; plain, .gz or .zst. The options are those of
        `flotilla train`: without format and schema the first lines decide."""
        found = _paths(paths)
        if not found:
            raise ValueError("from_files: the list of paths is empty")
        return _Files(found, {
            "format": format, "schema": os.fspath(schema), "label": label, "task": task,
            "format_params": dict(format_params or {}), "in_memory": in_memory, "shuffle": shuffle,
            "shuffle_rows": shuffle_rows, "cache": os.fspath(cache), "max_bad_rows": max_bad_rows,
            "readers": readers, "pipe_command": pipe_command, "drop_last": drop_last})

    @staticmethod
    def from_numpy(arrays: Mapping[str, Any], *, shuffle: bool = True, drop_last: bool = False,
                   copy: bool = True) -> "Dataset":
        """Rows of arrays, by the names of the model's inputs.

        Numbers and labels are (rows,) or (rows, width). Ids are whole numbers (rows,) or (rows, n), or a
        tuple (ids, offsets) or (ids, offsets, weights) where row i has ids[offsets[i]:offsets[i + 1]].

        The dataset keeps the arrays. `fit` packs their rows, a few at a time, into a form that shuffled
        epochs read faster; with copy=False it reads the arrays where they are, which takes no memory and
        needs their values to stay as they are until `fit` has returned."""
        return _Arrays(arrays, {"shuffle": shuffle, "drop_last": drop_last}, copy)

    @staticmethod
    def from_pandas(frame: Any, *, label: str = "", schema: Path = "", task: str = "",
                    shuffle: bool = True) -> "Dataset":
        """Rows of a pandas data frame. For a model of the zoo columns become features as those of a CSV file
        do (docs/data_formats.md): by a schema, or inferred; label: its column, if its name does not say so.
        Statistics beside the schema are used as they are; otherwise they are collected and not kept, from a
        temporary file in TMPDIR, which goes with the dataset. A model of one's own takes the columns with the
        names of its inputs."""
        check_names(frame)
        return _Table(lambda path: frame_of(frame).write(path),
                      {"label": label, "schema": os.fspath(schema), "task": task, "shuffle": shuffle},
                      lambda model: _core.Rows.of_arrays(model, columns_of(frame, model), True),
                      lambda model: _core.Rows.of_frame(model, frame_of(frame)))

    @staticmethod
    def from_arrow(stream: Any, *, label: str = "", schema: Path = "", task: str = "",
                   shuffle: Optional[bool] = None, shuffle_rows: int = 0) -> "Dataset":
        """Rows of anything with `__arrow_c_stream__`: tables, data frames and readers of pyarrow, polars,
        DuckDB and others. Columns are whole numbers, floats, booleans, strings, dictionaries of them, and
        lists of whole numbers.

        stream: such an object, whose rows are read into memory, in another order in every epoch unless
        shuffle is False; or a function that returns a new one for each epoch, which is read as the epoch
        goes on, shuffled in windows of shuffle_rows rows. The function may have a parameter `epoch`.

        A model of one's own takes the columns with the names of its inputs, without missing values; a
        model of the zoo takes all of them as from_pandas does, with the same schema, label and task."""
        if not is_stream(stream) and not callable(stream):
            raise TypeError("from_arrow: an object with __arrow_c_stream__ expected, or a function that returns "
                            f"one, not {type(stream).__name__}")
        options: dict[str, Any] = {"label": label, "schema": os.fspath(schema), "task": task}
        if is_stream(stream):
            if shuffle_rows:
                raise ValueError("shuffle_rows: rows in memory are shuffled as a whole; pass a function for windows")
            return _Table(lambda path: _core.write_stream_csv(stream, path),
                          {**options, "shuffle": shuffle is not False},
                          lambda model: _core.Rows.of_stream(model, stream))
        if shuffle:
            raise ValueError("shuffle: streams of a function are shuffled in windows: pass shuffle_rows")
        make = _of_epoch(stream)

        def checked(epoch: int) -> Any:
            made = make(epoch)
            if not is_stream(made):
                raise TypeError("from_arrow: the function must return an object with __arrow_c_stream__, not "
                                f"{type(made).__name__}")
            return made

        return _Table(lambda path: _core.write_stream_csv(checked(0), path),
                      {**options, "in_memory": False, "shuffle_rows": shuffle_rows},
                      lambda model: _core.Rows.of_generator(model, checked))

    @staticmethod
    def from_generator(batches_of_epoch: Callable[..., Iterable[Any]], *, inputs: Optional[Sequence[str]] = None,
                       shuffle_rows: int = 0, drop_last: bool = False) -> "Dataset":
        """Rows that a function makes: it is called for each epoch and returns an iterator of batches or rows,
        which a thread of its own reads ahead of training.

        A batch is a dict of arrays as in from_numpy, of any number of rows; fit cuts batches of its own
        size from them. A row is a dict of numbers, and of lists of them for inputs with several. Either may
        be a tuple in the order of `inputs`.

        The function may have a parameter `epoch`; to resume inside an epoch it must make the same rows
        again. shuffle_rows: shuffle in windows of so many rows. An exception of it ends `fit`, which raises
        it. Ctrl-C ends `fit` when the function yields next."""
        if not callable(batches_of_epoch):
            raise TypeError("from_generator: a function that returns an iterator expected, not "
                            f"{type(batches_of_epoch).__name__}: each epoch needs a new one")
        return _Generated(batches_of_epoch, inputs,
                          {"in_memory": False, "shuffle_rows": shuffle_rows, "drop_last": drop_last})

    def share(self, job: "Job") -> "Dataset":
        """The rows of this trainer. Files are shared by the engine: every trainer passes all of them; of arrays
        trainer i takes every n-th row from the i-th on. Lists of ids, streams and generators are not shared
        here: pass each trainer its own."""
        if job.trainers == 1 or self.in_files:
            return self
        raise TypeError("share: these rows are not shared; give each trainer its own, by job.index and job.trainers")

    @property
    def in_files(self) -> bool:
        """Whether the rows are in files."""
        return False

    @property
    def has_columns(self) -> bool:
        """Whether _rows gives the rows; otherwise they are only in files."""
        return True

    def _rows(self, model: _core.Model) -> _core.Rows:
        """The rows for this model."""
        raise NotImplementedError

    def _for_zoo(self, name: str) -> "_Files":
        """The rows in files, where a model of the zoo finds its inputs."""
        raise TypeError(f"the model {name} takes its inputs from rows in files, data frames or Arrow streams")

    def _fill(self, data: _core.DataOptions) -> None:
        """Sets the options of a run on these rows."""
        for name, value in self._options.items():
            if name == "task":
                if value:
                    data.set_task(value)
            elif hasattr(data, name):
                setattr(data, name, value)


class _Files(Dataset):
    def __init__(self, paths: list[str], options: dict[str, Any]) -> None:
        self._options = options
        self._paths = paths

    @property
    def in_files(self) -> bool:
        return True

    def paths(self) -> list[str]:
        """The files."""
        return list(self._paths)

    @property
    def has_columns(self) -> bool:
        return False

    def _for_zoo(self, name: str) -> "_Files":
        return self

    def _check_same(self, test: "_Files") -> None:
        """Test rows are read as the training rows are: what is said of them must agree."""
        for name, value in test._options.items():
            if name not in ("in_memory", "shuffle", "shuffle_rows", "drop_last", "cache", "readers") and value \
                    and value != self._options.get(name):
                raise ValueError(f"test: {name} is {value!r}, and {self._options.get(name)!r} for the training rows, "
                                 "as which the test rows are read")

    def _describe(self, data: _core.DataOptions) -> None:
        """Sets the options and the files in which a model of the zoo finds its inputs."""
        self._fill(data)
        data.train = self.paths()


class _Arrays(Dataset):
    def __init__(self, arrays: Mapping[str, Any], options: dict[str, Any], copy: bool) -> None:
        self._options = options
        self._arrays = dict(arrays)
        self._copy = copy

    def share(self, job: "Job") -> "Dataset":
        if job.trainers == 1:
            return self
        for name, array in self._arrays.items():
            if isinstance(array, tuple):
                raise TypeError(f"share: {name} has lists of ids, which are not shared; give each trainer its own")
        return _Arrays({name: array[job.index::job.trainers] for name, array in self._arrays.items()},
                       dict(self._options), self._copy)

    def _rows(self, model: _core.Model) -> _core.Rows:
        return _core.Rows.of_arrays(model, self._arrays, self._copy)


class _Generated(Dataset):
    def __init__(self, make: Callable[..., Iterable[Any]], inputs: Optional[Sequence[str]],
                 options: dict[str, Any]) -> None:
        self._options = options
        self._make = _of_epoch(make)
        self._inputs = inputs

    def _rows(self, model: _core.Model) -> _core.Rows:
        names = list(model.inputs if self._inputs is None else self._inputs)
        return _core.Rows.of_generator(model, lambda epoch: batches(self._make(epoch), names))


class _Table(Dataset):
    """Columns, read by their names, or by a schema for models of the zoo."""

    def __init__(self, write: Callable[[str], None], options: dict[str, Any],
                 rows: Callable[[_core.Model], _core.Rows],
                 zoo_rows: Optional[Callable[[_core.Model], _core.Rows]] = None) -> None:
        self._options = options
        self._write = write
        self._make_rows = rows
        self._make_zoo_rows = zoo_rows
        self._files: Optional[_Written] = None

    def _rows(self, model: _core.Model) -> _core.Rows:
        for name in ("schema", "label", "task"):
            if self._options.get(name):
                raise ValueError(f"{name}: it is for models of the zoo; a model of one's own takes the columns with the "
                                 "names of its inputs")
        return self._make_rows(model)

    def _for_zoo(self, name: str) -> _Files:
        if self._files is None:
            self._files = _Written(self._write, self._options, self._make_zoo_rows)
        return self._files


class _Written(_Files):
    """Columns for a model of the zoo, as a CSV file that is written when it is wanted: where the model finds its
    inputs. The rows themselves are encoded from the columns, where that is possible."""

    def __init__(self, write: Callable[[str], None], options: dict[str, Any],
                 rows: Optional[Callable[[_core.Model], _core.Rows]]) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="flotilla_rows_")
        super().__init__([], {**options, **self._schema_options(options)})
        self._write = write
        self._make_rows = rows

    def paths(self) -> list[str]:
        if not self._paths:
            path = os.path.join(self._directory.name, "rows.csv")
            self._write(path)
            self._paths = [path]
        return super().paths()

    @property
    def has_columns(self) -> bool:
        return self._make_rows is not None

    def _rows(self, model: _core.Model) -> _core.Rows:
        assert self._make_rows is not None
        return self._make_rows(model)

    def _describe(self, data: _core.DataOptions) -> None:
        if "statistics_file" in self._options.get("format_params", {}):
            self._fill(data)  # nothing has to be found out
        else:
            super()._describe(data)

    def _schema_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """How the rows are read. Statistics beside a schema belong to files of other names: they are taken as they
        are, or collected for this run alone, beside a copy of the schema."""
        schema = options["schema"]
        if not schema:
            return {}
        if not os.path.isfile(schema):
            return {"format": "csv"}  # a built-in schema, or an error that names it
        if os.path.isfile(schema + ".stats") and not options["label"] and not options["task"]:
            return {"format": "csv", "format_params": {"statistics_file": schema + ".stats"}}
        return {"format": "csv", "schema": shutil.copy(schema, self._directory.name)}


def _of_epoch(make: Callable[..., Any]) -> Callable[[int], Any]:
    """The function with the epoch as its argument, which it may have a parameter for."""
    try:
        takes = "epoch" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        takes = False
    return (lambda epoch: make(epoch=epoch)) if takes else (lambda epoch: make())


def columns_of(frame: Any, model: _core.Model) -> dict[str, Any]:
    """The columns of a data frame with the names of the model's inputs."""
    return {name: frame[name].to_numpy() for name in model.inputs if name in frame}


def as_dataset(rows: Any) -> Dataset:
    """A dataset of what a user passed: a dataset, arrays by name, a table, or paths."""
    if isinstance(rows, Dataset):
        return rows
    if is_frame(rows):
        return Dataset.from_pandas(rows)
    if is_stream(rows):
        return Dataset.from_arrow(rows)
    if isinstance(rows, Mapping):
        return Dataset.from_numpy(rows)
    if isinstance(rows, (str, os.PathLike, list, tuple)):
        return Dataset.from_files(rows)
    raise TypeError("rows must be a flotilla.Dataset, a dict of arrays, a data frame, an Arrow stream or paths, not "
                    f"{type(rows).__name__}")
