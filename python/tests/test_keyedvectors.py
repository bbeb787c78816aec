"""KeyedVectors: similarities against plain numpy and gensim, evaluations, files of both."""

import pickle

import numpy
import pytest

from flotilla.models import KeyedVectors

WORDS = ["the", "King", "queen", "man", "woman", "Über", "zero", "apple"]


def make(seed=1):
    vectors = KeyedVectors(8)
    rows = numpy.random.default_rng(seed).normal(size=(len(WORDS), 8)).astype(numpy.float32)
    rows[WORDS.index("zero")] = 0
    vectors.add_vectors(WORDS, rows, {"count": numpy.arange(len(WORDS), 0, -1)})
    return vectors


def gensim_of(vectors):
    """The same vectors in gensim, or the test is skipped."""
    models = pytest.importorskip("gensim.models", reason="no gensim")
    other = models.KeyedVectors(vectors.vector_size)
    other.add_vectors(vectors.index_to_key, vectors.vectors)
    for key in vectors.index_to_key:
        other.set_vecattr(key, "count", int(vectors.get_vecattr(key, "count")))
    return other


def close(ours, theirs):
    return [word for word, _ in ours] == [word for word, _ in theirs] and numpy.allclose(
        [score for _, score in ours], [score for _, score in theirs], atol=1e-5)


def test_keys_and_vectors():
    vectors = make()
    assert len(vectors) == 8 and "King" in vectors and "king" not in vectors
    assert vectors.key_to_index["queen"] == vectors.get_index("queen") == 2
    assert vectors.get_index("none", default=-5) == -5
    assert numpy.array_equal(vectors["King"], vectors.vectors[1]) and numpy.array_equal(vectors[1], vectors["King"])
    assert vectors[["King", "man"]].shape == (2, 8)
    assert numpy.linalg.norm(vectors.get_vector("King", norm=True)) == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError):
        vectors["King"][0] = 5  # read-only
    with pytest.raises(KeyError, match="Key 'none' not present"):
        vectors["none"]
    with pytest.raises(AttributeError, match="use key_to_index"):
        vectors.vocab
    with pytest.raises(KeyError, match="no attribute 'sort'"):
        vectors.get_vecattr("King", "sort")


def test_keys_are_added_and_replaced():
    vectors = make()
    before = vectors["King"].copy()
    vectors.add_vectors(["King", "new"], numpy.ones((2, 8)))
    assert numpy.array_equal(vectors["King"], before) and (vectors["new"] == 1).all()
    assert vectors.get_vecattr("new", "count") == 0
    vectors["King"] = numpy.full(8, 2)
    vectors[["new", "newer"]] = numpy.full((2, 8), 3)
    assert (vectors["King"] == 2).all() and (vectors["newer"] == 3).all() and len(vectors) == 10
    assert vectors.similarity("new", "newer") == pytest.approx(1)
    vectors.set_vecattr("new", "count", 100)
    vectors.sort_by_descending_frequency()
    assert vectors.index_to_key[:2] == ["new", "the"] and (vectors["new"] == 3).all()
    assert vectors.vectors_for_all(["man", "none", "new", "man"]).index_to_key == ["man", "new"]
    with pytest.raises(ValueError, match=r"1 keys need vectors of the shape \(1, 8\), not \(1, 5\)"):
        vectors.add_vector("x", numpy.ones(5))


