"""Training."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy

from . import _core
from .callbacks import Callback, Listener, ProgressBar, shows_progress
from .dataset import Dataset, Paths, _Files, as_dataset, columns_of
from .errors import FailedPrecondition
from .frames import is_frame
from .history import History
from .job import Job, Served, in_launch

Fetch = Union[_core.Var, str]

#: The modes of a job.
MODES = ("sync", "half-async", "async", "geo")


def _cores() -> int:
    given = os.environ.get("CPU_NUM")
    return int(given) if given else len(os.sched_getaffinity(0))


class Table:
    """A sparse table of a trainer, also after it has loaded another model."""

    def __init__(self, trainer: "Trainer", name: str) -> None:
        self._trainer = trainer
        self.name = name

    def rows(self, ids: Any) -> "numpy.ndarray[Any, Any]":
        """The rows of these ids, (ids, dim). An id without a row has its initial value."""
        return self._trainer._engine.table_rows(self.name, ids)

    def values(self) -> "numpy.ndarray[Any, Any]":
        """All rows, (rows, dim), in ascending order of ids."""
        return self._trainer._engine.parameter(self.name)


class Feed:
    """The loop in one's own hands: `with trainer.feed() as step: loss, = step(arrays, [loss])`."""

    def __init__(self, trainer: "Trainer") -> None:
        self._trainer = trainer

    def __enter__(self) -> "Feed":
        self._trainer._engine.reset_metrics()
        return self

    def __call__(self, feed: Mapping[str, Any], fetch: Sequence[Fetch] = ()) -> list["numpy.ndarray[Any, Any]"]:
        """Trains on one batch. fetch: values of the graph, or metrics by name since the beginning."""
        return self._trainer._engine.step(dict(feed), list(fetch), True)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._trainer._engine.end_pass()


