"""word2vec_quality: the quality of word vectors after five epochs, by gensim's evaluator: against gensim
and fasttext, and of every mode with 2 servers and 2 trainers against one process. Questions and pairs are
in the directory given by FLOTILLA_TEST_DATA. A quick run trains one epoch on a part of the text: it checks
that all sides run, and has no floors for their scores.
"""

import os
import tempfile

import lib
from word2vec_sides import SEEDS_GEO, check_peers, make_text, side, test_data

POINTS_BELOW = 0.01
GEO_POINTS_BELOW = 0.015
EPOCHS = 5
MODES = {
    "geo": ["--mode", "geo"],
    "geo as the seeds, 400": SEEDS_GEO,
    "async": ["--mode", "async"],
    "half-async": ["--mode", "half-async"],
    "sync": ["--mode", "sync"],
}


class Scores:
    """Trains a side and scores its vectors; the scores are means over the seeds."""

    def __init__(self, settings, python, text):
        self.settings, self.python, self.text = settings, python, text
        self.epochs = 1 if settings.quick else EPOCHS
        self.sets = test_data() / "similarity"

    def of(self, name, seeds, *more):
        return lib.run_once(side(
            self.settings, self.python, self.text, name, "--questions",
            self.sets / "questions-words.txt", "--pairs", self.sets / "wordsim353.txt", "--epochs",
            self.epochs, "--seeds", seeds, *more))

    def floor(self, points):
        return None if self.settings.quick else -points


def compare_peers(scores, report):
    ours = scores.of("flotilla", 2)
    for peer in ("gensim", "fasttext"):
        theirs = scores.of(peer, 2)
        for measure in ("analogy", "similarity"):
            report.ratio(f"{measure} after {scores.epochs} epochs - {peer}'s",
                         [ours[measure] - theirs[measure]], at_least=scores.floor(POINTS_BELOW))
            report.figure(f"{measure} of {peer}, percent", 100 * theirs[measure])
    for measure, value in ours.items():
        report.figure(f"{measure} of flotilla, percent", 100 * value)


def compare_modes(scores, report):
    local = scores.of("flotilla", 1)
    for name, more in MODES.items():
        score = scores.of("flotilla", 1, *more)
        report.ratio(f"analogy after {scores.epochs} epochs, {name} 2 x 2 - local's",
                     [score["analogy"] - local["analogy"]],
                     at_least=scores.floor(GEO_POINTS_BELOW) if name == "geo" else None)


def run(settings):
    python = check_peers(settings.python)
    if not test_data():
        raise lib.BoardError("no questions: set FLOTILLA_TEST_DATA")
    report = lib.Report("word2vec_quality")
    with tempfile.TemporaryDirectory(prefix="flotilla_word2vec_") as directory:
        text = os.path.join(directory, "text")
        make_text(settings, text)
        scores = Scores(settings, python, text)
        compare_peers(scores, report)
        compare_modes(scores, report)
    return report
