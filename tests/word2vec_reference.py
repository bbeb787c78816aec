#!/usr/bin/env python3
"""Compares what Flotilla makes of a text with plain Python and with gensim.

  tests/word2vec_reference.py FLOTILLA

The dictionary against a count in Python; vectors in both formats as gensim reads them, and gensim's as
Flotilla reads them; analogies and word similarity against gensim's evaluators. The text is made here,
so no data is needed; with FLOTILLA_TEST_DATA the dictionary of a real text is compared too.
"""

import collections
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

MIN_COUNT = 5


def run(*arguments):
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"code {done.returncode} from {' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def check(condition, what):
    if not condition:
        sys.exit(f"word2vec_reference: {what}")


def python_dictionary(path):
    counts = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as text:
        for line in text:
            counts.update(re.sub("[^a-z ]", "", line.lower()).split())
    kept = {word: count for word, count in counts.items() if count > MIN_COUNT}
    kept["<UNK>"] = sum(count for count in counts.values() if count <= MIN_COUNT)
    order = sorted(kept.items(), key=lambda item: (-item[1], item[0].encode()))
    return "".join(f"{word} {count}\n" for word, count in order)


def compare_dictionary(flotilla, text, directory):
    for threads in (1, 3):
        dictionary = directory / "dict"
        run(flotilla, "data", "corpus", "build-dict", "--data", text, "--dict", dictionary,
            "--threads", threads)
        check(dictionary.read_text() == python_dictionary(text),
              f"the dictionary of {text} differs from a plain count, {threads} threads")


def make_text(path):
    """Lines that each speak of a country, its capital and its language, in Capitals and 1 number."""
    rng = random.Random(5)
    names = ["".join(letters) for letters in itertools.product("bdfg", "aeou", "lmn", "ai")]
    with open(path, "w") as text:
        for number in range(6000):
            k = rng.randrange(len(names) // 4)
            words = [names[k], "capital" + names[k], "tongue" + names[k],
                     rng.choice(["the", "of", "in", "a"]), "x" * rng.randrange(1, 9)]
            rng.shuffle(words)
            text.write(" ".join(words).title() + f", {number}.\n")
    return names


def make_sets(names, directory):
    questions, pairs = directory / "questions", directory / "pairs"
    used = names[:12]
    with open(questions, "w") as file:
        file.write(": capitals\n")
        for a, b in itertools.permutations(used, 2):
            file.write(f"{a} Capital{a} {b} Capital{b}\n")
        file.write(": unknown\nnobody knows these words\n")
    with open(pairs, "w") as file:
        for k, (a, b) in enumerate(itertools.combinations(used, 2)):
            file.write(f"{a}\tcapital{b}\t{(k * 37) % 11}\n")
    return questions, pairs


def compare_vectors(flotilla, text, names, directory):
    import numpy
    from gensim.models import KeyedVectors
    loaded = {}
    for form in ("text", "binary"):
        run(flotilla, "train", "word2vec", "--data", text, "--vectors", directory / form,
            "--vectors_format", form, "--deterministic", "--dim", 20, "--epochs", 3, "--sample", 0)
        loaded[form] = KeyedVectors.load_word2vec_format(str(directory / form),
                                                         binary=form == "binary")
    check(loaded["text"].index_to_key == loaded["binary"].index_to_key, "the words differ")
    check(numpy.array_equal(loaded["text"].vectors, loaded["binary"].vectors), "the numbers differ")
    vectors = loaded["text"]
    word = names[0]
    expected = vectors.most_similar(word, topn=5)
    for form in ("text", "binary"):
        path = directory / f"gensim_{form}"
        vectors.save_word2vec_format(str(path), binary=form == "binary")
        found = json.loads(run(flotilla, "similar", path, word, "--top", 5, "--json"))["similar"]
        check([w["word"] for w in found] == [w for w, _ in expected],
              f"nearest words of gensim's {form} file: {found}, gensim says {expected}")
    compare_scores(flotilla, vectors, names, directory)


def compare_scores(flotilla, vectors, names, directory):
    questions, pairs = make_sets(names, directory)
    ours = json.loads(run(flotilla, "similar", directory / "text", "--questions", questions,
                          "--pairs", pairs, "--json"))
    score, sections = vectors.evaluate_word_analogies(str(questions), restrict_vocab=30000)
    correct = len(sections[0]["correct"])
    check(ours["analogy"]["correct"] == correct and abs(ours["analogy_accuracy"] - score) < 1e-9,
          f"analogies: {ours['analogy']}, gensim says {score} with {correct} correct")
    check(0 < correct < ours["analogy"]["asked"], "the analogies show nothing")
    spearman = vectors.evaluate_word_pairs(str(pairs), restrict_vocab=10**9)[1][0]
    check(abs(ours["similarity"]["pairs"]["spearman"] - spearman) < 1e-4,
          f"similarity: {ours['similarity']}, gensim says {spearman}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    flotilla = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="flotilla_word2vec_") as name:
        directory = pathlib.Path(name)
        text = directory / "made"
        names = make_text(text)
        compare_dictionary(flotilla, text, directory)
        data = os.environ.get("FLOTILLA_TEST_DATA")
        if data:
            real = directory / "real"
            with open(real, "wb") as file:
                subprocess.run(["zstd", "-dcq", f"{data}/text/lm1b_heldout_dev.txt.zst"],
                               stdout=file, check=True)
            compare_dictionary(flotilla, real, directory)
        try:
            import gensim  # noqa: F401
        except ImportError:
            print("skipped: no gensim")
            return
        compare_vectors(flotilla, text, names, directory)


if __name__ == "__main__":
    main()
