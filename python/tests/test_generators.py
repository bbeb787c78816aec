"""Rows of generators: batches and rows, anew for each epoch; exceptions come out of fit and end a job."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import flotilla as fl
from conftest import PROGRAM


def weights(trainer):
    return [trainer.parameter(name) for name in trainer.model.parameters + trainer.model.tables]


def parts(rows, size):
    for start in range(0, len(rows["label"]), size):
        yield {name: array[start:start + size] for name, array in rows.items()}


def test_batches_and_rows_train_as_arrays_do(click_model, clicks):
    rows = clicks()

    def single(values):
        for item, numbers, label in zip(rows["item"], rows["numbers"], rows["label"]):
            values.append(1)
            yield {"item": item, "numbers": list(numbers), "label": int(label)}

    seen = []
    made = {
        "arrays": fl.Dataset.from_numpy(rows, shuffle=False),
        "batches": fl.Dataset.from_generator(lambda: parts(rows, 33)),
        "rows": fl.Dataset.from_generator(lambda: single(seen)),
        "tuples": fl.Dataset.from_generator(lambda: zip(rows["item"], rows["numbers"], rows["label"]),
                                            inputs=["item", "numbers", "label"]),
    }
    trained = {}
    for name, dataset in made.items():
        trainer = fl.Trainer(click_model(), threads=1, seed=2)
        history = trainer.fit(dataset, batch_size=50, epochs=2, test=dataset)
        assert history["rows"] == [2000, 2000] and history["test_auc"][-1] > 0.6
        trained[name] = weights(trainer)
    assert len(seen) == 8000, "two epochs and their tests"
    for name in made:
        for one, two in zip(trained[name], trained["arrays"]):
            assert numpy.array_equal(one, two), name
    assert trainer.evaluate(made["batches"])["rows"] == 2000


def test_the_epoch_is_told_and_another_thread_reads(click_model, clicks):
    rows, epochs, threads = clicks(300), [], set()

    def of_epoch(epoch):
        epochs.append(epoch)
        threads.add(threading.get_ident())
        yield from parts(rows, 100)

    dataset = fl.Dataset.from_generator(of_epoch, shuffle_rows=200)
    fl.Trainer(click_model(), threads=2).fit(dataset, epochs=3, batch_size=30)
    assert epochs == [0, 1, 2] and threading.get_ident() not in threads


def test_rows_with_lists_of_ids():
    graph = fl.Graph()
    x = fl.embedding(graph.ids("bag"), dim=2, table="t", init=fl.init.constant(1))
    label = graph.label("y")
    model = fl.Model(graph, loss=fl.reduce_mean(fl.square_error(fl.reduce_sum(x, [1], True), label)),
                     optimizer=fl.SGD(0.1))
    dataset = fl.Dataset.from_generator(lambda: iter([{"bag": [1, 2], "y": 4}, {"bag": [], "y": 0},
                                                      {"bag": [2 ** 64 - 1], "y": 2.0}]))
    assert fl.Trainer(model, threads=1).evaluate(dataset)["loss"] == 0


def test_an_exception_comes_out_with_its_traceback(click_model, clicks):
    closed = []

    def broken():
        try:
            yield from parts(clicks(), 100)
            raise ZeroDivisionError("mine")
        finally:
            closed.append(1)

    trainer = fl.Trainer(click_model(), threads=2)
    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        trainer.fit(fl.Dataset.from_generator(broken), batch_size=100)
    assert raised.traceback[-1].name == "broken"
    assert len(trainer.fit(fl.Dataset.from_generator(lambda: parts(clicks(), 100)))) == 1, "still usable"
    # A run that ends early closes the generator.
    class Stop(fl.Callback):
        def on_epoch_end(self, trainer, epoch, metrics):
            raise KeyError("enough")

    def endless():
        try:
            while True:
                yield from parts(clicks(100), 100)
        finally:
            closed.append(2)

    closed.clear()
    with pytest.raises(ValueError, match="broken"):
        trainer.fit(fl.Dataset.from_generator(lambda: (_ for _ in ()).throw(ValueError("broken"))))
    with pytest.raises(KeyError):
        trainer.fit(fl.Dataset.from_generator(lambda: parts(clicks(100), 100)), callbacks=[Stop()])

    class Interrupt(fl.Callback):
        every_steps = 1

        def on_step(self, trainer, progress):
            os.kill(os.getpid(), signal.SIGINT)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(fl.Dataset.from_generator(endless), batch_size=10, callbacks=[Interrupt()])
    assert time.monotonic() - start < 5 and closed == [2]


@pytest.mark.parametrize("items, message", [
    ([{"item": [1], "numbers": numpy.zeros((1, 2))}], "input label: there is no array of that name"),
    ([{"item": [-1], "numbers": numpy.zeros((1, 2)), "label": [1]}], "input item: -1 at position 0 is negative"),
    ([3], "yields dicts or tuples in the order of the inputs, not int"),
    ([(1, 2)], "yielded 2 values for the 3 inputs item, numbers, label"),
    ([{"item": 1, "numbers": [1], "label": 1}], r"input numbers: shape \(rows, 2\) expected"),
    ([{"item": 1, "numbers": [1, 2], "label": 1}, {"item": 1, "label": 1}], "a row with item, label after"),
    ([], "no rows|rows"),
])
def test_wrong_items_are_named(click_model, items, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fl.Trainer(click_model()).fit(fl.Dataset.from_generator(lambda: iter(items)))


def test_wrong_uses_are_named(click_model, clicks):
    with pytest.raises(TypeError, match="a function that returns an iterator expected, not generator"):
        fl.Dataset.from_generator(parts(clicks(), 10))
    with pytest.raises(TypeError, match="the model lr takes its inputs from rows in files"):
        fl.Trainer("lr").fit(fl.Dataset.from_generator(lambda: parts(clicks(), 10)))


SCRIPT = """
import sys
import numpy
import flotilla as fl

job = fl.Job.from_environment(seed=4)
graph = fl.Graph()
p, label = fl.fc(fl.embedding(graph.ids("item"), dim=4), 2, act="softmax"), graph.label("label")
model = fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adagrad(0.1))
trainer = fl.Trainer(model, job=job, mode="async", threads=1, seed=4)
if job.is_server:
    trainer.serve()
    sys.exit()

def rows(epoch):
    random = numpy.random.default_rng(job.index)
    for _ in range(20):
        yield {"item": random.integers(0, 50, 50), "label": random.integers(0, 2, 50)}
    if epoch == 1 and job.index == 1:
        raise ZeroDivisionError("of a generator")

with trainer:
    print(trainer.fit(fl.Dataset.from_generator(rows), epochs=50, batch_size=50)["rows"])
"""


def test_an_exception_ends_a_job_with_its_cause(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run([PROGRAM, "launch", "--server_num", "1", "--worker_num", "2", "--log_dir", tmp_path / "log",
                           "--", sys.executable, tmp_path / "train.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    for log in ("workerlog.0", "workerlog.1"):
        assert "ZeroDivisionError: of a generator" in (tmp_path / "log" / log).read_text()
