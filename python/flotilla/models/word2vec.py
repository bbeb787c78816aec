"""Training of word vectors: skip-gram and CBOW with negative sampling."""

from __future__ import annotations

import array
import collections
import logging
import math
import numbers
import os
import time
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

import numpy

from .. import _core
from ..errors import NotFound
from .callbacks import CallbackAny2Vec
from .corpora import MAX_WORDS_IN_BATCH, LineSentence, Path, PathLineSentences, Text8Corpus
from .keyedvectors import KeyedVectors
from .saved import Array, as_bytes, as_texts, read_bundle, write_bundle

__all__ = ["LineSentence", "MAX_WORDS_IN_BATCH", "PathLineSentences", "RULE_DEFAULT", "RULE_DISCARD", "RULE_KEEP",
           "Text8Corpus", "Word2Vec"]

#: What a trim_rule returns: decide by min_count, leave the word out, keep it.
RULE_DEFAULT, RULE_DISCARD, RULE_KEEP = 0, 1, 2

TrimRule = Callable[[str, int, int], int]
Sentences = Iterable[Sequence[str]]

_log = logging.getLogger("flotilla")
_FORMAT = "flotilla word2vec 1"
_SENTENCE_END = 0xFFFFFFFF
# Initial vectors are uniform in +-_START_RANGE / vector_size, as those of gensim.
_START_RANGE = 1.0
# The arguments of a model, which save keeps.
_SETTINGS = ("vector_size", "alpha", "window", "min_count", "max_vocab_size", "sample", "seed", "workers", "min_alpha",
             "sg", "hs", "negative", "ns_exponent", "cbow_mean", "epochs", "sorted_vocab", "batch_words", "compute_loss",
             "comment", "max_final_vocab", "shrink_windows")
_COUNTS = ("corpus_count", "corpus_total_words", "train_count", "total_train_time", "epochs_trained")


def _refuse(name: str, value: Any, plain: Any, why: str) -> None:
    if value not in plain:
        raise ValueError(f"{name}={value!r}: {why}")


def _check_number(name: str, value: Any, least: float, most: float = math.inf, whole: bool = False) -> None:
    kind = numbers.Integral if whole else numbers.Real
    if not isinstance(value, kind) or not math.isfinite(float(value)) or not least <= value <= most:  # type: ignore
        upper = "" if most == math.inf else f" and at most {most}"
        raise ValueError(f"{name} must be a {'whole ' if whole else ''}number of at least {least}{upper}, not {value!r}")


def _check_corpus(sentences: Any, corpus_file: Any, passes: int) -> None:
    """Exactly one of the two, which can be read so many times."""
    if (sentences is None) == (corpus_file is None):
        raise TypeError("pass the text either as sentences (corpus_iterable) or as corpus_file, not "
                        + ("both" if corpus_file is not None else "neither"))
    if corpus_file is not None:
        if not isinstance(corpus_file, (str, os.PathLike)):
            raise TypeError(f"corpus_file must be a path, not {type(corpus_file).__name__}")
        if not os.path.exists(corpus_file):
            raise FileNotFoundError(f"corpus_file: there is no {os.fspath(corpus_file)}")
        return
    if isinstance(sentences, (str, bytes)):
        raise TypeError("sentences must be an iterable of lists of words, not a text: split it, or pass corpus_file")
    if not hasattr(sentences, "__iter__"):
        raise TypeError(f"sentences must be an iterable of lists of words, not {type(sentences).__name__}")
    if passes > 1 and iter(sentences) is sentences:
        raise TypeError(f"sentences is read {passes} times, but a generator or iterator ({type(sentences).__name__}) "
                        "only once: pass a list, or an object whose __iter__ starts anew")


def _keeps(word: str, count: int, min_count: int, trim_rule: Optional[TrimRule]) -> bool:
    rule = RULE_DEFAULT if trim_rule is None else trim_rule(word, count, min_count)
    if rule not in (RULE_DEFAULT, RULE_DISCARD, RULE_KEEP):
        raise ValueError(f"trim_rule returned {rule!r} for {word!r}: expected RULE_DEFAULT, RULE_DISCARD or RULE_KEEP")
    return rule == RULE_KEEP or (rule == RULE_DEFAULT and count >= min_count)


