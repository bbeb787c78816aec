"""Word2Vec: vocabularies, training, files, and the mistakes of users."""

import gzip
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import flotilla as fl
from flotilla.models import KeyedVectors, Word2Vec
from flotilla.models.callbacks import CallbackAny2Vec
from flotilla.models.word2vec import RULE_DISCARD, RULE_KEEP, LineSentence, PathLineSentences, Text8Corpus

SMALL = {"vector_size": 16, "min_count": 1, "sample": 0, "workers": 1, "seed": 3}
TOPICS = [[f"{topic}{i}" for i in range(20)] for topic in ("Obst", "Ärzte")]


def sentences(count=400, seed=1):
    """Of words that are in one topic or in the other, with capitals and umlauts."""
    random = numpy.random.default_rng(seed)
    return [[TOPICS[i % 2][j] for j in random.integers(0, 20, 8)] for i in range(count)]


def write_lines(path, rows):
    path.write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("more", [{"sg": 1}, {"sg": 0}, {"sg": 0, "workers": 2},
                                  {"sg": 1, "shrink_windows": False, "negative": 8, "ns_exponent": 0.5}],
                         ids=["skipgram", "cbow", "two_workers", "fixed_window"])
def test_words_of_one_topic_come_together(more):
    model = Word2Vec(sentences(), epochs=20, **{**SMALL, "alpha": 0.05, **more})
    near = [word for word, _ in model.wv.most_similar("Obst3", topn=10)]
    assert all(word.startswith("Obst") for word in near)
    assert model.wv.similarity("Ärzte1", "Ärzte2") > model.wv.similarity("Ärzte1", "Obst2") + 0.3
    assert model.wv.doesnt_match(["Obst1", "Obst2", "Ärzte7", "Obst5"]) == "Ärzte7"


def test_the_rules_of_cbow_and_skipgram_give_different_vectors():
    made = [Word2Vec(sentences(), epochs=1, **SMALL, **more).wv.vectors
            for more in ({"sg": 1}, {"sg": 0}, {"sg": 0, "cbow_mean": 0})]
    assert not numpy.array_equal(made[0], made[1])
    assert not numpy.array_equal(made[1], made[2])


def test_a_file_gives_the_bits_of_the_command_and_of_sentences(tmp_path, flotilla):
    text = write_lines(tmp_path / "text", sentences())
    by_file = Word2Vec(corpus_file=text, sg=1, epochs=3, **SMALL)
    by_sentences = Word2Vec(LineSentence(text), sg=1, epochs=3, **SMALL)
    assert by_file.wv.index_to_key == by_sentences.wv.index_to_key
    assert numpy.array_equal(by_file.wv.vectors, by_sentences.wv.vectors)
    flotilla("train", "word2vec", "--data", text, "--tokenizer", "whitespace", "--out", tmp_path / "model", "--dim", 16,
             "--min_count", 1, "--sample", 0, "--seed", 3, "--deterministic", "--epochs", 3, "--last_learning_rate",
             0.0001, "--start_range", 1)
    by_command = KeyedVectors.load(tmp_path / "model")
    assert by_command.index_to_key == by_file.wv.index_to_key
    assert numpy.array_equal(by_command.vectors, by_file.wv.vectors)
    assert by_command.get_vecattr("Obst1", "count") == by_file.wv.get_vecattr("Obst1", "count") > 0


def test_a_model_of_the_command_is_trained_further(tmp_path, flotilla):
    text = write_lines(tmp_path / "text", sentences())
    arguments = ["train", "word2vec", "--data", text, "--tokenizer", "whitespace", "--dim", 16, "--min_count", 1]
    flotilla(*arguments, "--out", tmp_path / "model")
    model = Word2Vec.load(tmp_path / "model")
    before = model.wv.vectors.copy()
    model.train(sentences(), epochs=1)
    assert not numpy.array_equal(before, model.wv.vectors)
    flotilla(*arguments, "--out", tmp_path / "with_bias", "--bias")
    with pytest.raises(ValueError, match="trained with a bias"):
        Word2Vec.load(tmp_path / "with_bias")
    assert len(KeyedVectors.load(tmp_path / "with_bias")) == 40


def test_words_are_used_as_they_are():
    given = [["New York", "", "a\tb", "x\ny", "<UNK>", "İ", "\ud800", "NEW york"]] * 20
    model = Word2Vec(given, **SMALL)
    assert sorted(model.wv.index_to_key) == sorted(given[0])
    assert model.wv["New York"].shape == (16,)


