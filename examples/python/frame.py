"""Own data in a data frame: train, score, and the same with scikit-learn's interface.

    PYTHONPATH=build/release/python /usr/bin/python3 examples/python/frame.py
"""

import numpy
import pandas

import flotilla as fl

random = numpy.random.default_rng(1)
rows = 20_000
frame = pandas.DataFrame({
    "city": random.choice(["Bremen", "Kiel", "Lübeck", "Rostock"], rows),
    "shop": pandas.Categorical(random.integers(0, 300, rows)),
    "price": random.lognormal(size=rows).round(2)})
rate = numpy.where(frame["shop"].astype(int) % 3 == 0, 0.6, 0.1) / (1 + frame["price"] / 10)
frame["click"] = (random.random(rows) < rate).astype(int)
train, test = frame[:16_000], frame[16_000:]

trainer = fl.Trainer("wide_deep", seed=1)
history = trainer.fit(fl.Dataset.from_pandas(train, label="click"), test=fl.Dataset.from_pandas(test, label="click"),
                      out="frame_model", overwrite=True)
print(f"test auc {history['test_auc'][-1]:.4f}")
scores = fl.Predictor("frame_model").predict(test.drop(columns="click"))
print(f"mean score {scores.mean():.3f}, share of clicks {test['click'].mean():.3f}")
