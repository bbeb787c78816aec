"""What a program hears of a run, on the thread that called fit."""

from __future__ import annotations

import logging
import math
import sys
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

if TYPE_CHECKING:
    from .trainer import Trainer

_log = logging.getLogger("flotilla")


class Callback:
    """Override what you need. An exception ends the run and comes out of fit."""

    #: on_step is called at most every N steps (0: never), and about 20 times a second at most. Training goes on
    #: meanwhile and is never held up, so that short steps pass between two calls: a call tells of the latest one.
    every_steps = 0

    def on_begin(self, trainer: "Trainer") -> None:
        """Before the first step."""

    def on_step(self, trainer: "Trainer", progress: Mapping[str, Any]) -> None:
        """After at least every_steps further steps, with the latest progress: epoch, step, batches, rows, epoch_rows,
        loss, seconds. Not at every multiple of every_steps."""

    def on_epoch_end(self, trainer: "Trainer", epoch: int, metrics: Mapping[str, float]) -> Optional[bool]:
        """metrics as in History. True ends the run after this epoch."""

    def on_end(self, trainer: "Trainer") -> None:
        """After the last step, also of a run that was stopped."""


class EarlyStopping(Callback):
    """Ends a run after `patience` epochs without a better value of a metric."""

    #: Metrics of which smaller values are better.
    SMALLER = ("loss", "logloss", "ne", "rmse", "mae")

    def __init__(self, metric: str, patience: int = 1, larger_is_better: Optional[bool] = None) -> None:
        if patience < 1:
            raise ValueError(f"patience must be at least 1, not {patience}")
        self.metric = metric
        self.patience = patience
        self.larger_is_better = larger_is_better
        self.best = math.nan
        self._waited = 0

    def on_begin(self, trainer: "Trainer") -> None:
        self.best, self._waited = math.nan, 0

    def on_epoch_end(self, trainer: "Trainer", epoch: int, metrics: Mapping[str, float]) -> bool:
        name = f"test_{self.metric}" if f"test_{self.metric}" in metrics else self.metric
        if name not in metrics:
            raise ValueError(f"EarlyStopping: there is no metric {self.metric}, only {sorted(metrics)}")
        larger = self.larger_is_better
        if larger is None:
            larger = self.metric.removeprefix("test_") not in self.SMALLER
        value = metrics[name]
        if math.isnan(self.best) or (value > self.best if larger else value < self.best):
            self.best, self._waited = value, 0
        else:
            self._waited += 1
        return self._waited >= self.patience


def _in_notebook() -> bool:
    """Whether this is a notebook, without importing IPython."""
    if "IPython" not in sys.modules:
        return False
    shell = getattr(sys.modules["IPython"], "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def shows_progress() -> bool:
    """Whether someone sees a progress bar."""
    return sys.stderr.isatty() or _in_notebook()


class ProgressBar(Callback):
    """Shows a run: a bar of tqdm for each epoch, or without tqdm a line on standard error that is rewritten, and
    the metrics of each epoch. In a notebook without tqdm only the metrics."""

    every_steps = 1

    def __init__(self) -> None:
        self._bar: Any = None
        self._line = False

    def on_begin(self, trainer: "Trainer") -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore
        except ImportError:
            tqdm = None
        self._tqdm = tqdm

    def on_step(self, trainer: "Trainer", progress: Mapping[str, Any]) -> None:
        if self._tqdm is None:
            if not _in_notebook():
                self._write_line(progress)
            return
        if self._bar is None:
            self._bar = self._tqdm(total=progress["epoch_rows"] or None, unit="rows", unit_scale=True, leave=False,
                                   desc=f"epoch {progress['epoch']}")
        self._bar.set_postfix(loss=f"{progress['loss']:.4f}", refresh=False)
        self._bar.update(progress["rows"] - self._bar.n)

    def on_epoch_end(self, trainer: "Trainer", epoch: int, metrics: Mapping[str, float]) -> None:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items() if name not in
                          ("rows", "seconds", "bad_batches", "test_rows", "test_seconds"))
        self._clear()
        sys.stderr.write(f"epoch {epoch}: {shown}\n")

    def on_end(self, trainer: "Trainer") -> None:
        self._clear()

    def _write_line(self, progress: Mapping[str, Any]) -> None:
        text = f"epoch {progress['epoch']}: {progress['rows']:,} rows, loss {progress['loss']:.4f}"
        if progress["seconds"] > 0:
            text += f", {progress['rows'] / progress['seconds']:,.0f} rows/s"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self._line = True

    def _clear(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._line:
            sys.stderr.write("\r\x1b[K")
            self._line = False


class Listener:
    """What the engine tells, passed on to callbacks. Without a trainer there are none."""

    def __init__(self, trainer: Optional["Trainer"], callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = [] if trainer is None else [(trainer, each) for each in callbacks]
        self.epochs: list[dict[str, float]] = []
        self._told = {id(each): 0 for _, each in self.callbacks}

    def on_log(self, level: int, message: str) -> None:
        _log.log((logging.INFO, logging.WARNING, logging.ERROR)[level], message)

    def on_progress(self, progress: Mapping[str, Any]) -> None:
        for trainer, each in self.callbacks:
            if each.every_steps > 0 and progress["step"] >= self._told[id(each)] + each.every_steps:
                self._told[id(each)] = progress["step"]
                each.on_step(trainer, progress)

    def on_epoch(self, epoch: int, train: Mapping[str, float], test: Optional[Mapping[str, float]]) -> bool:
        metrics = dict(train)
        for name, value in (test or {}).items():
            metrics[f"test_{name}"] = value
        self.epochs.append({"epoch": epoch, **metrics})
        stop = False
        for trainer, each in self.callbacks:
            if each.on_epoch_end(trainer, epoch, metrics):
                stop = True
        return stop