def test_similarities_equal_those_of_gensim():
    ours = make()
    theirs = gensim_of(make())
    theirs.vectors[WORDS.index("zero")] = ours.vectors[WORDS.index("zero")] = 0.01  # gensim divides by its length
    ours.fill_norms(force=True)
    theirs.fill_norms(force=True)
    queen = ours["queen"]
    for query in [{"positive": "King"}, {"positive": ["King", "woman"], "negative": ["man"]},
                  {"positive": ["King", "woman"], "negative": ["man"], "topn": 3},
                  {"positive": [("King", 2.0), "woman"], "negative": [("man", 0.5)]},
                  {"positive": [queen], "topn": 2}, {"positive": ["King"], "restrict_vocab": 4},
                  {"positive": ["apple"], "clip_start": 2, "clip_end": 5}, {"positive": queen}]:
        assert close(ours.most_similar(**query), theirs.most_similar(**query)), query
    assert numpy.allclose(ours.most_similar("King", topn=None), theirs.most_similar("King", topn=None), atol=1e-6)
    assert ours.most_similar("King", topn=0) == []
    assert close(ours.most_similar_cosmul(positive=["King", "woman"], negative=["man"]),
                 theirs.most_similar_cosmul(positive=["King", "woman"], negative=["man"]))
    assert close(ours.similar_by_word("man", topn=4), theirs.similar_by_word("man", topn=4))
    assert close(ours.similar_by_vector(queen), theirs.similar_by_vector(queen))
    for name, arguments in [("similarity", ("King", "man")), ("distance", ("King", "man")),
                            ("n_similarity", (["King", "the"], ["man", "apple"])), ("distances", ("King",)),
                            ("distances", ("King", ["man", "the"])), ("rank", ("King", "apple")),
                            ("get_mean_vector", (["King", "none", "man"],)), ("get_normed_vectors", ()),
                            ("relative_cosine_similarity", ("King", "man", 3))]:
        assert numpy.allclose(getattr(ours, name)(*arguments), getattr(theirs, name)(*arguments), atol=1e-5), name
    for name, arguments in [("doesnt_match", (["King", "queen", "apple", "none"],)), ("closer_than", ("King", "apple")),
                            ("most_similar_to_given", ("King", ["man", "apple", "the"]))]:
        assert getattr(ours, name)(*arguments) == getattr(theirs, name)(*arguments), name


def test_a_vector_of_zeros_is_no_error():
    vectors = make()
    assert vectors.similarity("zero", "King") == 0
    assert dict(vectors.most_similar("King", topn=20))["zero"] == 0
    assert (vectors.get_normed_vectors()[WORDS.index("zero")] == 0).all()


def test_wrong_queries_are_named():
    vectors = make()
    with pytest.raises(KeyError, match="Key 'none' not present"):
        vectors.most_similar(["King", "none"])
    with pytest.raises(ValueError, match="pass positive or negative"):
        vectors.most_similar()
    with pytest.raises(ValueError, match="indexer"):
        vectors.most_similar("King", indexer=object())
    with pytest.raises(ValueError, match="none of"):
        vectors.doesnt_match(["none", "never"])
    with pytest.raises(ZeroDivisionError):
        vectors.n_similarity([], ["King"])


def analogies(tmp_path):
    """Vectors on a grid, so that some answers are right, and words that differ only in their case."""
    random = numpy.random.default_rng(3)
    vectors = KeyedVectors(10)
    base, shift = random.normal(size=(12, 10)), random.normal(size=10)
    words = [f"w{i}" for i in range(12)] + [f"Cap{i}" for i in range(12)] + ["W0", "CAP3", "other"]
    rows = numpy.concatenate([base, base + shift + 1.5 * random.normal(size=(12, 10)), base[:1] + 0.1, base[3:4],
                              random.normal(size=(1, 10))])
    vectors.add_vectors(words, rows, {"count": numpy.arange(len(words), 0, -1)})
    path = tmp_path / "questions"
    lines = [f"w{i} cap{i} w{j} cap{j}" for i in range(12) for j in range(12) if i != j]
    path.write_text("\n".join([": one", *lines[:60], ": two", *lines[60:], "w1 unknown w2 cap2", "too few"]) + "\n")
    return vectors, path


def test_analogies_equal_those_of_gensim(tmp_path):
    ours, path = analogies(tmp_path)
    theirs = gensim_of(ours)
    for more in ({}, {"restrict_vocab": 20}, {"dummy4unknown": True}, {"case_insensitive": False}):
        score, sections = ours.evaluate_word_analogies(path, **more)
        try:
            expected, their_sections = theirs.evaluate_word_analogies(str(path), **more)
        except ZeroDivisionError:
            continue
        assert score == pytest.approx(expected or 0), more
        assert sections == their_sections, more
    score, sections = ours.evaluate_word_analogies(path)
    assert 0.1 < score < 0.9 and [section["section"] for section in sections] == ["one", "two", "Total accuracy"]


