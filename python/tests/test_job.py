"""Jobs of Python programs: every mode, the bits of sync, an exception that ends all processes."""

import subprocess
import sys

import pytest

from conftest import PROGRAM

SCRIPT = """
import sys
import numpy
import flotilla as fl

job = fl.Job.from_environment(seed=4)
graph = fl.Graph()
p = fl.fc(fl.embedding(graph.ids("item"), dim=4, table="items"), 2, act="softmax")
label = graph.label("label")
model = fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adagrad(0.1),
                 metrics=[fl.auc(p, label)], predict=p)
trainer = fl.Trainer(model, job=job, mode=sys.argv[1], threads=1, seed=4)
if job.is_server:
    trainer.serve()
    sys.exit()
random = numpy.random.default_rng(1)
item = random.integers(0, 50, 4000)
rows = fl.Dataset.from_numpy({"item": item, "label": random.random(4000) < item / 50})

class Fail(fl.Callback):
    def on_epoch_end(self, trainer, epoch, metrics):
        if job.index == 1 and sys.argv[3:] == ["fail"]:
            raise ZeroDivisionError("of trainer 1")

with trainer:
    history = trainer.fit(rows.share(job), epochs=3, batch_size=50, out=sys.argv[2], callbacks=[Fail()])
    if job.is_first:
        print("auc", history["auc"][-1], "rows", history["rows"][-1], "row", trainer.table("items").rows([7]).sum())
"""


def launch(tmp_path, servers, *arguments):
    (tmp_path / "train.py").write_text(SCRIPT)
    log = tmp_path / f"log_{servers}_{arguments[0]}"
    return subprocess.run(
        [PROGRAM, "launch", "--server_num", str(servers), "--worker_num", "2", "--log_dir", str(log), "--",
         sys.executable, str(tmp_path / "train.py"), *arguments], capture_output=True, text=True, timeout=120), log


def check_trained(done, log):
    assert done.returncode == 0, done.stderr + (log / "workerlog.0").read_text()
    words = (log / "workerlog.0").read_text().split()
    assert float(words[words.index("auc") + 1]) > 0.7
    assert float(words[words.index("rows") + 1]) == 4000, "of both trainers"


@pytest.mark.parametrize("mode", ["half-async", "async", "geo"])
def test_every_mode_trains(tmp_path, mode):
    check_trained(*launch(tmp_path, 2, mode, str(tmp_path / "model")))


def test_sync_trains_to_the_same_bits_for_any_number_of_servers(tmp_path):
    exported = []
    for servers in (1, 2):
        check_trained(*launch(tmp_path, servers, "sync", str(tmp_path / f"model_{servers}")))
        out = tmp_path / f"{servers}.safetensors"
        subprocess.run([PROGRAM, "export", str(tmp_path / f"model_{servers}"), "--format", "safetensors", "--out",
                        str(out)], check=True, capture_output=True)
        exported.append(out.read_bytes())
    assert exported[0] == exported[1]


def test_an_exception_of_a_trainer_ends_the_job_with_its_cause(tmp_path):
    done, log = launch(tmp_path, 2, "sync", str(tmp_path / "model"), "fail")
    assert done.returncode != 0
    assert "ZeroDivisionError: of trainer 1" in (log / "workerlog.1").read_text()
    assert "ZeroDivisionError: of trainer 1" in (log / "workerlog.0").read_text()


def test_the_same_program_runs_alone(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(tmp_path / "train.py"), "sync", str(tmp_path / "model")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[1]) > 0.7


ZOO = """
import sys
import flotilla as fl

job = fl.Job.from_environment(seed=7)
trainer = fl.Trainer("deepfm", job=job, mode="sync", threads=1, seed=7, dim=4, rows=sys.argv[1], epochs=2,
                     batch_size=100)
if job.is_server:
    trainer.serve()
    sys.exit()
with trainer:
    history = trainer.fit(sys.argv[1], test=sys.argv[1], out=sys.argv[2])
    print("auc", history["test_auc"][-1], "files", trainer.evaluate(sys.argv[1])["auc"])
    try:
        trainer.fit(sys.argv[1], epochs=5)
    except ValueError as error:
        print(error)
"""


def test_a_model_of_the_zoo_has_the_bits_of_the_command(tmp_path):
    rows = tmp_path / "rows"
    rows.mkdir()
    for part in range(2):
        lines = [f"u{(i * 7 + part) % 23},i{i * i % 19},{int((i * 7 + part) % 23 + i * i % 19 > 20)}"
                 for i in range(1000)]
        (rows / f"part-{part}.csv").write_text("\n".join(["user,item,click", *lines]) + "\n")
    (tmp_path / "train.py").write_text(ZOO)
    done = subprocess.run([PROGRAM, "launch", "--server_num", "2", "--worker_num", "2", "--log_dir", tmp_path / "log",
                           "--", sys.executable, tmp_path / "train.py", rows, tmp_path / "python"],
                          capture_output=True, text=True, timeout=120)
    log = (tmp_path / "log" / "workerlog.0").read_text()
    assert done.returncode == 0, done.stderr + log
    words = log.split()
    assert float(words[words.index("auc") + 1]) == pytest.approx(float(words[words.index("files") + 1]), abs=1e-6)
    assert "epochs is 5, but the model was made for 2" in log
    subprocess.run([PROGRAM, "train", "deepfm", "--mode", "sync", "--server_num", "2", "--worker_num", "2", "--threads",
                    "1", "--seed", "7", "--dim", "4", "--epochs", "2", "--batch_size", "100", "--data", rows, "--test",
                    rows, "--out", tmp_path / "command", "--log_dir", tmp_path / "log2"], check=True,
                   capture_output=True, timeout=120)
    exported = []
    for name in ("python", "command"):
        subprocess.run([PROGRAM, "export", tmp_path / name, "--format", "safetensors", "--out", tmp_path / f"{name}.st"],
                       check=True, capture_output=True)
        exported.append((tmp_path / f"{name}.st").read_bytes())
    assert exported[0] == exported[1]
