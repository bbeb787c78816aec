"""Vectors by key, for example the words of a Word2Vec model: similarities, evaluations, files."""

from __future__ import annotations

import logging
import os
import shutil
from typing import Any, Iterable, Mapping, NoReturn, Optional, Sequence

import numpy

from .. import _core
from . import evaluation
from .corpora import Path
from .saved import Array, as_bytes, as_texts, read_bundle, write_bundle

_log = logging.getLogger("flotilla")
_FORMAT = "flotilla vectors 1"
# Names of gensim 3.
_GONE = {"vocab": "key_to_index, index_to_key and get_vecattr(key, 'count')", "index2word": "index_to_key",
         "index2entity": "index_to_key", "syn0": "vectors", "vectors_norm": "get_normed_vectors()",
         "wv": "the vectors themselves"}


def _unit(vector: Array) -> Array:
    length = numpy.linalg.norm(vector)
    return numpy.asarray(vector / length if length > 0 else vector)


def _refuse_indexer(indexer: Any) -> None:
    if indexer is not None:
        raise ValueError("indexer: approximate search is not offered; leave it out, the search is exact")


class KeyedVectors:
    """Vectors by key. `vectors` is an array (keys, vector_size), row i belongs to `index_to_key[i]`."""

    def __init__(self, vector_size: int, *, dtype: Any = numpy.float32) -> None:
        self.vector_size = vector_size
        self.index_to_key: list[Any] = []
        self.key_to_index: dict[Any, int] = {}
        self.vectors: Array = numpy.zeros((0, vector_size), dtype=dtype)
        #: Lengths of the vectors, None until fill_norms.
        self.norms: Optional[Array] = None
        #: Further attributes of keys, as arrays: "count".
        self.expandos: dict[str, Array] = {}

    def __repr__(self) -> str:
        return f"KeyedVectors<vector_size={self.vector_size}, {len(self)} keys>"

    def __getattr__(self, name: str) -> NoReturn:
        if name in _GONE:
            raise AttributeError(f"KeyedVectors has no {name} since gensim 4: use {_GONE[name]}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    # ---- Keys and vectors ----

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, key: Any) -> bool:
        return self.has_index_for(key)

    def has_index_for(self, key: Any) -> bool:
        """Whether there is a vector of this key."""
        return self.get_index(key, -1) >= 0

    def get_index(self, key: Any, default: Optional[int] = None) -> int:
        """The row of a key; a whole number is a row itself. Without a default an unknown key is a KeyError."""
        index = self.key_to_index.get(key, -1)
        if index >= 0:
            return index
        if isinstance(key, (int, numpy.integer)) and 0 <= key < len(self):
            return int(key)
        if default is not None:
            return default
        raise KeyError(f"Key '{key}' not present: there are {len(self)} keys")

    def get_vector(self, key: Any, norm: bool = False) -> Array:
        """The vector of a key, read-only; with norm divided by its length."""
        index = self.get_index(key)
        vector: Array = self.vectors[index]
        if norm:
            self.fill_norms()
            assert self.norms is not None
            vector = vector / (self.norms[index] or 1)
        vector.setflags(write=False)
        return vector

    def word_vec(self, word: Any, norm: bool = False) -> Array:
        """get_vector."""
        return self.get_vector(word, norm)

    def __getitem__(self, key_or_keys: Any) -> Array:
        """The vector of a key, or the vectors of a list of keys as (keys, vector_size)."""
        if isinstance(key_or_keys, (str, int, numpy.integer)):
            return self.get_vector(key_or_keys)
        return numpy.asarray(self.vectors[[self.get_index(key) for key in key_or_keys]])

    def __setitem__(self, keys: Any, weights: Any) -> None:
        """Sets the vector of a key or the vectors of a list of keys; unknown keys are added."""
        if isinstance(keys, (str, int, numpy.integer)):
            keys, weights = [keys], numpy.asarray(weights).reshape(1, -1)
        self.add_vectors(keys, weights, replace=True)

    def add_vector(self, key: Any, vector: Any) -> int:
        """Adds a key; the result is its row."""
        self.add_vectors([key], numpy.asarray(vector).reshape(1, -1))
        return self.get_index(key)

    def add_vectors(self, keys: Sequence[Any], weights: Any, extras: Optional[Mapping[str, Any]] = None,
                    replace: bool = False) -> None:
        """Adds keys with their vectors (keys, vector_size) and attributes. Keys that are there keep their vectors
        unless replace."""
        if isinstance(keys, str):
            keys, weights = [keys], numpy.asarray(weights).reshape(1, -1)
        rows = numpy.asarray(weights, dtype=self.vectors.dtype)
        if rows.shape != (len(keys), self.vector_size):
            raise ValueError(f"add_vectors: {len(keys)} keys need vectors of the shape {(len(keys), self.vector_size)}, "
                             f"not {rows.shape}")
        extras = {name: numpy.asarray(values) for name, values in (extras or {}).items()}
        places = numpy.empty(len(keys), dtype=numpy.int64)
        fresh = numpy.zeros(len(keys), dtype=bool)
        for i, key in enumerate(keys):
            if not self.has_index_for(key):
                self.key_to_index[key] = len(self.index_to_key)
                self.index_to_key.append(key)
                fresh[i] = True
            places[i] = self.get_index(key)
        more = len(self) - len(self.vectors)
        if more > 0:
            self.vectors = numpy.concatenate([self.vectors, numpy.zeros((more, self.vector_size), self.vectors.dtype)])
        self.allocate_vecattrs({name: values.dtype for name, values in extras.items()})
        chosen = fresh | replace
        self.vectors[places[chosen]] = rows[chosen]
        for name, values in extras.items():
            self.expandos[name][places[chosen]] = values[chosen]
        self.norms = None

    def vectors_for_all(self, keys: Iterable[Any], copy_vecattrs: bool = False) -> "KeyedVectors":
        """The vectors of those of the keys that are known, each once, in the order in which they come."""
        known = [key for key in dict.fromkeys(keys) if key in self]
        rows = [self.get_index(key) for key in known]
        chosen = KeyedVectors(self.vector_size, dtype=self.vectors.dtype)
        extras = {name: values[rows] for name, values in self.expandos.items()} if copy_vecattrs else None
        chosen.add_vectors(known, self.vectors[rows], extras)
        return chosen

    # ---- Attributes of keys ----

    def allocate_vecattrs(self, attrs: Optional[Mapping[str, Any]] = None) -> None:
        """Makes attributes, of the given types, as long as the keys."""
        for name, kind in (attrs or {}).items():
            self.expandos.setdefault(name, numpy.zeros(0, dtype=kind))
        for name, values in self.expandos.items():
            if len(values) < len(self):
                more = numpy.zeros(len(self) - len(values), dtype=values.dtype)
                self.expandos[name] = numpy.concatenate([values, more])

    def set_vecattr(self, key: Any, attr: str, val: Any) -> None:
        """Sets an attribute of a key."""
        index = self.get_index(key)
        self.allocate_vecattrs({attr: numpy.asarray(val).dtype})
        self.expandos[attr][index] = val

    def get_vecattr(self, key: Any, attr: str) -> Any:
        """An attribute of a key: get_vecattr("king", "count") is how often the word occurred."""
        index = self.get_index(key)
        if attr not in self.expandos:
            raise KeyError(f"there is no attribute {attr!r}, only {sorted(self.expandos)}")
        return self.expandos[attr][index]

    def sort_by_descending_frequency(self) -> None:
        """Orders the keys by their count, equal counts as they are."""
        if "count" not in self.expandos:
            return
        order = numpy.argsort(-self.expandos["count"], kind="stable")
        self.index_to_key = [self.index_to_key[i] for i in order]
        self.key_to_index = {key: i for i, key in enumerate(self.index_to_key)}
        self.vectors = self.vectors[order]
        self.expandos = {name: values[order] for name, values in self.expandos.items()}
        self.norms = None

    # ---- Lengths ----

    def fill_norms(self, force: bool = False) -> None:
        """Computes the lengths of the vectors; with force again, after `vectors` has been changed by hand."""
        if self.norms is None or force or len(self.norms) != len(self.vectors):
            self.norms = numpy.linalg.norm(self.vectors, axis=1)

    def get_normed_vectors(self) -> Array:
        """A copy of all vectors, each divided by its length."""
        return numpy.asarray(self.vectors / self._lengths()[:, None])

    def unit_normalize_all(self) -> None:
        """Divides all vectors by their lengths, in place."""
        self.vectors /= self._lengths()[:, None]
        self.fill_norms(force=True)

    def _lengths(self) -> Array:
        """The lengths, 1 instead of 0."""
        self.fill_norms()
        assert self.norms is not None
        return numpy.where(self.norms > 0, self.norms, 1).astype(self.vectors.dtype)

    # ---- Similarities ----

    def get_mean_vector(self, keys: Sequence[Any], weights: Optional[Sequence[float]] = None, pre_normalize: bool = True,
                        post_normalize: bool = False, ignore_missing: bool = True) -> Array:
        """The weighted mean of the vectors of keys, or of vectors themselves. Unknown keys are left out, or an
        error."""
        if isinstance(keys, str):
            keys = [keys]
        given = numpy.ones(len(keys)) if weights is None else numpy.asarray(weights, dtype=numpy.float64)
        if len(keys) == 0:
            raise ValueError("get_mean_vector: there are no keys")
        if len(given) != len(keys):
            raise ValueError(f"get_mean_vector: {len(keys)} keys and {len(given)} weights")
        total: "numpy.ndarray[Any, Any]" = numpy.zeros(self.vector_size, dtype=self.vectors.dtype)
        weight = 0.0
        for key, factor in zip(keys, given):
            if isinstance(key, numpy.ndarray):
                vector = _unit(key) if pre_normalize else key
            elif key in self:
                vector = self.get_vector(key, norm=pre_normalize)
            elif ignore_missing:
                continue
            else:
                raise KeyError(f"Key '{key}' not present in vocabulary")
            total = total + factor * vector
            weight += abs(factor)
        mean = (total / weight if weight > 0 else total).astype(self.vectors.dtype)
        return _unit(mean) if post_normalize else mean

    def most_similar(self, positive: Any = None, negative: Any = None, topn: Optional[int] = 10, clip_start: int = 0,
                     clip_end: Optional[int] = None, restrict_vocab: Optional[int] = None, indexer: Any = None) -> Any:
        """The keys whose vectors have the largest cosine with the mean of the positive keys and the negated negative
        ones, which are not among them: a list of (key, cosine).

        A key may be a vector, or a pair (key, weight), whose weight counts as it is on either side. Only the rows
        [clip_start, clip_end) are searched; restrict_vocab is another clip_end. With topn=None: the cosines of all
        these rows as an array."""
        _refuse_indexer(indexer)
        keys, weights = self._weighted(positive, negative)
        if topn is not None and topn < 1:
            return []
        mean = self.get_mean_vector(keys, weights, pre_normalize=True, post_normalize=True, ignore_missing=False)
        end = restrict_vocab or clip_end or len(self)
        scores = self.vectors[clip_start:end] @ mean / self._lengths()[clip_start:end]
        if topn is None:
            return scores
        return self._best(scores, [key for key in keys if not isinstance(key, numpy.ndarray)], topn, clip_start)

    def most_similar_cosmul(self, positive: Any = None, negative: Any = None, topn: int = 10,
                            restrict_vocab: Optional[int] = None) -> list[tuple[Any, float]]:
        """Like most_similar, by the product of the cosines instead of their sum (3CosMul)."""
        keys, weights = self._weighted(positive, negative)
        scores: "numpy.ndarray[Any, Any]" = numpy.ones(min(restrict_vocab or len(self), len(self)))
        for key, weight in zip(keys, weights):
            vector = _unit(key) if isinstance(key, numpy.ndarray) else self.get_vector(key, norm=True)
            cosines = self.vectors[:restrict_vocab] @ vector / self._lengths()[:restrict_vocab]
            shifted = (1 + cosines) / 2
            scores = scores * shifted if weight > 0 else scores / (shifted + 1e-6)
        return self._best(scores, [key for key in keys if not isinstance(key, numpy.ndarray)], topn, 0)

    def _weighted(self, positive: Any, negative: Any) -> tuple[list[Any], list[float]]:
        """The keys of a query and their weights."""
        keys: list[Any] = []
        weights: list[float] = []
        for given, sign in ((positive, 1.0), (negative, -1.0)):
            if given is None:
                continue
            one = isinstance(given, (str, int, numpy.integer)) or (isinstance(given, numpy.ndarray) and given.ndim == 1)
            for each in [given] if one else given:
                weighted = isinstance(each, tuple) and len(each) == 2
                keys.append(each[0] if weighted else each)
                weights.append(each[1] if weighted else sign)
        if not keys:
            raise ValueError("there are no keys to compare with: pass positive or negative")
        return keys, weights

    def _best(self, scores: Array, without: Sequence[Any], topn: int, start: int) -> list[tuple[Any, float]]:
        """The keys of the largest scores, whose first is that of the row `start`."""
        left_out = {self.get_index(key) - start for key in without}
        count = min(topn + len(left_out), len(scores))
        best = numpy.argpartition(-scores, count - 1)[:count] if count < len(scores) else numpy.arange(count)
        best = best[numpy.argsort(-scores[best], kind="stable")]
        return [(self.index_to_key[start + i], float(scores[i])) for i in best if i not in left_out][:topn]

    def similar_by_word(self, word: Any, topn: Optional[int] = 10, restrict_vocab: Optional[int] = None) -> Any:
        """most_similar of one key."""
        return self.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)

    similar_by_key = similar_by_word

    def similar_by_vector(self, vector: Any, topn: Optional[int] = 10, restrict_vocab: Optional[int] = None) -> Any:
        """most_similar of one vector."""
        return self.most_similar([numpy.asarray(vector)], topn=topn, restrict_vocab=restrict_vocab)

    def similarity(self, w1: Any, w2: Any) -> Any:
        """The cosine of two keys."""
        return self.get_vector(w1, norm=True) @ self.get_vector(w2, norm=True)

    def distance(self, w1: Any, w2: Any) -> Any:
        """1 - similarity."""
        return 1 - self.similarity(w1, w2)

    @staticmethod
    def cosine_similarities(vector_1: Any, vectors_all: Any) -> Array:
        """The cosines of a vector and the rows of an array."""
        rows = numpy.asarray(vectors_all)
        lengths = numpy.linalg.norm(rows, axis=1) * numpy.linalg.norm(vector_1)
        return numpy.asarray(rows @ vector_1 / numpy.where(lengths > 0, lengths, 1))

    def distances(self, word_or_vector: Any, other_words: Sequence[Any] = ()) -> Array:
        """1 - the cosines of a key or vector and other keys, by default all."""
        vector = word_or_vector if isinstance(word_or_vector, numpy.ndarray) else self.get_vector(word_or_vector)
        return 1 - self.cosine_similarities(vector, self[other_words] if len(other_words) else self.vectors)

    def n_similarity(self, ws1: Sequence[Any], ws2: Sequence[Any]) -> Any:
        """The cosine of the means of two lists of keys."""
        if not len(ws1) or not len(ws2):
            raise ZeroDivisionError("n_similarity: a list of keys is empty")
        means = [_unit(self.get_mean_vector(keys, pre_normalize=False, ignore_missing=False)) for keys in (ws1, ws2)]
        return means[0] @ means[1]

    def doesnt_match(self, words: Sequence[Any]) -> Any:
        """The key that is the least similar to the others."""
        known = [word for word in words if word in self]
        if len(known) < len(words):
            _log.warning("doesnt_match: not known: %s", sorted(str(word) for word in words if word not in self))
        if not known:
            raise ValueError(f"doesnt_match: none of {list(words)} is known")
        mean = self.get_mean_vector(known, post_normalize=True)
        return min(known, key=lambda word: float(self.get_vector(word, norm=True) @ mean))

    def closer_than(self, key1: Any, key2: Any) -> list[Any]:
        """The keys that are more similar to key1 than key2 is."""
        distances = self.distances(key1)
        one, two = self.get_index(key1), self.get_index(key2)
        return [self.index_to_key[i] for i in numpy.flatnonzero(distances < distances[two]) if i != one]

    def rank(self, key1: Any, key2: Any) -> int:
        """The place of key2 among the keys by their similarity to key1, from 1."""
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Any, keys_list: Sequence[Any]) -> Any:
        """The one of some keys that is the most similar to key1."""
        return keys_list[int(numpy.argmax([self.similarity(key1, key) for key in keys_list]))]

    def relative_cosine_similarity(self, wa: Any, wb: Any, topn: int = 10) -> float:
        """The similarity of two keys, divided by the sum of those of wa and its topn nearest keys."""
        return float(self.similarity(wa, wb) / sum(score for _, score in self.similar_by_key(wa, topn)))

    # ---- Evaluations ----

    def evaluate_word_analogies(self, analogies: Path, restrict_vocab: Optional[int] = 300000,
                                case_insensitive: bool = True, dummy4unknown: bool = False,
                                similarity_function: str = "most_similar") -> tuple[float, list[dict[str, Any]]]:
        """Answers the questions `a b c d` of a file with sections `: name`: which key is to c as b is to a?

        The result is the share of right answers, and for each section and all together a dict with its name
        ("section") and the questions ("correct", "incorrect"). Only the first restrict_vocab keys count. Questions
        with other words are left out; with dummy4unknown they are wrong."""
        if similarity_function != "most_similar":
            raise ValueError(f"similarity_function {similarity_function!r}: only most_similar is offered")
        return evaluation.analogies(self, analogies, restrict_vocab, case_insensitive, dummy4unknown)

    def evaluate_word_pairs(self, pairs: Path, delimiter: str = "\t", encoding: str = "utf8",
                            restrict_vocab: Optional[int] = 300000, case_insensitive: bool = True,
                            dummy4unknown: bool = False) -> tuple[Any, Any, float]:
        """Compares similarities with those of people, lines `word word score` of a file: Pearson's and Spearman's
        correlation, each with its p-value, and the percentage of pairs with unknown words. These are left out; with
        dummy4unknown their similarity is 0. Needs scipy."""
        return evaluation.pairs(self, pairs, delimiter, encoding, restrict_vocab, case_insensitive, dummy4unknown)

    # ---- Files ----

    def save_word2vec_format(self, fname: Path, fvocab: Optional[Path] = None, binary: bool = False,
                             total_vec: Optional[int] = None, write_header: bool = True, prefix: str = "",
                             append: bool = False, sort_attr: str = "count") -> None:
        """Writes the text or binary format of the word2vec C tool, which gensim, fastText and Flotilla read: the keys
        with the largest attribute sort_attr first. fvocab: also lines `word count`. Without write_header the text
        format of GloVe. prefix: put before each key."""
        if append or (total_vec is not None and total_vec != len(self)):
            raise ValueError("append and total_vec are not offered: save all vectors to one file")
        if binary and not write_header:
            raise ValueError("write_header=False: a binary file needs its header")
        name = os.fspath(fname)
        order: "numpy.ndarray[Any, Any]" = numpy.arange(len(self))
        if sort_attr in self.expandos:
            order = numpy.argsort(-self.expandos[sort_attr], kind="stable")
        counts = self.expandos.get("count", numpy.zeros(len(self), dtype=numpy.int64))
        words = [(as_bytes(f"{prefix}{self.index_to_key[i]}"), int(counts[i])) for i in order]
        rows = numpy.ascontiguousarray(self.vectors[order], dtype=numpy.float32)
        _core.write_word_vectors(name, words, rows, binary)
        if not write_header:
            with open(name, "rb") as whole, open(f"{name}.part", "wb") as rest:
                whole.readline()
                shutil.copyfileobj(whole, rest)
            os.replace(f"{name}.part", name)
        if fvocab is not None:
            with open(fvocab, "wb") as file:
                for word, count in words:
                    file.write(word + b" %d\n" % count)

    @classmethod
    def load_word2vec_format(cls, fname: Path, fvocab: Optional[Path] = None, binary: bool = False,
                             encoding: str = "utf8", unicode_errors: str = "strict", limit: Optional[int] = None,
                             datatype: Any = numpy.float32, no_header: bool = False) -> "KeyedVectors":
        """Reads the text or binary format of the word2vec C tool; also .gz and .zst. The file itself says which of
        the two it is, whatever `binary` is. fvocab: a file of lines `word count`; without it the counts are
        descending numbers. limit: only the first keys. no_header: the text format of GloVe."""
        if binary and no_header:
            raise ValueError("no_header: a binary file has a header")
        name = os.fspath(fname)
        if os.path.isdir(name):
            raise IsADirectoryError(f"{name} is a directory: KeyedVectors.load reads models of Flotilla")
        words, rows = _core.read_word_vectors(name, "emb", not no_header, limit or 0)
        keys = as_texts(words, encoding, unicode_errors)
        counts: "numpy.ndarray[Any, Any]" = numpy.arange(len(keys), 0, -1, dtype=numpy.int64)
        if fvocab is not None:
            with open(fvocab, encoding=encoding, errors=unicode_errors) as file:
                known = dict(line.rstrip("\n").rsplit(" ", 1) for line in file)
            counts = numpy.array([int(known.get(key, 0)) for key in keys], dtype=numpy.int64)
        return _from_rows(cls, keys, rows.astype(datatype, copy=False), counts)

    def intersect_word2vec_format(self, fname: Path, lockf: float = 0.0, binary: bool = False, encoding: str = "utf8",
                                  unicode_errors: str = "strict") -> None:
        """Takes over the vectors that a file has of the keys that are there already."""
        if lockf != 1.0:
            raise ValueError(f"lockf={lockf}: vectors cannot be kept out of training; pass lockf=1.0")
        other = KeyedVectors.load_word2vec_format(fname, binary=binary, encoding=encoding,
                                                  unicode_errors=unicode_errors)
        if other.vector_size != self.vector_size:
            raise ValueError(f"{os.fspath(fname)} has vectors of {other.vector_size} numbers, not {self.vector_size}")
        keys = [key for key in other.index_to_key if key in self.key_to_index]
        self.vectors[[self.key_to_index[key] for key in keys]] = other[keys]
        self.norms = None
        _log.info("%d of %d vectors taken from %s", len(keys), len(self), os.fspath(fname))

    def save(self, fname: Path) -> None:
        """Writes fname, which has the keys, and fname.vectors.npy and so on beside it."""
        arrays = {"vectors": self.vectors, **{f"attribute.{name}": v for name, v in self.expandos.items()}}
        write_bundle(fname, _FORMAT, {"vector_size": self.vector_size, "keys": self.index_to_key}, arrays)

    @classmethod
    def load(cls, fname: Path, mmap: Optional[str] = None) -> "KeyedVectors":
        """Reads what save has written (mmap="r": the vectors stay in the file), or the words and vectors of a model
        directory of `flotilla train word2vec --out`."""
        if os.path.isdir(fname):
            words, rows = _core.read_word_vectors(os.fspath(fname), "emb", True, 0)
            return _from_rows(cls, as_texts(words), rows, numpy.array([n for _, n in words], dtype=numpy.int64))
        fields, arrays = read_bundle(fname, _FORMAT, mmap)
        loaded = _from_rows(cls, fields["keys"], arrays["vectors"], None)
        for name, values in arrays.items():
            if name.startswith("attribute."):
                loaded.expandos[name.removeprefix("attribute.")] = values
        return loaded


def _from_rows(cls: type[KeyedVectors], keys: list[Any], rows: Array, counts: Optional[Array]) -> KeyedVectors:
    made = cls(rows.shape[1], dtype=rows.dtype)
    made.index_to_key = keys
    made.key_to_index = {key: i for i, key in enumerate(keys)}
    made.vectors = rows
    if counts is not None:
        made.expandos["count"] = counts
    return made
