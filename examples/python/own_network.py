"""A network of one's own on arrays, as one process or as a job:

    PYTHONPATH=build/release/python /usr/bin/python3 examples/python/own_network.py
    PYTHONPATH=$PWD/build/release/python build/release/flotilla launch --server_num 2 --worker_num 2 -- \
        /usr/bin/python3 examples/python/own_network.py
"""

import sys

import numpy

import flotilla as fl


def click_model(dim=8):
    graph = fl.Graph()
    slots = [fl.embedding(graph.ids(name), dim=dim, table="emb") for name in ("user", "item")]
    x = fl.concat([*slots, graph.dense("numbers", 2)])
    for _ in range(2):
        x = fl.fc(x, 32, act="relu")
    p, label = fl.fc(x, 2, act="softmax"), graph.label("click")
    return fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adam(5e-3),
                    metrics=[fl.auc(p, label)], predict=p)


def rows(count, seed):
    random = numpy.random.default_rng(seed)
    user, item = random.integers(0, 1000, count), random.integers(1000, 1500, count)
    numbers = random.normal(size=(count, 2))
    score = (user % 10 - 5) * (item % 7 - 3) / 5 + numbers[:, 0]
    return {"user": user, "item": item, "numbers": numbers,
            "click": random.random(count) < 1 / (1 + numpy.exp(-score))}


job = fl.Job.from_environment(seed=1)
trainer = fl.Trainer(click_model(), job=job, mode="async", seed=1)
if job.is_server:
    trainer.serve()
    sys.exit()
train = fl.Dataset.from_numpy(rows(100_000, seed=1)).share(job)
test = fl.Dataset.from_numpy(rows(10_000, seed=2)).share(job)
with trainer:
    history = trainer.fit(train, epochs=3, batch_size=100, test=test)
    if job.is_first:
        print(f"test auc {history['test_auc'][-1]:.4f}")