class _Listener:
    """What the engine tells of a training."""

    def __init__(self, model: "Word2Vec", epochs: int, report_delay: float,
                 callbacks: Sequence[CallbackAny2Vec]) -> None:
        self._model, self._epochs, self._delay, self._callbacks = model, epochs, report_delay, callbacks
        self._told = time.monotonic()

    def on_log(self, level: int, message: str) -> None:
        _log.log((logging.INFO, logging.WARNING, logging.ERROR)[level], message)

    def on_progress(self, progress: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if now - self._told < self._delay:
            return
        self._told = now
        speed = progress["rows"] / progress["seconds"] if progress["seconds"] > 0 else 0
        _log.info("epoch %d: %d words, %.0f words/s, loss %.4f", progress["epoch"], progress["rows"], speed,
                  progress["loss"])

    def on_epoch(self, epoch: int, train: Mapping[str, float], _: Any) -> bool:
        model = self._model
        model.wv.norms = None
        model.epochs_trained += 1
        model.running_training_loss += train["loss"] * train["rows"]
        for each in self._callbacks:
            each.on_epoch_end(model)
        if epoch + 1 < self._epochs:
            for each in self._callbacks:
                each.on_epoch_begin(model)
        return False


class Word2Vec:
    """Word vectors, trained on sentences by skip-gram (sg=1) or CBOW (sg=0) with negative sampling.

    sentences: lists of words, from an iterable that can be read again; words are used as they are. corpus_file
    instead: a file (plain, .gz, .zst) or a directory of files, lines of words between blanks; the engine reads it,
    which is the fastest way. With neither, call build_vocab and train.

    vector_size: numbers of a vector. window: words on each side, a random number of 1 .. window unless
    shrink_windows=False. alpha, min_alpha: learning rate of the first and the last step. min_count: rarer words are
    left out; trim_rule(word, count, min_count) may decide otherwise (RULE_KEEP, RULE_DISCARD, RULE_DEFAULT).
    max_vocab_size: drop the rarest words while counting more; max_final_vocab: raise min_count until so many are left.
    sample: frequent words are left out at random, above this share of the text. negative: negative samples, drawn by
    count ** ns_exponent. cbow_mean: CBOW uses the mean of the window (1) or its sum (0). workers: threads; with 1 the
    same seed gives the same bits. sorted_vocab=0: words in the order in which they come. batch_words: words that a
    worker takes at a time. compute_loss: see get_latest_training_loss. callbacks: CallbackAny2Vec objects.

    `wv` has the vectors. Arguments that are not offered are an error: hs=1, null_word, hashfxn."""

    def __init__(self, sentences: Optional[Sentences] = None, corpus_file: Optional[Path] = None, vector_size: int = 100,
                 alpha: float = 0.025, window: int = 5, min_count: int = 5, max_vocab_size: Optional[int] = None,
                 sample: float = 1e-3, seed: int = 1, workers: int = 3, min_alpha: float = 0.0001, sg: int = 0,
                 hs: int = 0, negative: int = 5, ns_exponent: float = 0.75, cbow_mean: int = 1,
                 hashfxn: Optional[Callable[[Any], int]] = hash, epochs: int = 5, null_word: int = 0,
                 trim_rule: Optional[TrimRule] = None, sorted_vocab: int = 1, batch_words: int = MAX_WORDS_IN_BATCH,
                 compute_loss: bool = False, callbacks: Sequence[CallbackAny2Vec] = (), comment: Optional[str] = None,
                 max_final_vocab: Optional[int] = None, shrink_windows: bool = True) -> None:
        self.vector_size, self.alpha, self.min_alpha = vector_size, alpha, min_alpha
        self.window, self.shrink_windows = window, shrink_windows
        self.min_count, self.max_vocab_size, self.max_final_vocab = min_count, max_vocab_size, max_final_vocab
        self.sample, self.seed, self.workers = sample, seed, workers
        self.sg, self.hs, self.negative, self.ns_exponent, self.cbow_mean = sg, hs, negative, ns_exponent, cbow_mean
        self.epochs, self.sorted_vocab, self.batch_words = epochs, sorted_vocab, batch_words
        self.compute_loss, self.comment = compute_loss, comment
        self._check()
        _refuse("null_word", null_word, (0, False), "the null word is not offered; leave it out")
        _refuse("hashfxn", hashfxn, (None, hash), "initial vectors do not depend on a hash; leave it out")
        self.wv = KeyedVectors(vector_size)
        #: The vectors of words as targets (words, vector_size), which training needs.
        self.syn1neg: Array = numpy.zeros((0, vector_size), dtype=numpy.float32)
        #: Sentences and words of the text that build_vocab has read.
        self.corpus_count = 0
        self.corpus_total_words = 0
        #: All words of that text and their counts, if keep_raw_vocab.
        self.raw_vocab: dict[str, int] = {}
        self.train_count = 0
        self.total_train_time = 0.0
        #: Epochs of all calls of train.
        self.epochs_trained = 0
        self.running_training_loss = 0.0
        if sentences is None and corpus_file is None:
            if trim_rule is not None:
                raise ValueError("trim_rule is for the text of this call: pass it to build_vocab")
            return
        _check_corpus(sentences, corpus_file, passes=2)
        self.build_vocab(sentences, corpus_file, trim_rule=trim_rule)
        self.train(sentences, corpus_file, total_examples=self.corpus_count, epochs=epochs, compute_loss=compute_loss,
                   callbacks=callbacks)

    def _check(self) -> None:
        _refuse("hs", self.hs, (0, False), "hierarchical softmax is not offered; leave it out and use negative=5")
        _refuse("sg", self.sg, (0, 1), "it is 0 for CBOW or 1 for skip-gram")
        _refuse("cbow_mean", self.cbow_mean, (0, 1), "it is 1 for the mean of the window or 0 for its sum")
        for name, most in (("vector_size", 1 << 20), ("window", 10000), ("negative", 10000), ("workers", 1024),
                           ("epochs", 1 << 31), ("batch_words", 1 << 31)):
            _check_number(name, getattr(self, name), 1, most, whole=True)
        for name, most in (("min_count", 1 << 62), ("seed", (1 << 64) - 1)):
            _check_number(name, getattr(self, name), 0, most, whole=True)
        for name in ("max_vocab_size", "max_final_vocab"):
            if getattr(self, name) is not None:
                _check_number(name, getattr(self, name), 1, whole=True)
        for name in ("alpha", "sample", "min_alpha"):
            _check_number(name, getattr(self, name), 0)
        _check_number("ns_exponent", self.ns_exponent, -10, 10)
        if self.alpha == 0:
            raise ValueError("alpha must be above 0")

    def __str__(self) -> str:
        return f"Word2Vec<vocab={len(self.wv)}, vector_size={self.vector_size}, alpha={self.alpha}>"

    # ---- Vocabulary ----

    def build_vocab(self, corpus_iterable: Optional[Sentences] = None, corpus_file: Optional[Path] = None,
                    update: bool = False, progress_per: int = 10000, keep_raw_vocab: bool = False,
                    trim_rule: Optional[TrimRule] = None) -> None:
        """Counts the words of a text and gives those that are kept initial vectors. update: adds the words of more
        text to the model; known words keep their vectors, and counts add up. progress_per: sentences between two
        messages."""
        _check_corpus(corpus_iterable, corpus_file, passes=1)
        _check_number("progress_per", progress_per, 1, whole=True)
        if corpus_file is not None and self.sorted_vocab and self.max_vocab_size is None:
            words, self.corpus_count = _core.count_words(PathLineSentences(corpus_file).input_files, self.workers)
            counts = dict(zip(as_texts(words), (count for _, count in words)))
            self.corpus_total_words = sum(counts.values())
        else:
            sentences = PathLineSentences(corpus_file) if corpus_file is not None else corpus_iterable
            assert sentences is not None
            counts = self._count(sentences, progress_per, trim_rule)
        _log.info("%d words, %d distinct, of %d sentences", self.corpus_total_words, len(counts), self.corpus_count)
        self._set_vocabulary(counts, update, keep_raw_vocab, trim_rule)

    def build_vocab_from_freq(self, word_freq: Mapping[str, int], keep_raw_vocab: bool = False,
                              corpus_count: Optional[int] = None, trim_rule: Optional[TrimRule] = None,
                              update: bool = False) -> None:
        """build_vocab from the counts of words. corpus_count: sentences of the text they come from."""
        self.corpus_count = corpus_count or 0
        self.corpus_total_words = sum(word_freq.values())
        self._set_vocabulary(dict(word_freq), update, keep_raw_vocab, trim_rule)

    def _count(self, sentences: Sentences, progress_per: int, trim_rule: Optional[TrimRule]) -> dict[str, int]:
        counts: collections.Counter[str] = collections.Counter()
        total = read = 0
        least = 1
        for sentence in sentences:
            if read == 0 and isinstance(sentence, str):
                _log.warning("a sentence should be a list of words; the first is a plain str, whose characters are "
                             "taken as words")
            if read % progress_per == 0:
                _log.info("%d sentences, %d words, %d distinct", read, total, len(counts))
            try:
                counts.update(sentence)
                total += len(sentence)
            except TypeError as error:
                raise TypeError(f"sentence {read} is not a list of words: {error}") from error
            read += 1
            if self.max_vocab_size is not None and len(counts) > self.max_vocab_size:
                counts = collections.Counter({word: count for word, count in counts.items()
                                              if _keeps(word, count, least, trim_rule)})
                least += 1
        self.corpus_count, self.corpus_total_words = read, total
        return counts

    def _set_vocabulary(self, counts: Mapping[str, int], update: bool, keep_raw_vocab: bool,
                        trim_rule: Optional[TrimRule]) -> None:
        for word in counts:
            if not isinstance(word, str):
                raise TypeError(f"words must be str, found {word!r} of type {type(word).__name__}")
        self.raw_vocab = dict(counts) if keep_raw_vocab else {}
        least = self._least_count(counts.values())
        kept = [(word, count) for word, count in counts.items() if _keeps(word, count, least, trim_rule)]
        if self.sorted_vocab:
            kept.sort(key=lambda item: (-item[1], item[0]))
        if not update:
            self.wv = KeyedVectors(self.vector_size)
            self.syn1neg = self.syn1neg[:0]
        first = len(self.wv)
        fresh = [(word, count) for word, count in kept if word not in self.wv.key_to_index]
        rows = _core.initial_word_vectors(self.seed, self.vector_size, _START_RANGE, first, first + len(fresh))
        new_counts = numpy.array([count for _, count in fresh], dtype=numpy.int64)
        if update:
            for word, count in kept:
                if word in self.wv.key_to_index:
                    self.wv.expandos["count"][self.wv.key_to_index[word]] += count
        self.wv.add_vectors([word for word, _ in fresh], rows, {"count": new_counts})
        self.syn1neg = numpy.concatenate([self.syn1neg, numpy.zeros_like(rows)])
        _log.info("%d words in the vocabulary, %d of them new; left out: %d that occur fewer than %d times",
                  len(self.wv), len(fresh), len(counts) - len(kept), least)

    def _least_count(self, counts: Iterable[int]) -> int:
        """min_count, or more if max_final_vocab asks for it."""
        if self.max_final_vocab is None:
            return self.min_count
        largest = sorted(counts, reverse=True)
        if len(largest) <= self.max_final_vocab:
            return self.min_count
        return max(self.min_count, largest[self.max_final_vocab] + 1)

    # ---- Training ----

    def train(self, corpus_iterable: Optional[Sentences] = None, corpus_file: Optional[Path] = None,
              total_examples: Optional[int] = None, total_words: Optional[int] = None, epochs: Optional[int] = None,
              start_alpha: Optional[float] = None, end_alpha: Optional[float] = None, word_count: int = 0,
              queue_factor: int = 2, report_delay: float = 1.0, compute_loss: bool = False,
              callbacks: Sequence[CallbackAny2Vec] = ()) -> tuple[int, int]:
        """Trains on a text, from the present vectors: (words trained, words read), over all epochs.

        The learning rate goes from start_alpha to end_alpha (default: alpha, min_alpha) over the text as it is:
        total_examples and total_words, which other programs need for that, may be left out. With corpus_file each of n
        workers counts its part of the text as if it were the whole, as in gensim: within an epoch the rate goes an n-th
        of its way, and the rest between two epochs. report_delay: seconds between two messages. Sentences are read once
        and kept as numbers, 4 bytes per word. Ctrl-C ends the training; the vectors are then those of that moment."""
        epochs = self.epochs if epochs is None else epochs
        _check_number("epochs", epochs, 1, whole=True)
        self._check()
        _check_corpus(corpus_iterable, corpus_file, passes=epochs)
        _refuse("word_count", word_count, (0,), "training starts at the beginning of the text; leave it out")
        _refuse("queue_factor", queue_factor, (2,), "there is no queue of sentences; leave it out")
        if len(self.wv) == 0:
            raise RuntimeError("there are no words to train: call build_vocab first, with a text that has words"
                               if not self.corpus_total_words else
                               f"there are no words to train: none occurs {self.min_count} times (min_count) in the text "
                               f"of {self.corpus_total_words} words; use a smaller min_count")
        options = self._options(epochs, self.alpha if start_alpha is None else start_alpha,
                                self.min_alpha if end_alpha is None else end_alpha)
        ids: Optional[Array] = None
        if corpus_file is not None:
            _refuse("batch_words", self.batch_words, (MAX_WORDS_IN_BATCH,), "with corpus_file a batch is a block of the "
                    "file; leave it out")
            options.files = PathLineSentences(corpus_file).input_files
            options.epoch_part = 1 / self.workers
            # The engine finds the words; the empty one, which it refuses, is not in any file.
            words = [as_bytes(word) or b"\n" for word in self.wv.index_to_key]
            read = 0
        else:
            assert corpus_iterable is not None
            ids, read = self._encode(corpus_iterable)
            words = [b"%d" % i for i in range(len(self.wv))]
        self._own_arrays()
        self.epochs, self.compute_loss = epochs, compute_loss
        self.running_training_loss = 0.0
        listener = _Listener(self, epochs, report_delay, callbacks)
        for each in callbacks:
            each.on_train_begin(self)
        for each in callbacks:
            each.on_epoch_begin(self)
        counts: Any = self.wv.expandos["count"].tolist()
        try:
            result = _core.train_word2vec(options, list(zip(words, counts)), ids,
                                          self.batch_words, self.wv.vectors, self.syn1neg, self.epochs_trained, listener)
        finally:
            self.wv.norms = None
        self.train_count += 1
        self.total_train_time += result["seconds"]
        for each in callbacks:
            each.on_train_end(self)
        return result["trained"], read * epochs if ids is not None else result["words"]

    def _options(self, epochs: int, start_alpha: float, end_alpha: float) -> _core.Word2VecOptions:
        if not start_alpha > 0 or not end_alpha >= 0:
            raise ValueError(f"start_alpha must be above 0 and end_alpha at least 0, not {start_alpha} and {end_alpha}")
        options = _core.Word2VecOptions()
        options.epochs, options.threads, options.seed = epochs, self.workers, self.seed
        options.deterministic = self.workers == 1
        options.dim, options.window, options.fixed_window = self.vector_size, self.window, not self.shrink_windows
        options.negatives, options.power = self.negative, self.ns_exponent
        options.learning_rate, options.last_learning_rate = start_alpha, end_alpha
        options.sample = self.sample
        if self.sample >= 1:  # a count, by the rule of gensim
            total = max(1, int(self.wv.expandos["count"].sum()))
            options.sample = int(self.sample * (3 + math.sqrt(5)) / 2) / total
        if self.sg:
            options.set_skipgram()
        else:
            options.set_cbow(bool(self.cbow_mean))
        return options

    def _encode(self, sentences: Sentences) -> tuple[Array, int]:
        """The sentences as rows of words, each with an end; and the number of words, unknown ones too."""
        find = self.wv.key_to_index.get
        ids = array.array("I")
        read = 0
        for sentence in sentences:
            read += len(sentence)
            known = [row for row in map(find, sentence) if row is not None]
            for start in range(0, len(known), self.batch_words):
                ids.fromlist(known[start:start + self.batch_words])
                ids.append(_SENTENCE_END)
        if not ids:
            raise ValueError(f"none of the {read} words of the text is in the vocabulary of {len(self.wv)} words")
        return numpy.frombuffer(ids, dtype=numpy.uint32), read

    def _own_arrays(self) -> None:
        """Makes the vectors arrays that the engine can change, whatever the program has put there."""
        shape = (len(self.wv), self.vector_size)
        for name, values in (("wv.vectors", self.wv.vectors), ("syn1neg", self.syn1neg)):
            if values.shape != shape:
                raise ValueError(f"{name} has the shape {values.shape}, the vocabulary needs {shape}")
        self.wv.vectors = numpy.require(self.wv.vectors, numpy.float32, ["C", "W", "O", "A"])
        self.syn1neg = numpy.require(self.syn1neg, numpy.float32, ["C", "W", "O", "A"])

    def get_latest_training_loss(self) -> float:
        """With compute_loss: the mean loss of a prediction, estimated from a sample, times the words of the text,
        summed over the epochs of the last call of train. Otherwise 0."""
        return self.running_training_loss if self.compute_loss else 0.0

    def predict_output_word(self, context_words_list: Sequence[str], topn: int = 10) -> Optional[list[tuple[str, float]]]:
        """The most probable words between context words, and their probabilities; None if all words are unknown."""
        rows = [self.wv.get_index(word) for word in context_words_list if word in self.wv]
        if not rows:
            _log.warning("predict_output_word: all words are unknown")
            return None
        joined = self.wv.vectors[rows].sum(axis=0)
        if self.cbow_mean:
            joined /= len(rows)
        scores = (self.syn1neg @ joined).astype(numpy.float64)
        shares = numpy.exp(scores - scores.max())
        shares /= shares.sum()
        best = numpy.argsort(-shares, kind="stable")[:topn]
        return [(self.wv.index_to_key[i], float(shares[i])) for i in best]

    # ---- Files ----

    def save(self, fname: Path) -> None:
        """Writes the model, from which load goes on: fname and fname.vectors.npy and so on beside it."""
        fields = {name: getattr(self, name) for name in (*_SETTINGS, *_COUNTS)}
        fields["keys"] = self.wv.index_to_key
        arrays = {"vectors": self.wv.vectors, "syn1neg": self.syn1neg}
        if "count" in self.wv.expandos:
            arrays["count"] = self.wv.expandos["count"]
        write_bundle(fname, _FORMAT, fields, arrays)

    @classmethod
    def load(cls, fname: Path, mmap: Optional[str] = None) -> "Word2Vec":
        """Reads what save has written, or a model directory of `flotilla train word2vec --out`, with the words and all
        vectors but not its settings, which are the defaults. mmap="r": the vectors stay in the files until they are
        trained."""
        if os.path.isdir(fname):
            return cls._from_model(os.fspath(fname))
        fields, arrays = read_bundle(fname, _FORMAT, mmap)
        model = cls(**{name: fields[name] for name in _SETTINGS})
        for name in _COUNTS:
            setattr(model, name, fields[name])
        model._take(fields["keys"], arrays["vectors"], arrays["syn1neg"], arrays.get("count"))
        return model

    @classmethod
    def _from_model(cls, directory: str) -> "Word2Vec":
        words, rows = _core.read_word_vectors(directory, "emb", True, 0)
        _, outputs = _core.read_word_vectors(directory, "emb_w", True, 0)
        try:
            _core.read_word_vectors(directory, "emb_b", True, 0)
        except NotFound:
            pass
        else:
            raise ValueError(f"{directory} was trained with a bias, which Word2Vec does not have: "
                             "KeyedVectors.load reads its vectors")
        model = cls(vector_size=rows.shape[1])
        counts = numpy.array([count for _, count in words], dtype=numpy.int64)
        model._take(as_texts(words), rows, outputs, counts)
        return model

    def _take(self, keys: list[str], vectors: Array, syn1neg: Array, counts: Optional[Array]) -> None:
        self.wv.index_to_key = keys
        self.wv.key_to_index = {key: i for i, key in enumerate(keys)}
        self.wv.vectors, self.syn1neg = vectors, syn1neg
        if counts is not None:
            self.wv.expandos["count"] = counts
