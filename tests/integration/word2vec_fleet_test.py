"""Word vectors over servers as real processes: the modes find planted relations, and what they save
is what infer scores.

usage: word2vec_fleet_test.py PATH_OF_FLOTILLA PATH_OF_EXAMPLE
PATH_OF_EXAMPLE is the program of examples/word2vec.
"""

import json
import pathlib
import sys
import tempfile
import unittest

import fleet_job
from fleet_job import PROGRAM

EXAMPLE = pathlib.Path(sys.argv[2]).resolve()
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/word2vec/samples.py"
# A sanitizer needs no more than the paths.
WORDS = 400_000 if fleet_job.PATIENCE == 1 else 40_000
EPOCHS = 3


def run(*args):
    return fleet_job.run(PROGRAM, *args)


class Word2VecFleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory(prefix="flotilla_word2vec_")
        cls.data = pathlib.Path(cls.dir.name) / "data"
        made = run("data", "synth", "corpus", "--words", WORDS, "--vocabulary", 2000, "--out", cls.data)
        assert made.returncode == 0, made.stderr
        cls.questions = cls.data / "questions-words.txt"

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def train(self, name, *more):
        self.out = pathlib.Path(self.dir.name) / name
        self.log = pathlib.Path(self.dir.name) / f"log_{name}"
        job = ["--log_dir", self.log] if "--mode" in more else []
        return run("train", "word2vec", "--data", self.data / "corpus", "--dim", 32, "--epochs", EPOCHS, *job,
                   "--out", self.out, "--questions", self.questions, "--json", *more)

    def check(self, trained):
        self.assertEqual(trained.returncode, 0, trained.stderr)
        result = json.loads(trained.stdout)
        self.assertGreater(result["words"], 0.99 * WORDS * EPOCHS)
        scores = run("infer", self.out, "--questions", self.questions, "--json")
        self.assertEqual(scores.returncode, 0, scores.stderr)
        self.assertEqual(json.loads(scores.stdout)["analogy"], result["analogy"])
        return result

    def test_modes_with_servers_train_all_words_and_save_what_infer_reads(self):
        local = self.check(self.train("local", "--threads", 2))
        for mode in ("geo", "async"):
            with self.subTest(mode=mode):
                result = self.check(self.train(mode, "--mode", mode, "--server_num", 2, "--worker_num", 2))
                self.assertEqual(result["mode"], mode)
                self.assertEqual(result["words"], local["words"])
                self.assertEqual(result["vocabulary"], local["vocabulary"])
                if fleet_job.PATIENCE == 1:  # a few batches tell nothing of it
                    self.assertLess(result["loss"], 1.1 * local["loss"])
                self.assertTrue((self.log / "dictionary").exists())

    def test_the_other_modes_train_all_words_too(self):
        jobs = {"half-async": ["--mode", "half-async"], "sync": ["--mode", "sync"],
                "geo as the tutorials": ["--mode", "geo", "--geo_push_nums", 400, "--geo_divisor",
                                         "trainers"]}
        for name, more in jobs.items():
            with self.subTest(job=name):
                run_of = self.train(name.replace(" ", "_"), *more, "--server_num", 2, "--worker_num", 2,
                                    "--epochs", 1)
                self.assertEqual(run_of.returncode, 0, run_of.stderr)
                self.assertGreater(json.loads(run_of.stdout)["words"], 0.99 * WORDS)

    def test_a_job_starts_from_vectors_and_keeps_their_words(self):
        start = pathlib.Path(self.dir.name) / "start.txt"
        start.write_text("1 32\nnowhere " + " ".join(["0.5"] * 32) + "\n")
        for mode in ("geo", "async"):
            with self.subTest(mode=mode):
                run_of = self.train(f"from_{mode}", "--mode", mode, "--server_num", 2, "--worker_num", 2,
                                    "--epochs", 1, "--init_model", start)
                self.assertEqual(run_of.returncode, 0, run_of.stderr)
                vectors = pathlib.Path(self.dir.name) / f"from_{mode}.txt"
                made = run("export", self.out, "--format", "word2vec", "--out", vectors)
                self.assertEqual(made.returncode, 0, made.stderr)
                kept = [line for line in vectors.read_text().splitlines() if line.startswith("nowhere ")]
                self.assertEqual([float(x) for x in kept[0].split()[1:]], [0.5] * 32)

    def test_every_process_of_a_launch_makes_the_same_dictionary(self):
        log = pathlib.Path(self.dir.name) / "log_launch"
        out = pathlib.Path(self.dir.name) / "launched"
        job = run("launch", "--server_num", 1, "--worker_num", 2, "--log_dir", log, "--", PROGRAM, "train",
                  "word2vec", "--data", self.data / "corpus", "--dim", 16, "--epochs", 1, "--mode", "sync",
                  "--threads", 1, "--out", out)
        self.assertEqual(job.returncode, 0, job.stderr)
        scores = run("infer", out, "--questions", self.questions, "--json")
        self.assertEqual(scores.returncode, 0, scores.stderr)

    def test_the_example_trains_samples_in_every_mode(self):
        base = pathlib.Path(self.dir.name)
        small, dictionary, ids = base / "small", base / "dict", base / "ids"
        for args in (("data", "synth", "corpus", "--words", 8000, "--vocabulary", 100, "--out", small),
                     ("data", "corpus", "build-dict", "--data", small / "corpus", "--dict", dictionary),
                     ("data", "corpus", "filter", "--data", small / "corpus", "--dict", dictionary,
                      "--out", ids, "--downsample", 0)):
            made = run(*args)
            self.assertEqual(made.returncode, 0, made.stderr)
        words = len(dictionary.read_text().splitlines())
        for mode in ("local", "sync", "half-async", "async", "geo"):
            with self.subTest(mode=mode):
                log_dir = base / f"log_example_{mode}"
                job = [] if mode == "local" else ["--mode", mode, "--server_num", "1", "--worker_num", "1",
                                                  "--log_dir", log_dir]
                done = fleet_job.run(
                    EXAMPLE, "--data", ids, "--pipe_command",
                    f"{sys.executable} {SAMPLES} --dict {dictionary}", "--vocabulary", words, "--dim", 8,
                    "--batch_size", 100, "--out", base / f"example_{mode}", *job)
                self.assertEqual(done.returncode, 0, done.stderr)
                log = done.stderr if mode == "local" else (log_dir / "workerlog.0").read_text()
                loss = float(log.split("loss=")[1].split()[0].rstrip(","))
                self.assertLess(loss, 4.1, "six terms of log 2 are 4.16")
        # Its model knows ids only; the words are those of the dictionary.
        questions = small / "questions-words.txt"
        scores = run("infer", base / "example_local", "--dict", dictionary, "--questions", questions)
        self.assertEqual(scores.returncode, 0, scores.stderr)
        self.assertEqual(run("infer", base / "example_local", "--questions", questions).returncode, 2)

    def test_a_mode_without_servers_is_a_usage_error(self):
        result = self.train("none", "--mode", "geo")
        self.assertEqual(result.returncode, 2)
        self.assertIn("needs servers", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