class Trainer:
    """Trains a model. Parameters live in this process or, with a job, on its servers.

    model: a flotilla.Model, or the name of a model of the zoo, which takes its inputs from the first rows
    that are fitted; `flags` are then its flags: Trainer("deepfm", dim=16). In a job it takes them from the
    files `rows`, the same in every process, since servers see no others; epochs and batch_size of the run
    are then given here too, unless they are those of the recipe.
    threads: workers (default: CPU_NUM, else the cores). deterministic: the same bits for the same seed,
    whatever the number of threads. job, mode: train as a part of a job, in sync, half-async, async or geo."""

    def __init__(self, model: Union[_core.Model, str], *, threads: Optional[int] = None, seed: int = 0,
                 deterministic: bool = False, job: Optional["Job"] = None, mode: str = "async",
                 rows: Union[Paths, Dataset, None] = None, epochs: Optional[int] = None,
                 batch_size: Optional[int] = None, **flags: Any) -> None:
        self._job = job if job is not None and job.servers > 0 else None
        if mode not in MODES:
            raise ValueError(f"mode {mode!r} is not one of {', '.join(MODES)}")
        if deterministic and self._job is not None:
            raise ValueError("deterministic: a job repeats bit for bit in mode sync, and in no other")
        self._mode = mode
        self._joined = False
        if threads is None:
            threads = self._job._core.threads if self._job else _cores()
        self._threads = threads
        if self._threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._seed = seed
        self._deterministic = deterministic
        self._flags = {name: self._text(value) for name, value in flags.items()}
        self._model: Optional[_core.Model] = None
        self._zoo = ""
        self._epochs: Optional[int] = None  # of the run that a model of the zoo was made for in a job
        self._batch_size = 1000  # unless a call says otherwise
        self._process = os.getpid()
        self._executor: Optional[_core.Executor] = None
        if isinstance(model, str):
            self._zoo = model
            known = [name for name, _ in _core.zoo()]
            if model not in known:
                hint = "; for the race of models: flotilla.train_auto" if model == "auto" else ""
                raise ValueError(f"there is no model {model!r}: use one of {', '.join(known)}{hint}")
            if self._job is not None:
                self._make_zoo_for_job(rows, epochs, batch_size)
        else:
            if flags:
                raise TypeError(f"{next(iter(flags))}: flags belong to models of the zoo")
            self._start(model)
        if self._job is None or not self._zoo:
            for name, value in (("rows", rows), ("epochs", epochs), ("batch_size", batch_size)):
                if value is not None:
                    raise TypeError(f"{name}: it is for a model of the zoo in a job; pass it to fit")

    @staticmethod
    def _text(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return ",".join(str(each) for each in value)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    def _start(self, model: _core.Model) -> None:
        self._model = model
        if self._job is None:
            self._executor = _core.Executor(model, self._threads, self._seed, self._deterministic)
        else:
            self._job._core.set_model(model, self._mode)

    def serve(self, init_model: Union[str, "os.PathLike[str]", None] = None) -> None:
        """A server of a job: serves until the trainers have ended. init_model: start from a saved model."""
        if self._job is None or not self._job.is_server:
            raise FailedPrecondition("serve: this process is not a server of a job")
        self._job._core.serve("" if init_model is None else os.fspath(init_model))

    def __enter__(self) -> "Trainer":
        """A trainer of a job connects to its servers; without a job nothing happens. In a function that
        flotilla.launch runs, a server serves here until the trainers have ended, and the function ends."""
        if self._job is not None:
            if self._job.is_server:
                if not in_launch():
                    raise FailedPrecondition("this process is a server of the job: call serve")
                self.serve()
                raise Served
            self._job._core.join()
            self._executor = _core.Executor(self.model, self._job._core, self._threads, self._seed)
            self._joined = True
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        """Leaves the job; an exception ends it for all processes, with the cause."""
        if self._joined and self._job is not None:
            self._joined = False
            self._job._core.leave("" if kind is None else f"{kind.__name__}: {error}")

    @property
    def model(self) -> _core.Model:
        """The model. One of the zoo exists after the first fit."""
        if self._model is None:
            raise FailedPrecondition(f"the model {self._zoo} takes its inputs from the rows: call fit first")
        return self._model

    @property
    def _engine(self) -> _core.Executor:
        if os.getpid() != self._process:
            raise FailedPrecondition("a trainer cannot be used in a forked process: make it there")
        self.model
        if self._executor is None:
            raise FailedPrecondition("a trainer of a job must join it first: `with trainer:`")
        return self._executor

    def fit(self, train: Any, *, epochs: Optional[int] = None, batch_size: Optional[int] = None,
            test: Any = None, out: Union[str, "os.PathLike[str]", None] = None, keep: int = 3,
            save_every_steps: int = 0, save_every_minutes: float = 0, resume: bool = False,
            overwrite: bool = False, watch: str = "", early_stop: int = 0, plateau: int = 0,
            max_bad_batches: int = 10,
            callbacks: Sequence[Callback] = (), progress: Optional[bool] = None) -> History:
        """Trains epochs over the rows; a second call goes on.

        train, test: a Dataset, a dict of arrays, a data frame, or paths of files. With test rows every epoch ends with a
        test. out: a directory for the models, of which `keep` recent ones and the best are kept; that of
        another run is refused unless resume or overwrite. epochs: default 1, for the zoo that of the
        recipe; with resume, those of the whole run. watch: the metric that tells the better model.
        early_stop: end after so many epochs without a better one. plateau: lower the learning rate then.
        max_bad_batches: so many batches of an epoch whose loss or gradients are NaN or infinite are left
        out, with a warning; one more raises FailedPrecondition. history["bad_batches"] counts them.
        progress: show a bar, of tqdm if it is installed (default: in a notebook, and if standard error is a
        terminal).

        Ctrl-C stops the run after its batch, saves in `out` what resume continues, and raises
        KeyboardInterrupt."""
        if os.getpid() != self._process:
            raise FailedPrecondition("a trainer cannot be used in a forked process: make it there")
        self._check_counts(epochs, batch_size)
        rows = self._dataset(train)
        tests = None if test is None else self._dataset(test)
        if tests is not None and tests.in_files != rows.in_files:
            raise TypeError("train and test rows must both be in files or both in arrays")
        if isinstance(tests, _Files) and isinstance(rows, _Files):
            rows._check_same(tests)
        options = self._options()
        zoo = self._model is None
        options.epochs = epochs or self._epochs or (0 if zoo else 1)
        options.batch_size = batch_size or (0 if zoo else self._batch_size)
        options.watch = watch
        options.early_stop = early_stop
        options.max_bad_batches = max_bad_batches
        options.plateau = plateau
        options.keep.out = "" if out is None else os.fspath(out)
        options.keep.keep = keep
        options.keep.every_steps = save_every_steps
        options.keep.every_minutes = save_every_minutes
        options.keep.resume = resume
        options.keep.overwrite = overwrite
        rows._fill(options.data)
        if self._zoo and not zoo:
            options.data.format, options.data.format_params = "", {}  # the model has it
        if progress is None:
            progress = shows_progress()
        used = [*callbacks, *([ProgressBar()] if progress else [])]
        listener = Listener(self, used)
        if zoo:
            assert isinstance(rows, _Files)
            rows._describe(options.data)
            options = self._make_zoo(options, listener)
        history = History()
        for each in used:
            each.on_begin(self)
        try:
            given = self._given(rows, tests, options.data, listener)
            result = self._engine.fit(options, *given, listener)
        finally:
            history.epochs = listener.epochs
            for each in used:
                each.on_end(self)
        history.watch = result["watch"]
        history.steps = result["steps"]
        history.stopped = result["stopped"]
        if result["best_epoch"] >= 0:
            history.best, history.best_epoch = result["best"], result["best_epoch"]
        return history

    def _check_counts(self, epochs: Optional[int], batch_size: Optional[int]) -> None:
        for name, value, made in (("epochs", epochs, self._epochs),
                                  ("batch_size", batch_size, self._batch_size if self._epochs else None)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
            if value is not None and made is not None and value != made:
                raise ValueError(f"{name} is {value}, but the model was made for {made}: its learning rate depends on "
                                 f"it. Pass {name} to Trainer")

    def _given(self, train: Dataset, test: Optional[Dataset], data: _core.DataOptions,
               listener: Listener) -> tuple[Optional[_core.Rows], Optional[_core.Rows]]:
        """The rows of a run; None: they are in the files of `data`, as all rows of a job that shares them are."""
        if isinstance(train, _Files) and (self._job is not None or not (train.has_columns and
                                                                        (test is None or test.has_columns))):
            data.train = train.paths()
            data.test = test.paths() if isinstance(test, _Files) else []
            return None, None
        given = [None if each is None else each._rows(self.model) for each in (train, test)]
        for rows in given:
            if rows is not None and rows.note:
                listener.on_log(0, rows.note)
        return given[0], given[1]

    def _dataset(self, rows: Any) -> Dataset:
        dataset = as_dataset(rows)
        return dataset._for_zoo(self._zoo) if self._zoo else dataset

    def _options(self) -> _core.TrainOptions:
        options = _core.TrainOptions()
        options.model_name = self._zoo or "model"
        options.threads = self._threads
        options.seed = self._seed
        options.deterministic = self._deterministic
        return options

    def _make_zoo(self, options: _core.TrainOptions, listener: Listener) -> _core.TrainOptions:
        job = self._job._core if self._job is not None else None
        model, options = _core.make_zoo(self._zoo, self._flags, options, job, self._mode, listener)
        self._start(model)
        self._batch_size = options.batch_size
        return options

    def _make_zoo_for_job(self, rows: Any, epochs: Optional[int], batch_size: Optional[int]) -> None:
        if rows is None:
            raise TypeError(f"the model {self._zoo} takes its inputs from rows, which servers do not see: pass "
                            "Trainer the training files, rows=.., in every process")
        self._check_counts(epochs, batch_size)
        dataset = as_dataset(rows)._for_zoo(self._zoo)
        options = self._options()
        options.epochs = epochs or 0
        options.batch_size = batch_size or 0
        dataset._describe(options.data)
        self._epochs = self._make_zoo(options, Listener(self)).epochs

    def evaluate(self, rows: Any, batch_size: int = 1000) -> dict[str, float]:
        """The loss and the metrics of rows: a Dataset, a dict of arrays, a data frame, or paths of files, which
        are read as the rows that were trained on."""
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        engine, dataset = self._engine, self._dataset(rows)
        data = self._options().data
        dataset._fill(data)
        if self._zoo:
            data.format, data.format_params = "", {}  # the model has it
        listener = Listener(self)
        if isinstance(dataset, _Files) and (self._job is not None or not dataset.has_columns):
            data.test = dataset.paths()
            return engine.evaluate(None, data, batch_size, listener)
        return engine.evaluate(dataset._rows(self.model), data, batch_size, listener)

    def predict(self, rows: Any) -> "numpy.ndarray[Any, Any]":
        """The predictions for rows in arrays, which need no labels: (rows,) or (rows, classes)."""
        if is_frame(rows) and not self._zoo:
            rows = columns_of(rows, self.model)
        if not isinstance(rows, Mapping):
            raise TypeError(f"predict takes a dict of arrays by the names of the inputs, not {type(rows).__name__}")
        return self._engine.predict(dict(rows))

    def feed(self) -> Feed:
        """A pass over batches of one's own: `with trainer.feed() as step:`."""
        self._engine
        return Feed(self)

    def run(self, feed: Mapping[str, Any], fetch: Sequence[Fetch]) -> list["numpy.ndarray[Any, Any]"]:
        """Values of the graph for a batch, in inference mode."""
        return self._engine.step(dict(feed), list(fetch), False)

    def parameter(self, name: str) -> "numpy.ndarray[Any, Any]":
        """A parameter by name."""
        return self._engine.parameter(name)

    def set_parameter(self, name: str, values: Any) -> None:
        """Replaces a dense parameter."""
        self._engine.set_parameter(name, values)

    def table(self, name: str) -> Table:
        """A sparse table by name."""
        if name not in self.model.tables:
            raise ValueError(f"there is no table {name!r}, only {self.model.tables}")
        self._engine
        return Table(self, name)

    def save(self, dir: Union[str, "os.PathLike[str]"], *, inference: bool = False) -> None:
        """Saves the model; with inference only what predictions need."""
        self._engine.save(os.fspath(dir), inference)

    def load(self, dir: Union[str, "os.PathLike[str]"], *, allow_missing: bool = False) -> list[str]:
        """Replaces the parameters by those of a saved model; on an error they stay as they are. dir: a model,
        or the `out` of a fit, whose newest model is loaded. allow_missing: it may lack parameters, which have
        their initial values then; their names are returned. Not in a callback of fit, which trains the
        parameters that there are."""
        if self._job is not None:
            raise FailedPrecondition("load: pass init_model to serve, where the parameters of a job live")
        self._engine.check_idle("load")
        loaded = _core.Executor(self.model, self._threads, self._seed, self._deterministic)
        missing = loaded.load(os.fspath(dir), allow_missing)
        self._engine.check_idle("load")  # another thread may have begun meanwhile
        self._executor = loaded
        return missing
