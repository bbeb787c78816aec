#!/usr/bin/env python3
"""One side of the word2vec board, with the round protocol of lib.py: each round trains one epoch on a
text and reports the words of the text per second, from the first read after the vocabulary to the last
update; for all sides this includes converting text to ids. Flotilla also reports the speed of its epochs
alone; with --whole all sides report the seconds from raw text to saved vectors. Sides: flotilla (its
program; with --mode on 2 servers and 2 trainers, which share the threads), gensim (corpus_file, its
fastest input), fasttext (its program, without subwords). All sides use the same settings: window 5,
5 negatives, sample 1e-3, min count 5.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

WINDOW, NEGATIVES, SAMPLE, MIN_COUNT = 5, 5, 1e-3, 5


def count_words(path):
    with open(path, "rb") as text:
        return sum(len(line.split()) for line in text)


class Flotilla:
    def __init__(self, args, directory):
        self.args, self.vectors = args, os.path.join(directory, "vectors")

    def run(self, epochs=1, seed=1):
        args = self.args
        job = []
        if args.mode != "local":
            job = ["--mode", args.mode, "--server_num", "2", "--worker_num", "2", "--log_dir",
                   self.vectors + ".log"]
        if args.mode == "geo":
            job += ["--geo_push_nums", args.push_nums, "--geo_divisor", args.divisor]
        threads = args.threads if args.mode == "local" else str(int(args.threads) // 2)
        done = subprocess.run(
            [args.program, "train", "word2vec", *job, "--data", args.text, "--vectors", self.vectors,
             "--dim", args.dim, "--threads", threads, "--epochs", str(epochs), "--seed",
             str(seed), "--window", str(WINDOW), "--negatives", str(NEGATIVES), "--sample",
             str(SAMPLE), "--min_count", str(MIN_COUNT), "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        result = json.loads(done.stdout)
        return {"words_per_second": result["words_per_second"],
                "train_words_per_second": result["train_words_per_second"],
                "whole_seconds": result["seconds"]}


class Gensim:
    def __init__(self, args, directory):
        import gensim.models
        self.models, self.args = gensim.models, args
        self.vectors = os.path.join(directory, "vectors")
        self.words = count_words(args.text)
        self.model = None

    def make(self, epochs, seed):
        return self.models.Word2Vec(
            sg=1, vector_size=int(self.args.dim), window=WINDOW, negative=NEGATIVES, sample=SAMPLE,
            min_count=MIN_COUNT, workers=int(self.args.threads), epochs=epochs, seed=seed)

    def train(self, model, epochs):
        begin = time.perf_counter()
        model.train(corpus_file=self.args.text, total_examples=model.corpus_count,
                    total_words=model.corpus_total_words, epochs=epochs)
        return time.perf_counter() - begin

    def run(self, epochs=1, seed=1):
        begin = time.perf_counter()
        if self.args.whole or self.model is None or epochs > 1:
            self.model = self.make(epochs, seed)
            self.model.build_vocab(corpus_file=self.args.text)
        seconds = self.train(self.model, epochs)
        if self.args.whole or epochs > 1:
            self.model.wv.save_word2vec_format(self.vectors)
        return {"words_per_second": epochs * self.words / seconds,
                "whole_seconds": time.perf_counter() - begin}


class FastText:
    def __init__(self, args, directory):
        self.args, self.out = args, os.path.join(directory, "fasttext")
        self.vectors = self.out + ".vec"

    def run(self, epochs=1, seed=1):
        args = self.args
        begin = time.perf_counter()
        done = subprocess.run(
            ["fasttext", "skipgram", "-input", args.text, "-output", self.out, "-dim", args.dim,
             "-ws", str(WINDOW), "-neg", str(NEGATIVES), "-t", str(SAMPLE), "-minCount",
             str(MIN_COUNT), "-minn", "0", "-maxn", "0", "-epoch", str(epochs), "-thread",
             args.threads, "-lr", "0.025", "-seed", str(seed)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        # The last value that it prints is the mean over the training, for one thread.
        rates = re.findall(r"words/sec/thread:\s*(\d+)", done.stderr)
        return {"words_per_second": int(rates[-1]) * int(args.threads),
                "whole_seconds": time.perf_counter() - begin}


SIDES = {"flotilla": Flotilla, "gensim": Gensim, "fasttext": FastText}


def accuracy(side, args):
    """Analogy and similarity scores after --epochs, by gensim's evaluator, averaged over the seeds."""
    from gensim.models import KeyedVectors
    sums = {"analogy": 0.0, "similarity": 0.0}
    for seed in range(1, args.seeds + 1):
        side.run(args.epochs, seed)
        vectors = KeyedVectors.load_word2vec_format(side.vectors)
        score, _ = vectors.evaluate_word_analogies(args.questions, restrict_vocab=30000)
        sums["analogy"] += score / args.seeds
        _, spearman, _ = vectors.evaluate_word_pairs(args.pairs, restrict_vocab=10**9)
        sums["similarity"] += getattr(spearman, "correlation", spearman[0]) / args.seeds
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--program", help="the flotilla program")
    parser.add_argument("--text", required=True)
    parser.add_argument("--dim", default="100")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--mode", default="local")
    parser.add_argument("--push_nums", default="0")
    parser.add_argument("--divisor", default="none")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--questions", help="score once after --epochs, instead of running rounds")
    parser.add_argument("--pairs")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flotilla_word2vec_") as directory:
        side = SIDES[args.side](args, directory)
        if args.questions:
            print(json.dumps(accuracy(side, args)))
            return
        for _ in sys.stdin:
            print(json.dumps(side.run()), flush=True)


if __name__ == "__main__":
    main()