def test_pairs_equal_those_of_gensim(tmp_path):
    ours, _ = analogies(tmp_path)
    path = tmp_path / "pairs"
    random = numpy.random.default_rng(5)
    path.write_text("# words\n" + "".join(f"w{i}\tcap{(5 * i) % 12}\t{random.random():.3f}\n" for i in range(12))
                    + "none\tw1\t3\nbroken line\n")
    theirs = gensim_of(ours)
    for more in ({}, {"dummy4unknown": True}, {"restrict_vocab": 18}):
        for one, two in zip(ours.evaluate_word_pairs(path, **more), theirs.evaluate_word_pairs(str(path), **more)):
            assert numpy.allclose(one, two, atol=1e-6)
    with pytest.raises(ValueError, match="none of 13 pairs"):
        ours.evaluate_word_pairs(path, case_insensitive=False, restrict_vocab=2)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_what_we_save_and_we_read_theirs(tmp_path, binary):
    models = pytest.importorskip("gensim.models", reason="no gensim")
    ours = make()
    ours.save_word2vec_format(tmp_path / "ours", fvocab=tmp_path / "words", binary=binary)
    read = models.KeyedVectors.load_word2vec_format(str(tmp_path / "ours"), fvocab=str(tmp_path / "words"), binary=binary)
    assert read.index_to_key == ours.index_to_key and numpy.array_equal(read.vectors, ours.vectors)
    assert read.get_vecattr("King", "count") == 7
    read.save_word2vec_format(str(tmp_path / "theirs"), fvocab=str(tmp_path / "words"), binary=binary)
    again = KeyedVectors.load_word2vec_format(tmp_path / "theirs", fvocab=tmp_path / "words", binary=binary)
    assert again.index_to_key == ours.index_to_key and numpy.array_equal(again.vectors, ours.vectors)
    assert again.get_vecattr("King", "count") == 7
    with pytest.raises(ValueError, match="export its vectors there with save_word2vec_format"):
        read.save(str(tmp_path / "pickle"))
        KeyedVectors.load(tmp_path / "pickle")


def test_variants_of_the_word2vec_format(tmp_path):
    vectors = make()
    path = tmp_path / "vectors"
    vectors.save_word2vec_format(path, write_header=False, prefix="p_")
    assert path.read_text().startswith("p_the ")
    glove = KeyedVectors.load_word2vec_format(path, no_header=True)
    assert glove.index_to_key == [f"p_{word}" for word in WORDS] and numpy.array_equal(glove.vectors, vectors.vectors)
    vectors.set_vecattr("apple", "count", 1000)
    vectors.save_word2vec_format(path)
    first = KeyedVectors.load_word2vec_format(path, limit=2, datatype=numpy.float64)
    assert first.index_to_key == ["apple", "the"] and first.vectors.dtype == numpy.float64
    assert first.get_vecattr("apple", "count") > first.get_vecattr("the", "count")
    other = make(seed=2)
    other.add_vector("more", numpy.ones(8))
    other.intersect_word2vec_format(path, lockf=1.0)
    assert numpy.array_equal(other["King"], vectors["King"]) and (other["more"] == 1).all()
    for call, text in [(lambda: vectors.save_word2vec_format(path, append=True), "append"),
                       (lambda: vectors.save_word2vec_format(path, binary=True, write_header=False), "header"),
                       (lambda: KeyedVectors.load_word2vec_format(path, no_header=True), "line 2"),
                       (lambda: other.intersect_word2vec_format(path), "pass lockf=1.0"),
                       (lambda: KeyedVectors.load(tmp_path), "no model|not a model|MANIFEST|manifest")]:
        with pytest.raises((ValueError, FileNotFoundError, IsADirectoryError), match=text):
            call()
    with pytest.raises(IsADirectoryError, match="KeyedVectors.load reads models"):
        KeyedVectors.load_word2vec_format(tmp_path)
    vectors.add_vector("new york", numpy.ones(8))
    with pytest.raises(ValueError, match="the word 'new york' has a blank"):
        vectors.save_word2vec_format(path)


@pytest.mark.parametrize("mmap", [None, "r"])
def test_save_and_load(tmp_path, mmap):
    vectors = make()
    vectors.add_vector("new york\n\ud800", numpy.ones(8))
    vectors.save(tmp_path / "vectors.kv")
    loaded = KeyedVectors.load(tmp_path / "vectors.kv", mmap=mmap)
    for other in (loaded, pickle.loads(pickle.dumps(vectors))):
        assert other.index_to_key == vectors.index_to_key and numpy.array_equal(other.vectors, vectors.vectors)
        assert other.get_vecattr("King", "count") == 7
        assert other.most_similar("King") == vectors.most_similar("King")
    assert isinstance(loaded.vectors, numpy.memmap) == (mmap == "r")
    with pytest.raises(IsADirectoryError, match="save to a file"):
        vectors.save(tmp_path)
