"""How good vectors are: analogies, and similarities of pairs of words."""

from __future__ import annotations

import collections
import logging
import os
from typing import TYPE_CHECKING, Any, Mapping, Optional

import numpy

from .corpora import Path, open_text
from .saved import Array

if TYPE_CHECKING:
    from .keyedvectors import KeyedVectors

_log = logging.getLogger("flotilla")
# Numbers of a matrix of similarities that is computed at once.
_BLOCK = 1 << 24


def _fold(case_insensitive: bool) -> Any:
    def upper(key: Any) -> Any:
        return str(key).upper()

    return upper if case_insensitive else lambda key: key


def _folded(vectors: "KeyedVectors", restrict_vocab: Optional[int], fold: Any) -> tuple[Array, dict[Any, int]]:
    """For each of the first keys, the first key that is the same; and its row by the folded key."""
    rows: dict[Any, int] = {}
    same = [rows.setdefault(fold(key), i) for i, key in enumerate(vectors.index_to_key[:restrict_vocab])]
    return numpy.array(same, dtype=numpy.int64), rows


def _sections(path: Path, fold: Any) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """The sections of a file of analogies and their questions, folded."""
    sections: list[tuple[str, list[tuple[Any, ...]]]] = []
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.startswith(":"):
                sections.append((line[1:].strip(), []))
                continue
            words = tuple(fold(word) for word in line.split())
            if not words:
                continue
            if not sections:
                raise ValueError(f"{os.fspath(path)}:{number}: there is no section `: name` before {line[:60]!r}")
            if len(words) != 4:
                _log.warning("%s:%d: skipped, expected 4 words, found %r", path, number, line[:60])
                continue
            sections[-1][1].append(words)
    return sections


def _answers(questions: list[tuple[Any, ...]], rows: Mapping[Any, int], same: Array,
             members: Mapping[int, list[int]], normed: Array) -> list[bool]:
    """Whether the key nearest to b - a + c, other than these three, is the expected one."""
    right: list[bool] = []
    step = max(1, _BLOCK // max(1, len(normed)))
    for start in range(0, len(questions), step):
        block = [tuple(rows[word] for word in question) for question in questions[start:start + step]]
        a, b, c, _ = numpy.array(block).T
        scores = (normed[b] - normed[a] + normed[c]) @ normed.T
        for i, (*given, _) in enumerate(block):
            for key in given:
                scores[i, members[key]] = -numpy.inf
        best = same[scores.argmax(axis=1)]
        right += [int(found) == expected for found, (*_, expected) in zip(best, block)]
    return right


def analogies(vectors: "KeyedVectors", path: Path, restrict_vocab: Optional[int], case_insensitive: bool,
              dummy4unknown: bool) -> tuple[float, list[dict[str, Any]]]:
    """KeyedVectors.evaluate_word_analogies."""
    fold = _fold(case_insensitive)
    same, rows = _folded(vectors, restrict_vocab, fold)
    members = collections.defaultdict(list)
    for i, first in enumerate(same):
        members[int(first)].append(i)
    normed = vectors.get_normed_vectors()[:restrict_vocab]
    sections: list[dict[str, Any]] = []
    for name, questions in _sections(path, fold):
        known = [question for question in questions if all(word in rows for word in question)]
        right = iter(_answers(known, rows, same, members, normed))
        section: dict[str, Any] = {"section": name, "correct": [], "incorrect": []}
        for question in questions:
            if all(word in rows for word in question):
                section["correct" if next(right) else "incorrect"].append(question)
            elif dummy4unknown:
                section["incorrect"].append(question)
        sections.append(section)
    total: dict[str, Any] = {"section": "Total accuracy"}
    for kind in ("correct", "incorrect"):
        total[kind] = [question for section in sections for question in section[kind]]
    sections.append(total)
    asked = len(total["correct"]) + len(total["incorrect"])
    return (len(total["correct"]) / asked if asked else 0.0), sections


def pairs(vectors: "KeyedVectors", path: Path, delimiter: str, encoding: str, restrict_vocab: Optional[int],
          case_insensitive: bool, dummy4unknown: bool) -> tuple[Any, Any, float]:
    """KeyedVectors.evaluate_word_pairs."""
    try:
        from scipy import stats  # type: ignore
    except ImportError as error:
        raise ImportError("evaluate_word_pairs needs scipy (Debian: python3-scipy)") from error
    fold = _fold(case_insensitive)
    _, rows = _folded(vectors, restrict_vocab, fold)
    gold: list[float] = []
    ours: list[float] = []
    unknown = 0
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            try:
                a, b, score = (part.strip() for part in line.rstrip("\n").split(delimiter))
                value = float(score)
            except ValueError:
                _log.warning("%s:%d: skipped, expected word, word and score, found %r", path, number, line[:60])
                continue
            one, two = rows.get(fold(a)), rows.get(fold(b))
            known = one is not None and two is not None
            unknown += not known
            if known or dummy4unknown:
                gold.append(value)
                ours.append(float(vectors.similarity(one, two)) if known else 0.0)
    if not gold:
        raise ValueError(f"{os.fspath(path)}: none of {unknown} pairs has two known words")
    asked = len(gold) if dummy4unknown else len(gold) + unknown
    return stats.pearsonr(gold, ours), stats.spearmanr(gold, ours), 100.0 * unknown / asked
