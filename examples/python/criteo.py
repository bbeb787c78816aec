"""Trains a field-aware factorization machine on Criteo rows and scores them.

    flotilla data synth criteo --rows 200000 --out rows
    PYTHONPATH=build/release/python /usr/bin/python3 examples/python/criteo.py rows/train rows/test
"""

import sys

import flotilla as fl

train, test = sys.argv[1:]
trainer = fl.Trainer("ffm", seed=1)
history = trainer.fit(train, test=test, out="criteo_model", overwrite=True)
print(f"test auc {history['test_auc'][-1]:.4f} after {len(history)} epochs, best {history.best:.4f}")