def test_unknown_words_of_a_file_are_left_out_though_a_word_is_unk(tmp_path):
    rows = [["<UNK>", "a", "b"], ["a", "b", "c"]] * 50
    plain = write_lines(tmp_path / "plain", rows)
    rare = write_lines(tmp_path / "rare", [[*row[:1], f"rare{i}", *row[1:]] for i, row in enumerate(rows)])
    settings = {**SMALL, "min_count": 2}
    assert numpy.array_equal(Word2Vec(corpus_file=plain, **settings).wv.vectors,
                             Word2Vec(corpus_file=rare, **settings).wv.vectors)


def test_the_vocabulary_in_steps():
    model = Word2Vec(**{**SMALL, "min_count": 2})
    model.build_vocab([["b", "a", "b"], ["c", "a", "b"], ["d"]], keep_raw_vocab=True)
    assert model.wv.index_to_key == ["b", "a"]
    assert [model.wv.get_vecattr(word, "count") for word in ("b", "a")] == [3, 2]
    assert (model.corpus_count, model.corpus_total_words) == (3, 7)
    assert model.raw_vocab == {"a": 2, "b": 3, "c": 1, "d": 1}
    assert model.wv.vectors.shape == model.syn1neg.shape == (2, 16)
    assert 0.5 / 16 < abs(model.wv.vectors).max() <= 1 / 16
    before = model.wv["a"].copy()
    model.build_vocab([["c", "c", "a"]], update=True)
    assert model.wv.index_to_key == ["b", "a", "c"]
    assert model.wv.get_vecattr("c", "count") == 2
    assert numpy.array_equal(model.wv["a"], before)
    assert model.train([["a", "b", "c"]], total_examples=1, epochs=2) == (6, 6)
    other = Word2Vec(**{**SMALL, "sorted_vocab": 0})
    other.build_vocab([["z", "y", "y"]])
    assert other.wv.index_to_key == ["z", "y"]
    other.build_vocab_from_freq({"p": 3, "q": 9})
    assert other.wv.index_to_key == ["p", "q"] and other.corpus_total_words == 12


def test_rules_for_the_vocabulary(tmp_path):
    rows = [["a"] * 9, ["b"] * 5, ["c"] * 5, ["d"] * 2, ["e"]]

    def kept(**more):
        model = Word2Vec(**{**SMALL, **{name: value for name, value in more.items() if name != "trim_rule"}})
        model.build_vocab(rows, trim_rule=more.get("trim_rule"))
        return model.wv.index_to_key

    assert kept(max_final_vocab=2) == ["a"]  # b and c are equal
    assert kept(max_final_vocab=3) == ["a", "b", "c"]
    assert kept(trim_rule=lambda word, count, least: RULE_DISCARD if word == "a" else 0) == ["b", "c", "d", "e"]
    assert kept(min_count=5, trim_rule=lambda word, count, least: RULE_KEEP if word == "e" else 0) == ["a", "b", "c", "e"]
    with pytest.raises(ValueError, match="trim_rule returned 7 for 'a'"):
        kept(trim_rule=lambda *_: 7)
    many = [[f"w{i}", "often"] for i in range(1000)]
    model = Word2Vec(**SMALL, max_vocab_size=50)
    model.build_vocab(many)
    assert "often" in model.wv and len(model.wv) <= 51
    model.build_vocab(corpus_file=write_lines(tmp_path / "many", many))
    assert "often" in model.wv and len(model.wv) <= 51


def test_training_goes_on_and_repeats(tmp_path):
    whole = Word2Vec(sentences(), epochs=2, **SMALL)
    assert numpy.array_equal(whole.wv.vectors, Word2Vec(sentences(), epochs=2, **SMALL).wv.vectors)
    assert not numpy.array_equal(whole.wv.vectors, Word2Vec(sentences(), epochs=2, **{**SMALL, "seed": 4}).wv.vectors)
    model = Word2Vec(**SMALL)
    model.build_vocab(sentences())
    model.train(sentences(), total_examples=model.corpus_count, epochs=1, start_alpha=0.02, end_alpha=0.02)
    model.save(tmp_path / "half")
    for half in (model, Word2Vec.load(tmp_path / "half"), Word2Vec.load(tmp_path / "half", mmap="r"),
                 pickle.loads(pickle.dumps(model))):
        half.train(sentences(), total_examples=half.corpus_count, epochs=1, start_alpha=0.02, end_alpha=0.02)
        assert half.epochs_trained == 2 and half.train_count == 2
    straight = Word2Vec(**SMALL)
    straight.build_vocab(sentences())
    straight.train(sentences(), epochs=2, start_alpha=0.02, end_alpha=0.02)
    for name in ("vectors", "syn1neg"):
        got = [getattr(m.wv if name == "vectors" else m, name) for m in (straight, model, half)]
        assert numpy.array_equal(got[0], got[1]) and numpy.array_equal(got[0], got[2])


