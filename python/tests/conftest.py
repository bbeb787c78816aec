"""What the tests share: rows of clicks and a small model."""

import os
import subprocess

import numpy
import pytest

import flotilla as fl

PROGRAM = os.environ["FLOTILLA_PROGRAM"]


@pytest.fixture
def clicks():
    """Clicks that depend on the item, as arrays."""

    def make(rows=2000, seed=1):
        random = numpy.random.default_rng(seed)
        item = random.integers(0, 50, rows)
        numbers = random.normal(size=(rows, 2)).astype(numpy.float32)
        score = (item % 5 - 2) + numbers[:, 0]
        label = (random.random(rows) < 1 / (1 + numpy.exp(-score))).astype(numpy.int64)
        return {"item": item, "numbers": numbers, "label": label}

    return make


@pytest.fixture
def click_model():
    """A small network over the rows of `clicks`."""

    def make(rate=0.05):
        graph = fl.Graph()
        x = fl.concat([fl.embedding(graph.ids("item"), dim=4, table="items"), graph.dense("numbers", 2)])
        p = fl.fc(fl.fc(x, 8, act="relu"), 2, act="softmax")
        label = graph.label("label")
        return fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adagrad(rate),
                        metrics=[fl.auc(p, label)], predict=p)

    return make


@pytest.fixture
def flotilla():
    """Runs the command."""

    def run(*arguments, **more):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                              check=True, **more)

    return run
