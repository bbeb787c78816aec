"""What generators yield, as batches that the engine reads."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, Sequence

import numpy

#: Rows that are gathered before they are converted.
_ROWS = 1024


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, numpy.generic)) or (isinstance(value, numpy.ndarray) and value.ndim == 0)


def _by_name(item: Any, inputs: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(item, Mapping):
        return item
    if not isinstance(item, (tuple, list)):
        raise TypeError(f"a generator yields dicts or tuples in the order of the inputs, not {type(item).__name__}")
    if len(item) != len(inputs):
        raise ValueError(f"a generator yielded {len(item)} values for the {len(inputs)} inputs {', '.join(inputs)}")
    return dict(zip(inputs, item))


def _array(values: list[Any]) -> "numpy.ndarray[Any, Any]":
    array = numpy.asarray(values)
    if array.dtype.kind not in "fO" or not all(isinstance(value, (int, numpy.integer)) for value in values):
        return array
    # Ids of which some are above 2^63; numpy would make them floats.
    return numpy.asarray(values, dtype=numpy.uint64) if min(values, default=0) >= 0 else array


def _column(values: list[Any]) -> Any:
    if all(map(_is_number, values)):
        return _array(values)
    lists = [[value] if _is_number(value) else value for value in values]
    sizes = [len(each) for each in lists]
    flat = _array([value for each in lists for value in each])
    if min(sizes) == max(sizes) > 0:
        return flat.reshape(len(lists), sizes[0])
    return flat, numpy.cumsum([0, *sizes])


def _gathered(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    names = rows[0].keys()
    for row in rows:
        if row.keys() != names:
            raise ValueError(f"a generator yielded a row with {', '.join(row)} after one with {', '.join(names)}")
    return {name: _column([row[name] for row in rows]) for name in names}


def batches(items: Iterable[Any], inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Batches as dicts of arrays: batches as they are, rows gathered. A row has a number for at least one input,
    which is an array in a batch."""
    rows: list[Mapping[str, Any]] = []
    for item in items:
        named = _by_name(item, inputs)
        if any(map(_is_number, named.values())):
            rows.append(named)
            if len(rows) < _ROWS:
                continue
            named = _gathered(rows)
            rows = []
        elif rows:
            yield _gathered(rows)
            rows = []
        yield dict(named)
    if rows:
        yield _gathered(rows)
