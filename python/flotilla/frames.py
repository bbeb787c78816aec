"""Data frames as the columns that the engine reads. A value is its text, whatever its type: ids come from
category values, never from codes, so a frame and the CSV file of it have the same ids."""

from __future__ import annotations

from typing import Any

import numpy

from . import _core


def is_frame(rows: Any) -> bool:
    """Whether these are the rows of a pandas data frame, without importing pandas."""
    return hasattr(rows, "dtypes") and hasattr(rows, "columns") and hasattr(rows, "iloc")


def _text(value: Any) -> Any:
    """The text of a value of any type; None: it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (float, numpy.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _texts(values: Any) -> "numpy.ndarray[Any, Any]":
    array = numpy.asarray(values, dtype=object)
    if all(type(value) is str for value in array):
        return array
    return numpy.array([*map(_text, array), None], dtype=object)[:-1]


def _column(name: Any, series: Any) -> tuple[Any, ...]:
    kind = getattr(series.dtype, "kind", "O")
    if str(series.dtype) == "category":
        codes = numpy.ascontiguousarray(series.cat.codes, dtype=numpy.int64)
        return str(name), codes, [_text(value) for value in series.cat.categories]
    numeric = isinstance(series.dtype, numpy.dtype)
    if numeric and kind == "b":
        return str(name), numpy.ascontiguousarray(series, dtype=numpy.int64), ["False", "True"]
    if numeric and kind in "iu" and str(series.dtype) != "uint64":
        return str(name), numpy.ascontiguousarray(series, dtype=numpy.int64)
    if numeric and kind == "f":
        return str(name), numpy.ascontiguousarray(series, dtype=numpy.float64)
    return str(name), _texts(series)


def frame_of(rows: Any) -> _core.Frame:
    """The columns of a data frame. The frame keeps the arrays that it reads alive."""
    names = [str(name) for name in rows.columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the data frame has two columns {name!r}")
    return _core.Frame([_column(name, rows[name]) for name in rows.columns])