def test_vectors_that_a_program_sets_are_trained(tmp_path):
    model = Word2Vec(**SMALL)
    model.build_vocab(sentences())
    model.wv.vectors = numpy.asfortranarray(numpy.full(model.wv.vectors.shape, 0.25))  # float64, another order
    model.train(sentences(), epochs=1)
    assert model.wv.vectors.dtype == numpy.float32
    assert model.wv.vectors.min() > 0.1  # initial vectors are below 0.04
    model.wv.vectors = model.wv.vectors[:3]
    with pytest.raises(ValueError, match=r"wv.vectors has the shape \(3, 16\), the vocabulary needs \(40, 16\)"):
        model.train(sentences(), epochs=1)


def test_callbacks_see_the_vectors_of_each_epoch():
    class Watch(CallbackAny2Vec):
        def __init__(self):
            self.calls, self.vectors, self.losses = [], [], []

        def on_train_begin(self, model):
            self.calls.append("begin")

        def on_epoch_begin(self, model):
            self.calls.append("epoch begin")

        def on_epoch_end(self, model):
            self.calls.append("epoch end")
            self.vectors.append(model.wv.get_vector("Obst1", norm=True))
            self.losses.append(model.get_latest_training_loss())

        def on_train_end(self, model):
            self.calls.append("end")

    watch = Watch()
    model = Word2Vec(sentences(), epochs=3, compute_loss=True, callbacks=[watch], alpha=0.1, **SMALL)
    assert watch.calls == ["begin", *["epoch begin", "epoch end"] * 3, "end"]
    assert not numpy.array_equal(watch.vectors[0], watch.vectors[2])
    assert numpy.array_equal(watch.vectors[2], model.wv.get_vector("Obst1", norm=True))
    steps = numpy.diff([0, *watch.losses])
    assert steps[0] > steps[1] > steps[2] > 0
    assert Word2Vec(sentences(), epochs=1, **SMALL).get_latest_training_loss() == 0

    class Bad(CallbackAny2Vec):
        def on_epoch_end(self, model):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        Word2Vec(sentences(), callbacks=[Bad()], **SMALL)


