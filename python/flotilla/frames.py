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
    """Texts as they are, where everything else is missing; otherwise the texts of all values."""
    array = numpy.asarray(values, dtype=object)
    types = set(map(type, array))
    if types <= {str, type(None)} or (types <= {str, type(None), float} and
                                      all(value != value for value in array if type(value) is float)):
        return array
    return numpy.array([*map(_text, array), None], dtype=object)[:-1]


def _column(name: Any, series: Any) -> tuple[Any, ...]:
    kind = getattr(series.dtype, "kind", "O")
    if str(series.dtype) == "category":
        values = series.cat.categories.tolist()
        texts = values if set(map(type, values)) <= {str} else [_text(value) for value in values]
        return str(name), series.array.codes, texts
    numeric = isinstance(series.dtype, numpy.dtype)
    if numeric and kind == "b":
        return str(name), series.to_numpy().view(numpy.uint8), ["False", "True"]
    if numeric and (kind in "iu" or str(series.dtype) in ("float32", "float64")):
        return str(name), series.to_numpy()
    return str(name), _texts(series)


def check_names(rows: Any) -> None:
    """Raises if two columns of a data frame have one name."""
    names = [str(name) for name in rows.columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the data frame has two columns {name!r}")


def frame_of(rows: Any) -> _core.Frame:
    """The columns of a data frame. The frame keeps the arrays that it reads alive."""
    check_names(rows)
    return _core.Frame([_column(name, rows[name]) for name in rows.columns])
