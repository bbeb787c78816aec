#!/usr/bin/env python3
"""Converts lines of word ids to MultiSlot rows, one per sample: input word, true word, negatives.

The pipe command of examples/word2vec/word2vec.cc: for each word it draws a window size of 1 .. window.
Negatives are drawn by count ** 0.75 of the dictionary (lines `word count`) and shared by all samples of a line.
"""

import argparse
import bisect
import itertools
import random
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dict", required=True)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--negatives", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    with open(args.dict, encoding="utf-8") as words:
        weights = list(itertools.accumulate(int(line.split()[-1]) ** 0.75 for line in words))
    for line in sys.stdin:
        ids = line.split()
        negatives = [bisect.bisect(weights, draw.random() * weights[-1]) for _ in range(args.negatives)]
        tail = " ".join(f"1 {word}" for word in negatives)
        for at, target in enumerate(ids):
            reach = draw.randint(1, args.window)
            for other in ids[max(0, at - reach):at] + ids[at + 1:at + 1 + reach]:
                print(f"1 {other} 1 {target} {tail}")


if __name__ == "__main__":
    main()
