#!/usr/bin/env bash
# Packs the wheel, installs it into a new virtual environment without a network, and trains there.
# usage: wheel_test.sh CMAKE BUILD_DIRECTORY PYTHON
set -euo pipefail
cmake=$1 build=$2 python=$3
for module in pip setuptools wheel venv; do
  "$python" -c "import $module" 2>/dev/null || { echo "skipped: $python has no $module"; exit 0; }
done
"$cmake" --build "$build" --target wheel
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$python" -m venv --system-site-packages "$directory/venv"
"$directory/venv/bin/python" -m pip --disable-pip-version-check install --no-index "$build"/wheels/flotilla-*.whl
cd "$directory"
# Nothing of the build directory is seen.
env -u PYTHONPATH "$directory/venv/bin/python" - <<'PYTHON'
import pathlib
import sys

import numpy
import flotilla as fl

assert pathlib.Path(fl.__file__).is_relative_to(sys.prefix), fl.__file__
graph = fl.Graph()
p, label = fl.fc(fl.embedding(graph.ids("item"), dim=4), 2, act="softmax"), graph.label("click")
model = fl.Model(graph, loss=fl.reduce_mean(fl.cross_entropy(p, label)), optimizer=fl.Adagrad(0.1),
                 metrics=[fl.auc(p, label)], predict=p)
item = numpy.random.default_rng(1).integers(0, 50, 5000)
history = fl.Trainer(model).fit({"item": item, "click": item % 2}, epochs=2, batch_size=100, out="model")
assert history["auc"][-1] > 0.9, history
assert fl.Predictor("model").predict({"item": [1, 2]}).shape == (2,)
print("trained", fl.__version__, history)
PYTHON
