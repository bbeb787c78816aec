"""The public Fleet scripts, unmodified, from the directory that FLOTILLA_FLEET_SCRIPTS names: re_ctr/examples and
re-word2vec/examples of MrChengmo/Fleet (branches of these names), fleetx/deprecated/fleet_x/examples of
PaddlePaddle/Fleet. Each runs in a copy of its directory, on small made-up rows, alone and as 2 servers and 2
trainers."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import pytest

ORIGINALS = os.environ.get("FLOTILLA_FLEET_SCRIPTS")
pytestmark = pytest.mark.skipif(not ORIGINALS, reason="FLOTILLA_FLEET_SCRIPTS names no directory of scripts")
LAUNCH = ["-m", "paddle.distributed.launch_ps", "--worker_num", "2", "--server_num", "2", "--log_dir", "log"]


class Script:
    """A copy of a directory of scripts, and runs in it."""

    def __init__(self, tmp_path, directory):
        self.path = tmp_path / "scripts"
        shutil.copytree(pathlib.Path(ORIGINALS) / directory, self.path)

    def run(self, *arguments):
        """Standard output and error of flotilla-paddle."""
        done = subprocess.run([sys.executable, "-m", "flotilla.paddle", *arguments], cwd=self.path, timeout=900,
                              capture_output=True, text=True)
        text = done.stdout + done.stderr
        assert done.returncode == 0, text[-3000:] + self.log("*")
        return text

    def launch(self, *arguments):
        """The log of the first trainer."""
        self.run(*LAUNCH, *arguments)
        return self.log("workerlog.0")

    def log(self, name):
        return "".join(path.read_text()[-3000:] for path in self.path.glob(f"log/{name}"))


def last(pattern, text):
    """The last number that follows a pattern."""
    found = re.findall(pattern + r"[^\d\n]*([\d.]+)", text)
    assert found, text[-2000:]
    return float(found[-1])


def criteo_rows(path, count, seed):
    """Clicks that depend on the first four categories."""
    random = numpy.random.default_rng(seed)
    with open(path, "w") as file:
        for _ in range(count):
            categories = random.integers(0, 30, 26)
            score = (categories[:4] % 3 - 1).sum()
            label = int(random.random() < 1 / (1 + numpy.exp(-1.5 * score)))
            numbers = [str(each) if each < 40 else "" for each in random.integers(0, 50, 13)]
            print(label, *numbers, *(f"{each:08x}" for each in categories), sep="\t", file=file)


@pytest.fixture
def quick_start(tmp_path):
    return Script(tmp_path, "re_ctr/examples/quick-start")


def test_quick_start(quick_start):
    assert abs(last("step1000 cost=", quick_start.run("local_train.py")) - 0.69) < 0.05


def test_quick_start_distributed(quick_start):
    assert abs(last("step1000 cost =", quick_start.launch("distributed_train.py")) - 0.69) < 0.05


@pytest.fixture
def distribute_ctr(tmp_path):
    script = Script(tmp_path, "re_ctr/examples/distribute_ctr")
    for name, files in (("train_data", 4), ("test_data", 1)):
        (script.path / name).mkdir()
        for i in range(files):
            criteo_rows(script.path / name / f"part-{i}", 3000, seed=i + files)
    return script


TRAIN = ("--test", "True", "--epochs", "2", "--learning_rate", "0.003", "--batch_size", "100")


def infer(script):
    script.run("infer.py", "--batch_size", "100")
    results = sorted(script.path.glob("model/epoch_*/infer_result.log"))
    assert len(results) == 2
    return last("'auc'", results[-1].read_text())


def test_distribute_ctr_local(distribute_ctr):
    distribute_ctr.run("local_train.py", *TRAIN)
    assert infer(distribute_ctr) > 0.8


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_distribute_ctr(distribute_ctr, mode):
    log = distribute_ctr.launch(f"{mode}_train.py", *TRAIN)
    assert "Distribute Train Success!" in log
    assert infer(distribute_ctr) > 0.75


def ctr(tmp_path, rows):
    script = Script(tmp_path, "re_ctr/examples/ctr")
    (script.path / "raw_data").mkdir()
    for i in range(2):
        criteo_rows(script.path / "raw_data" / f"part-{i}", rows, seed=i)
    return script


def test_ctr(tmp_path):
    # It prints after 100 batches of 100 rows.
    assert 0.5 < last("data: ", ctr(tmp_path, 5100).run("train.py", "--is_local", "1")) <= 1


def test_ctr_distributed(tmp_path):
    ctr(tmp_path, 400).launch("train.py", "--is_local", "0")


@pytest.fixture
def word2vec(tmp_path):
    """Sentences of two topics; analogies are of words that always come together."""
    script = Script(tmp_path, "re-word2vec/examples/word2vec")
    random = numpy.random.default_rng(1)
    words = [chr(97 + i) * (2 + j) for i in range(10) for j in range(5)]
    for directory in ("text", "thirdparty", "test_data", "model", "result"):
        (script.path / directory).mkdir()
    for part in range(2):
        lines = (" ".join(random.choice(words[5 * i:5 * i + 10], 12)) for i in random.integers(0, 9, 300))
        (script.path / "text" / f"part-{part}").write_text("\n".join(lines) + "\n")
    (script.path / "test_data" / "questions").write_text(": pairs\n" + "".join(
        f"{words[i]} {words[i + 1]} {words[i + 5]} {words[i + 6]}\n" for i in range(40)))
    script.run("preprocess.py", "--build_dict", "--build_dict_corpus_dir", "text", "--dict_path",
               "thirdparty/test_build_dict", "--min_count", "1")
    script.run("preprocess.py", "--filter_corpus", "--dict_path", "thirdparty/test_build_dict", "--input_corpus_dir",
               "text", "--output_corpus_dir", "train_data", "--downsample", "1.0")
    return script


W2V = ("--epochs", "2", "--embedding_size", "16", "--learning_rate", "0.5")


def test_word2vec_local_and_infer(word2vec):
    log = word2vec.run("model.py", "--training_method", "local", *W2V)
    assert "Local train Success!" in log
    again = word2vec.run("model.py", "--infer", "True", "--model_path", "model/local__epoch_1", *W2V)
    assert last("acc:", again) == last("acc:", log)


def test_word2vec_cluster(word2vec):
    log = word2vec.launch("model.py", "--training_method", "local_cluster", "--test", "True", *W2V)
    assert "Distribute train success!" in log
    word2vec.run("model.py", "--infer", "True", "--model_path", "model/trainer_0_epoch_1", *W2V)


def test_fleetx_ctr_app(tmp_path):
    script = Script(tmp_path, "fleetx/deprecated/fleet_x/examples")
    (script.path / "ctr_data" / "train_data").mkdir(parents=True)
    for i in range(2):
        criteo_rows(script.path / "ctr_data" / "train_data" / f"part-{i}", 8000, seed=i)
    assert last("auc:", script.launch("ctr_app.py")) > 0.4
    assert last("auc:", script.run("ctr_app.py")) > 0.4
