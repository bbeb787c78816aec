"""Training without the choice of a model."""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Union

from . import _core
from .callbacks import Listener
from .dataset import Path, as_dataset


def train_auto(train: Any, *, test: Any = None, out: Optional[Path] = None, overwrite: bool = False,
               holdout: Union[float, str] = 0.1, threads: Optional[int] = None, seed: int = 0,
               deterministic: bool = False) -> dict[str, Any]:
    """Chooses a model of the zoo by a race of a few on held-back rows and trains it, or the mean of the two best,
    on all rows: `flotilla train auto`.

    train, test: a Dataset, a data frame, an Arrow stream, or paths of files; the rows stay in memory. out: a
    directory for the model, which flotilla.Predictor reads. holdout: the share of the rows that is held back,
    "last:SHARE" for the last ones, "random:SHARE" for random ones (default: the last ones if a time column says
    that rows are in the order of time).

    Returns the results as the command's --json: the metrics, `race` and `chosen`. Messages go to
    logging.getLogger("flotilla")."""
    from .trainer import _cores

    share, last = _holdout(holdout)
    rows = as_dataset(train)._for_zoo("auto")
    options = _core.TrainOptions()
    options.model_name = "auto"
    options.threads = _cores() if threads is None else threads
    if options.threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    options.seed = seed
    options.deterministic = deterministic
    options.keep.out = "" if out is None else os.fspath(out)
    options.keep.overwrite = overwrite
    rows._fill(options.data)
    options.data.train = rows.paths()
    if not options.data.in_memory:
        raise ValueError("in_memory: train_auto keeps the rows in memory; use a sample of them")
    if test is not None:
        tests = as_dataset(test)._for_zoo("auto")
        rows._check_same(tests)
        options.data.test = tests.paths()
    result: dict[str, Any] = json.loads(_core.train_auto(options, share, last, Listener(None)))
    return result


def _holdout(holdout: Union[float, str]) -> tuple[float, Optional[bool]]:
    last = None
    share: Any = holdout
    if isinstance(holdout, str):
        kind, _, text = holdout.rpartition(":")
        last = {"last": True, "random": False, "": None}.get(kind)
        share = text if last is not None or not kind else ""
    try:
        value = float(share)
    except (TypeError, ValueError):
        value = 0
    if not 0 < value < 1:
        raise ValueError(f"holdout: {holdout!r} is not a share between 0 and 1, or 'last:SHARE' or 'random:SHARE'")
    return value, last