def test_ctrl_c_ends_training_within_a_second(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import sys, time
from flotilla.models import Word2Vec
text = [[f"w{i * j % 97}" for j in range(100)] for i in range(500)]
model = Word2Vec(vector_size=100, min_count=1, workers=2)
model.build_vocab(text)
before = model.wv.vectors.copy()
print("ready", flush=True)
try:
    model.train(text, epochs=100000)
except KeyboardInterrupt:
    print("changed", (before != model.wv.vectors).any(), flush=True)
""")
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(fl.__file__))})
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)  # into the training
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "changed True\n"
    assert time.monotonic() - start < 2
    assert process.wait(20) == 0


def test_other_threads_run_during_training():
    model = Word2Vec(**SMALL)
    model.build_vocab(sentences())
    ended, counted = threading.Event(), []

    def count():
        while not ended.is_set():
            counted.append(model.wv.most_similar("Obst1"))

    thread = threading.Thread(target=count)
    thread.start()
    model.train(sentences(), epochs=60)
    ended.set()
    thread.join()
    assert len(counted) > 2


def test_mistakes_are_named(tmp_path):
    for arguments, error, text in [
            ({"hs": 1}, ValueError, "hs=1: hierarchical softmax is not offered"),
            ({"null_word": 1}, ValueError, "null_word=1"),
            ({"hashfxn": len}, ValueError, "hashfxn"),
            ({"sg": 2}, ValueError, "sg=2"),
            ({"negative": 0}, ValueError, "negative must be a whole number of at least 1 .*, not 0"),
            ({"vector_size": 0}, ValueError, "vector_size must be"),
            ({"window": 2.5}, ValueError, "window must be a whole number"),
            ({"alpha": 0}, ValueError, "alpha must be above 0"),
            ({"alpha": "x"}, ValueError, "alpha must be a number"),
            ({"workers": 10**6}, ValueError, "workers must be .* at most 1024"),
            ({"seed": 2**64}, ValueError, "seed must be"),
            ({"sentences": [["a"], None]}, TypeError, "sentence 1 is not a list of words"),
            ({"sentences": [["a", ["b"]]]}, TypeError, "sentence 0 is not a list of words"),
            ({"sample": float("nan")}, ValueError, "sample must be a number of at least 0, not nan"),
            ({"seed": -1}, ValueError, "seed must be"),
            ({"ns_exponent": 1000}, ValueError, "ns_exponent must be"),
            ({"trim_rule": len}, ValueError, "pass it to build_vocab"),
            ({"sentences": (row for row in sentences())}, TypeError, "generator"),
            ({"sentences": iter(sentences())}, TypeError, "list_iterator"),
            ({"sentences": "a text"}, TypeError, "not a text"),
            ({"sentences": 5}, TypeError, "not int"),
            ({"sentences": [["a"]], "corpus_file": "x"}, TypeError, "not both"),
            ({"corpus_file": tmp_path / "none"}, FileNotFoundError, "none"),
            ({"sentences": [["a", 5]] * 9, "min_count": 1}, TypeError, "words must be str, found 5"),
            ({"sentences": [["a", "b"]]}, RuntimeError, "none occurs 5 times"),
            ({"sentences": []}, RuntimeError, "no words to train"),
            ({"size": 10}, TypeError, "size")]:
        with pytest.raises(error, match=text):
            Word2Vec(**arguments)
    model = Word2Vec(**SMALL)
    with pytest.raises(RuntimeError, match="call build_vocab first"):
        model.train(sentences(), epochs=1)
    model.build_vocab(row for row in sentences())  # once is enough
    model.train((row for row in sentences()), epochs=1)
    for arguments, error, text in [
            ({}, TypeError, "not neither"),
            ({"corpus_iterable": (row for row in sentences()), "epochs": 2}, TypeError, "2 times"),
            ({"corpus_iterable": sentences(), "epochs": 0}, ValueError, "epochs must be"),
            ({"corpus_iterable": sentences(), "word_count": 5}, ValueError, "word_count=5"),
            ({"corpus_iterable": sentences(), "queue_factor": 5}, ValueError, "queue_factor=5"),
            ({"corpus_iterable": sentences(), "end_alpha": -1}, ValueError, "end_alpha at least 0"),
            ({"corpus_iterable": [["x"]]}, ValueError, "none of the 1 words of the text is in the vocabulary of 40")]:
        with pytest.raises(error, match=text):
            model.train(**arguments)
    (tmp_path / "other").write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError, match="export its vectors there with save_word2vec_format"):
        Word2Vec.load(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        Word2Vec.load(tmp_path / "none")


def test_sentences_of_files(tmp_path):
    (tmp_path / "texts").mkdir()
    one = write_lines(tmp_path / "texts" / "1", [["a", "b", "c"], [], ["d"]])
    with gzip.open(tmp_path / "texts" / "2.gz", "wt", encoding="utf-8") as file:
        file.write("é f\n")
    assert list(LineSentence(one)) == [["a", "b", "c"], ["d"]]
    assert list(LineSentence(one, max_sentence_length=2)) == [["a", "b"], ["c"], ["d"]]
    assert list(LineSentence(str(one), limit=1)) == [["a", "b", "c"]]
    with open(one, "rb") as file:
        twice = LineSentence(file)
        assert list(twice) == list(twice) == [["a", "b", "c"], ["d"]]
    assert list(PathLineSentences(tmp_path / "texts")) == [["a", "b", "c"], ["d"], ["é", "f"]]
    assert list(Text8Corpus(one, max_sentence_length=3)) == [["a", "b", "c"], ["d"]]
    assert Word2Vec(corpus_file=tmp_path / "texts", **SMALL).wv.index_to_key == ["a", "b", "c", "d", "f", "é"]
    with pytest.raises(ValueError, match="neither a file nor a directory"):
        PathLineSentences(tmp_path / "none")


def test_output_words():
    model = Word2Vec(sentences(), epochs=20, alpha=0.05, **SMALL)
    words = model.predict_output_word(["Ärzte1", "Ärzte2", "unknown"], topn=5)
    assert len(words) == 5 and all(word.startswith("Ärzte") for word, _ in words)
    assert 0 < sum(share for _, share in words) < 1
    assert model.predict_output_word(["unknown"]) is None
