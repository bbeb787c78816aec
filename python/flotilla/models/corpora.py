"""Sentences in files: iterables that can be read again and again."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
from typing import IO, Any, Iterator, Optional, Union

Path = Union[str, "os.PathLike[str]"]

#: Longer lines are divided.
MAX_WORDS_IN_BATCH = 10000

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_text(path: Path, encoding: str = "utf-8") -> IO[str]:
    """A file as text; .gz, .bz2 and .xz are decompressed."""
    name = os.fspath(path)
    if name.endswith(".zst"):
        raise ValueError(f"{name}: Python reads no .zst; pass it as corpus_file, which the engine reads")
    opener = _OPENERS.get(os.path.splitext(name)[1], open)
    file: IO[str] = opener(name, "rt", encoding=encoding)
    return file


def _check_length(max_sentence_length: int) -> int:
    if max_sentence_length < 1:
        raise ValueError(f"max_sentence_length must be at least 1, not {max_sentence_length}")
    return max_sentence_length


class LineSentence:
    """The lines of a file as lists of words, separated by blanks. source: a path (plain, .gz, .bz2, .xz) or a
    file that can be rewound. Lines of more than max_sentence_length words are divided. limit: only the first
    lines."""

    def __init__(self, source: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH,
                 limit: Optional[int] = None) -> None:
        self.source = source
        self.max_sentence_length = _check_length(max_sentence_length)
        self.limit = limit

    def __iter__(self) -> Iterator[list[str]]:
        if hasattr(self.source, "seek"):
            self.source.seek(0)
            yield from self._sentences(self.source)
        else:
            with open_text(self.source) as file:
                yield from self._sentences(file)

    def _sentences(self, file: Any) -> Iterator[list[str]]:
        for line in itertools.islice(file, self.limit):
            words = (line.decode("utf-8") if isinstance(line, bytes) else line).split()
            for start in range(0, len(words), self.max_sentence_length):
                yield words[start:start + self.max_sentence_length]


class PathLineSentences:
    """The lines of all files of a directory, in the order of their names, or of one file; otherwise as
    LineSentence. limit: only the first lines of each file."""

    def __init__(self, source: Path, max_sentence_length: int = MAX_WORDS_IN_BATCH,
                 limit: Optional[int] = None) -> None:
        self.source = os.fspath(source)
        self.max_sentence_length = _check_length(max_sentence_length)
        self.limit = limit
        if os.path.isdir(self.source):
            names = sorted(os.path.join(self.source, name) for name in os.listdir(self.source))
            self.input_files = [name for name in names if os.path.isfile(name)]
        elif os.path.isfile(self.source):
            self.input_files = [self.source]
        else:
            raise ValueError(f"{self.source} is neither a file nor a directory")

    def __iter__(self) -> Iterator[list[str]]:
        for name in self.input_files:
            yield from LineSentence(name, self.max_sentence_length, self.limit)


class Text8Corpus:
    """A file without lines, as text8, as sentences of max_sentence_length words."""

    def __init__(self, fname: Path, max_sentence_length: int = MAX_WORDS_IN_BATCH) -> None:
        self.fname = os.fspath(fname)
        self.max_sentence_length = _check_length(max_sentence_length)

    def __iter__(self) -> Iterator[list[str]]:
        with open_text(self.fname) as file:
            words: list[str] = []
            rest = ""
            while chunk := file.read(1 << 20):
                chunk = rest + chunk
                # The last word may go on in the next chunk.
                parts = chunk.split()
                rest = "" if not parts or chunk[-1].isspace() else parts.pop()
                words += parts
                whole = len(words) - len(words) % self.max_sentence_length
                for start in range(0, whole, self.max_sentence_length):
                    yield words[start:start + self.max_sentence_length]
                words = words[whole:]
            if rest:
                words.append(rest)
            if words:
                yield words
