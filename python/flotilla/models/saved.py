"""How models and vectors are kept in files, and words in the engine."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Sequence

import numpy

from .corpora import Path

Array = numpy.ndarray[Any, Any]


def write_bundle(path: Path, kind: str, fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Writes `path`, a JSON object, and for each array `path.NAME.npy`; each file replaces an old one at once."""
    name = os.fspath(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name} is a directory: save to a file")
    for each, array in arrays.items():
        with open(f"{name}.{each}.npy.part", "wb") as file:
            numpy.save(file, array, allow_pickle=False)
        os.replace(f"{name}.{each}.npy.part", f"{name}.{each}.npy")
    with open(f"{name}.part", "w", encoding="utf-8") as text:
        # Numbers of numpy are numbers as well.
        json.dump({"format": kind, **fields, "arrays": sorted(arrays)}, text, default=lambda value: value.item())
    os.replace(f"{name}.part", name)


def read_bundle(path: Path, kind: str, mmap: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What write_bundle has written: the fields and the arrays."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as text:
            fields = json.load(text)
    except (UnicodeDecodeError, json.JSONDecodeError):
        fields = None
    if not isinstance(fields, dict) or fields.get("format") != kind:
        found = fields.get("format") if isinstance(fields, dict) else "another kind of file"
        raise ValueError(f"{name}: expected {kind!r}, found {found!r}. A model that gensim has saved: export its "
                         "vectors there with save_word2vec_format and read them with load_word2vec_format")
    arrays = {each: numpy.load(f"{name}.{each}.npy", mmap_mode=mmap, allow_pickle=False) for each in fields["arrays"]}
    return fields, arrays


def as_texts(words: Sequence[tuple[bytes, int]], encoding: str = "utf8", errors: str = "strict") -> list[str]:
    """The words of the engine as texts."""
    return [word.decode(encoding, errors) for word, _ in words]


def as_bytes(word: str) -> bytes:
    """A word for the engine."""
    return word.encode("utf-8", "surrogatepass")
