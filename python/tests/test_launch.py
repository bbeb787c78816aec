"""flotilla.launch: a function as a job, its results, its failures, and no process left."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy
import pytest

import flotilla as fl

PATH = pathlib.Path(fl.__file__).parents[1]


def click_model():
    graph = fl.Graph()
    p = fl.fc(fl.embedding(graph.ids("item"), dim=4, table="items"), 2, act="softmax")
    label = graph.label("label")
    return fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adagrad(0.1),
                    metrics=[fl.auc(p, label)], predict=p)


def train(job, pids, fail=""):
    pathlib.Path(pids, str(os.getpid())).touch()
    trainer = fl.Trainer(click_model(), job=job, mode="sync", seed=4)
    with trainer:
        if fail == "raise" and job.index == 1:
            raise ZeroDivisionError("of trainer 1")
        if fail == "exit" and job.index == 1:
            print("going", flush=True)
            os._exit(9)
        random = numpy.random.default_rng(1)
        item = random.integers(0, 50, 2000)
        rows = fl.Dataset.from_numpy({"item": item, "label": random.random(2000) < item / 50})
        history = trainer.fit(rows.share(job), epochs=2, batch_size=50)
        return job.index, history["auc"][-1], trainer.table("items").rows([7]).sum()


def all_ended(pids):
    deadline = time.monotonic() + 10
    while any(pathlib.Path(f"/proc/{pid.name}").exists() for pid in pids.iterdir()):
        assert time.monotonic() < deadline, "a process is left"
        time.sleep(0.05)
    return len(list(pids.iterdir()))


def test_results_come_back_in_order(tmp_path):
    (tmp_path / "pids").mkdir()
    results = fl.launch(train, servers=2, workers=2, args=[str(tmp_path / "pids")])
    assert [index for index, _, _ in results] == [0, 1]
    assert results[0][1:] == results[1][1:] and results[0][1] > 0.7
    assert all_ended(tmp_path / "pids") == 4


def test_the_first_exception_is_raised_with_its_traceback(tmp_path):
    (tmp_path / "pids").mkdir()
    with pytest.raises(ZeroDivisionError, match="of trainer 1") as raised:
        fl.launch(train, servers=1, workers=2, args=[str(tmp_path / "pids"), "raise"])
    assert 'raise ZeroDivisionError("of trainer 1")' in str(raised.value.__cause__)
    assert all_ended(tmp_path / "pids") == 3


def test_a_process_that_dies_is_named_with_the_end_of_its_log(tmp_path):
    (tmp_path / "pids").mkdir()
    with pytest.raises(fl.Error, match="(?s)launch: worker 1 ended with exit code 9\n.*\n  going\n"):
        fl.launch(train, servers=1, workers=2, args=[str(tmp_path / "pids"), "exit"])
    assert all_ended(tmp_path / "pids") == 3


def test_wrong_uses_are_named():
    with pytest.raises(ValueError, match="workers must be at least 1"):
        fl.launch(train, workers=0)


SCRIPT = """
import sys
sys.modules.update({name: None for name in sys.argv[2:]})  # as if they were not installed
import flotilla as fl

def train(job):
    graph = fl.Graph()
    loss = fl.reduce_mean(fl.square(fl.reduce_sum(fl.embedding(graph.ids("item"), dim=2, table="t"), [1])))
    trainer = fl.Trainer(fl.Model(graph, loss=loss, optimizer=fl.SGD(0.1)), job=job, mode="sync")
    with trainer:
        return NUMBER + job.index

NUMBER = 40
if __name__ == "__main__" or sys.argv[1] == "unguarded":
    print(fl.launch(train, servers=1, workers=2))
"""


def run(tmp_path, *command, **more):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(PATH)}
    return subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=120, **more)


def test_a_function_of_a_script_is_imported_there(tmp_path):
    done = run(tmp_path, "script.py", "guarded", "cloudpickle")
    assert "[40, 41]" in done.stdout, done.stderr
    failed = run(tmp_path, "script.py", "unguarded", "cloudpickle")
    assert failed.returncode != 0 and 'the call belongs under `if __name__ == "__main__":`' in failed.stderr


def test_a_function_of_a_prompt_needs_cloudpickle(tmp_path):
    failed = run(tmp_path, "-", "guarded", "cloudpickle", input=SCRIPT)
    assert failed.returncode != 0 and "needs the package cloudpickle; install it" in failed.stderr
    pytest.importorskip("cloudpickle")
    done = run(tmp_path, "-", "guarded", input=SCRIPT)
    assert "[40, 41]" in done.stdout, done.stderr


def interrupted(job, call):
    """Trainer 0 waits for the other one, which never comes, and is interrupted."""
    trainer = fl.Trainer(click_model(), job=job, mode="sync", seed=4)
    with trainer:
        if job.index == 1:
            time.sleep(1.5)  # until the job has ended
            job._core.barrier()
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("alarm")))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        try:
            if call == "barrier":
                job._core.barrier()
            else:
                trainer.feed()({"item": [1], "label": [0]})
        except TimeoutError:
            raise TimeoutError(f"after {time.monotonic() - start:.2f} s") from None


@pytest.mark.parametrize("call", ["barrier", "step"])
def test_a_signal_ends_a_call_that_waits_for_other_trainers(call):
    with pytest.raises(TimeoutError, match="after (0|1.[0-2])"):
        fl.launch(interrupted, servers=1, workers=2, args=[call])


def test_the_programs_handler_of_ended_children_stays(tmp_path):
    heard = []
    former = signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
    try:
        assert fl._core.launch_local(["true"], 1, 1, str(tmp_path), {}, 1.0) == (0, "")
        heard.clear()
        subprocess.run(["true"], check=True)
        assert heard
    finally:
        signal.signal(signal.SIGCHLD, former)
