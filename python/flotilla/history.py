"""The curves of a run."""

from __future__ import annotations

import importlib
from typing import Any, Iterator, Optional


class History:
    """The metrics after each epoch: history["test_auc"] is a list with one value per epoch."""

    def __init__(self) -> None:
        #: One dict per epoch: epoch, loss, metrics, and with test rows test_loss, test_..
        self.epochs: list[dict[str, float]] = []
        #: The metric by which models are compared; empty: none.
        self.watch = ""
        #: Its best test value and the epoch of it; None: there is none.
        self.best: Optional[float] = None
        self.best_epoch: Optional[int] = None
        #: Whether the run was stopped before its end.
        self.stopped = False
        #: Number of updates so far.
        self.steps = 0

    def __getitem__(self, name: str) -> list[float]:
        return [each[name] for each in self.epochs]

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self.epochs)

    def __len__(self) -> int:
        return len(self.epochs)

    def __repr__(self) -> str:
        if not self.epochs:
            return "<flotilla.History of no epoch>"
        last = ", ".join(f"{name} {value:.4f}" for name, value in self.epochs[-1].items()
                         if name not in ("epoch", "rows", "seconds", "bad_batches", "test_rows", "test_seconds"))
        return f"<flotilla.History of {len(self.epochs)} epochs: {last}>"

    def plot(self, metric: Optional[str] = None) -> Any:
        """Draws a metric of training and test with matplotlib, by default the watched one or the loss; returns
        the axes."""
        # Only some versions of matplotlib have types.
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
        ticker: Any = importlib.import_module("matplotlib.ticker")

        metric = metric or self.watch or "loss"
        known = sorted({name for each in self.epochs for name in each} - {"epoch"})
        if self.epochs and metric not in known:
            raise ValueError(f"there is no metric {metric!r}, only {', '.join(known)}")
        axes = pyplot.gca()
        for name in (metric, f"test_{metric}"):
            if name in known:
                axes.plot(self["epoch"], self[name], marker=".", label=name)
        axes.set_xlabel("epoch")
        axes.set_ylabel(metric)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        if self.epochs:
            axes.legend()
        return axes
