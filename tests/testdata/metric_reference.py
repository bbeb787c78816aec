#!/usr/bin/env python3
"""AUCs of scikit-learn's roc_auc_score, for flotilla/metric/auc_test.cc.

Run it to write metric_reference.txt beside it. Only the AUCs are recorded: both sides make the rows
from whole numbers. Random numbers come from x = (x * 1103515245 + 12345) mod 2^31, starting at the
seed, of which the upper 24 bits are used. A row takes two: it is positive when the first is a
multiple of 4, and its score is the second, plus `shift` for a positive (at most 2^24 - 1), cut down
to a multiple of 2^24 / levels, divided by 2^24. With up to 4096 levels the scores are multiples of
1/4096; few levels make many ties.

Lines that begin with "rate" are of click models of a base rate. A row takes three numbers u, v, w:
it is positive when u < rate * 2^24. With x = (v + 0.5) / 2^24, for a positive row the larger of v
and w in place of v, its score is x / (x + (1 - x) / odds), odds = rate / (1 - rate), or, where
`narrow` is not 0, rate * (1 + x / narrow): nearly the same for all. Scores are rounded to float32.
"""
import pathlib

import numpy
import sklearn
from sklearn.metrics import roc_auc_score

# seed, rows, levels, shift
CASES = [
    (1, 5000, 4096, 0),
    (2, 5000, 4096, 1 << 22),
    (3, 3000, 16, 1 << 21),
    (4, 1000, 2, 1 << 22),
    (5, 5000, 1 << 24, 0),
    (6, 5000, 1 << 24, 1 << 22),
    (7, 20000, 1 << 14, 1 << 20),
    (8, 500, 1 << 16, 1 << 23),
]

# seed, rows, rate, narrow
RATE_CASES = [
    (1, 300000, 0.5, 0),
    (2, 300000, 0.01, 0),
    (3, 1000000, 0.001, 0),
    (4, 1000000, 0.0004, 0),
    (5, 1000000, 0.9996, 0),
    (6, 300000, 0.01, 1000),
    (7, 1000000, 0.0004, 100),
    (8, 300000, 0.5, 1000000),
]


def make_rows(seed, count, levels, shift):
    x = seed

    def draw():
        nonlocal x
        x = (x * 1103515245 + 12345) % 2**31
        return x >> 7

    step = 2**24 // levels
    scores, labels = [], []
    for _ in range(count):
        positive = draw() % 4 == 0
        score = draw()
        if positive:
            score = min(score + shift, 2**24 - 1)
        scores.append(score // step * step / 2**24)
        labels.append(int(positive))
    return scores, labels


def make_rate_rows(seed, count, rate, narrow):
    x = seed

    def draw():
        nonlocal x
        x = (x * 1103515245 + 12345) % 2**31
        return x >> 7

    odds = rate / (1 - rate)
    scores, labels = [], []
    for _ in range(count):
        positive = draw() < rate * 2**24
        v, w = draw(), draw()
        part = ((max(v, w) if positive else v) + 0.5) / 2**24
        if narrow:
            scores.append(rate * (1 + part / narrow))
        else:
            scores.append(part / (part + (1 - part) / odds))
        labels.append(int(positive))
    return numpy.float32(scores), labels


def main():
    lines = [
        f"# Written by metric_reference.py with scikit-learn {sklearn.__version__}.",
        "# seed rows levels shift auc",
    ]
    for case in CASES:
        scores, labels = make_rows(*case)
        auc = float(roc_auc_score(labels, scores))
        lines.append(" ".join(str(x) for x in case) + f" {auc:.17g}")
    lines.append("# rate seed rows rate narrow auc")
    for case in RATE_CASES:
        scores, labels = make_rate_rows(*case)
        auc = float(roc_auc_score(labels, scores))
        lines.append("rate " + " ".join(str(x) for x in case) + f" {auc:.17g}")
    path = pathlib.Path(__file__).with_name("metric_reference.txt")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
