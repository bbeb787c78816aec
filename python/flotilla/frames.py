"""Data frames as the columns that the engine reads. A value is its text, whatever its type: ids come from
category values, never from codes, so a frame and the CSV file of it have the same ids."""

from __future__ import annotations

import csv
import io
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


def _times(series: Any) -> "numpy.ndarray[Any, Any]":
    """The texts of times and durations as pandas writes them into a file: what one looks like depends on the others of
    the column (2020-01-01 if all of them are days, else 2020-01-01 00:00:00)."""
    written = series.to_frame().to_csv(index=False, header=False, chunksize=max(1, len(series)))
    return numpy.array([*(row[0] or None for row in csv.reader(io.StringIO(written))), None], dtype=object)[:-1]


def _categories(categories: Any) -> list[Any]:
    """The texts of the categories of a column."""
    if categories.dtype.kind in "mM":
        return list(_times(categories.to_series()))
    values = list(categories.tolist())  # numbers as doubles, as pandas writes categories
    return values if set(map(type, values)) <= {str} else [_text(value) for value in values]


def _column(name: Any, series: Any) -> tuple[Any, ...]:
    kind = getattr(series.dtype, "kind", "O")
    if str(series.dtype) == "category":
        return str(name), series.array.codes, _categories(series.cat.categories)
    if kind in "mM":
        return str(name), _times(series)
    numeric = isinstance(series.dtype, numpy.dtype)
    if numeric and kind == "b":
        return str(name), series.to_numpy().view(numpy.uint8), ["False", "True"]
    if numeric and (kind in "iu" or str(series.dtype) in ("float32", "float64")):
        return str(name), series.to_numpy()
    if numeric and kind == "f":  # of another precision, and so with other digits
        return str(name), _texts([*series.to_numpy()])
    if str(series.dtype) in ("Float32", "Float64"):  # with missing values of pandas
        return str(name), series.to_numpy(dtype=str(series.dtype).lower(), na_value=numpy.nan)
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
