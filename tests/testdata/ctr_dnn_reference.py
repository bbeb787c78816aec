#!/usr/bin/python3
"""Ten training steps of CTR-DNN in PyTorch: the figures that Flotilla's parity test must meet.

Writes ctr_dnn_reference.json and ctr_dnn_reference.bin beside this script (Debian: python3-torch).
Shares no code with Flotilla; initial values and batches follow the recipe below, in integers and
powers of two, so that both sides start from the same bits.

The recipe. All numbers come from a counter-based generator (64-bit arithmetic, wraps around):

  mix(x)          x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9; x = (x ^ x >> 27) * 0x94d049bb133111eb;
                  x ^ x >> 31
  key(seed)       mix(seed + G), G = 0x9e3779b97f4a7c15
  key / part      key(key ^ mix(part + G))
  bits(key, i)    mix(key + (i + 1) * G)
  uniform(key, i) (bits(key, i) >> 40) * 2^-24
  below(key, i, n) (bits(key, i) * n) >> 64, the product in 128 bits

This is RngKey(seed).With(part) of flotilla/base/rng.h. With root = key(20260101):

  table (rows, 10), row-major element i     (uniform(root/1, i) - 0.5) * 2^-4
  weight of layer l (in, out), element i    (uniform(root/2/l, i) - 0.5) * 2^weight_exponents[l]
  bias of layer l, element i                (uniform(root/3/l, i) - 0.5) * 2^-4
  batch b, example e, slot s, c = 26 e + s  with k = root/4/b:
                                            id = below(k, 2c, below(k, 2c + 1, rows) + 1)
  batch b, example e, dense d               uniform(root/5/b, 13 e + d) - 0.25
  batch b, example e, label                 1 if below(root/6/b, e, 4) == 0 else 0

The network: input (batch, 273) = 26 embeddings of 10 in the order of the slots, then 13 dense
values; three layers x W + b with relu; one to 2 columns; loss = sum over the batch of the cross
entropy of softmax. Gradients of one id that occurs several times in a batch are summed first.

  sgd   w -= rate g
  adam  m = 0.9 m + 0.1 g; v = 0.999 v + 0.001 g^2; t = number of the step from 1, for every row;
        w -= rate (m / (1 - 0.9^t)) / (sqrt(v / (1 - 0.999^t)) + 1e-8)
        lazy on the table: rows that are not in the batch keep w, m and v.

Epsilon stands beside the square root of the corrected v, as in torch.optim.Adam, which updates the
dense parameters here. torch.optim.SparseAdam has the same global t but adds epsilon to sqrt(v)
before the correction, so the table is updated by the lines below; the JSON records how far
SparseAdam is from them. The figures are computed in float64 and stored as float32; the JSON also
records how far a float32 run of the same script is from them.
"""

import json
import pathlib

import numpy as np
import torch

SEED = 20260101
STEPS = 10
BATCH = 100
ROWS = 1000
SLOTS, DIM, DENSE = 26, 10, 13
SAMPLES = 64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)

# Hidden width, weight exponents by layer, and whether all tensors are written in full.
NETWORKS = {
    "narrow": {"hidden": 40, "weight_exponents": [-2, -1, -1, -1], "full": True},
    "wide": {"hidden": 400, "weight_exponents": [-2, -3, -3, -3], "full": False},
}
OPTIMIZERS = {
    "sgd": {"rule": "sgd", "rate": 4e-3},
    "adam_1e-3": {"rule": "adam", "rate": 1e-3},
    "adam_1e-4": {"rule": "adam", "rate": 1e-4},
}


def mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Key:
    """RngKey: a pure function of a key and a counter, on arrays of counters."""

    def __init__(self, seed):
        self.state = mix(np.array([seed], dtype=np.uint64) + GOLDEN)

    def __truediv__(self, part):
        return Key((self.state ^ mix(np.array([part], dtype=np.uint64) + GOLDEN))[0])

    def bits(self, counters):
        return mix(self.state + (np.asarray(counters).astype(np.uint64) + np.uint64(1)) * GOLDEN)

    def uniform(self, counters):
        return (self.bits(counters) >> np.uint64(40)).astype(np.float64) * 2.0**-24

    def below(self, counters, bounds):
        bits = self.bits(counters)
        bounds = np.broadcast_to(bounds, bits.shape)
        return np.array([(int(b) * int(n)) >> 64 for b, n in zip(bits, bounds)], dtype=np.int64)


def initial_tensors(network):
    root = Key(SEED)
    hidden = network["hidden"]
    widths = [SLOTS * DIM + DENSE, hidden, hidden, hidden, 2]

    def values(key, shape, exponent):
        count = int(np.prod(shape))
        return ((key.uniform(np.arange(count)) - 0.5) * 2.0**exponent).reshape(shape)

    tensors = {"SparseFeatFactors": values(root / 1, (ROWS, DIM), -4)}
    for layer in range(4):
        shape = (widths[layer], widths[layer + 1])
        exponent = network["weight_exponents"][layer]
        tensors[f"fc_{layer}.w_0"] = values(root / 2 / layer, shape, exponent)
        tensors[f"fc_{layer}.b_0"] = values(root / 3 / layer, shape[1:], -4)
    return tensors


def make_batch(number):
    root = Key(SEED)
    counters = np.arange(BATCH * SLOTS)
    key = root / 4 / number
    ids = key.below(2 * counters, key.below(2 * counters + 1, ROWS) + 1).reshape(BATCH, SLOTS)
    dense = (root / 5 / number).uniform(np.arange(BATCH * DENSE)).reshape(BATCH, DENSE) - 0.25
    labels = (root / 6 / number).below(np.arange(BATCH), 4) == 0
    return ids, dense, labels.astype(np.int64)


class LazyAdam:
    """Adam on the rows of a batch alone, with the same step count for every row."""

    def __init__(self, table, rate):
        self.table, self.rate, self.step_count = table, rate, 0
        self.m, self.v = torch.zeros_like(table), torch.zeros_like(table)

    def step(self):
        gradient = self.table.grad.coalesce()
        rows, g = gradient.indices()[0], gradient.values()
        self.step_count += 1
        with torch.no_grad():
            self.m[rows] = 0.9 * self.m[rows] + 0.1 * g
            self.v[rows] = 0.999 * self.v[rows] + 0.001 * g * g
            m = self.m[rows] / (1 - 0.9**self.step_count)
            v = self.v[rows] / (1 - 0.999**self.step_count)
            self.table[rows] -= self.rate * m / (v.sqrt() + 1e-8)


def make_optimizers(tensors, rule, rate, sparse_adam):
    table = tensors["SparseFeatFactors"]
    dense = [t for name, t in tensors.items() if name != "SparseFeatFactors"]
    if rule == "sgd":
        return [torch.optim.SGD([table] + dense, lr=rate)]
    sparse = torch.optim.SparseAdam([table], lr=rate) if sparse_adam else LazyAdam(table, rate)
    return [sparse, torch.optim.Adam(dense, lr=rate)]


def train(network, rule, rate, dtype, sparse_adam=False):
    """Losses before each of the ten updates, and the tensors after them."""
    tensors = {
        name: torch.tensor(value, dtype=dtype, requires_grad=True)
        for name, value in initial_tensors(network).items()
    }
    optimizers = make_optimizers(tensors, rule, rate, sparse_adam)
    losses = []
    for number in range(STEPS):
        ids, dense, labels = (torch.from_numpy(x) for x in make_batch(number))
        rows = torch.nn.functional.embedding(ids, tensors["SparseFeatFactors"], sparse=True)
        x = torch.cat([rows.reshape(BATCH, SLOTS * DIM), dense.to(dtype)], dim=1)
        for layer in range(4):
            x = x @ tensors[f"fc_{layer}.w_0"] + tensors[f"fc_{layer}.b_0"]
            x = torch.relu(x) if layer < 3 else x
        loss = torch.nn.functional.cross_entropy(x, labels, reduction="sum")
        for tensor in tensors.values():
            tensor.grad = None
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses, {name: t.detach().double().numpy() for name, t in tensors.items()}


def relative_l2(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def describe_tensors(network, result, single, out):
    """The record of every tensor; appends its values to the list `out` where asked."""
    initial = initial_tensors(network)
    records = []
    for name, value in result.items():
        flat = value.reshape(-1)
        stride = max(1, flat.size // SAMPLES)
        record = {
            "name": name,
            "shape": list(value.shape),
            "l2": float(np.linalg.norm(flat)),
            "sum": float(flat.sum()),
            "relative_l2_moved": relative_l2(flat, initial[name].reshape(-1)),
            "relative_l2_of_float32_run": relative_l2(single[name].reshape(-1), flat),
        }
        if network["full"]:
            record["offset_bytes"] = 4 * sum(len(part) for part in out)
            out.append(flat.astype("<f4"))
        else:
            record["sample_stride"] = stride
            record["samples"] = [float(x) for x in flat[::stride][:SAMPLES]]
        records.append(record)
    return records


def describe_recipe():
    ids, dense, labels = make_batch(0)
    initial = initial_tensors(NETWORKS["narrow"])
    return {
        "seed": SEED,
        "first_ids": ids[0].tolist(),
        "first_dense": dense[0].tolist(),
        "first_labels": labels[:16].tolist(),
        "first_table_row": initial["SparseFeatFactors"][0].tolist(),
        "first_weights_of_narrow": initial["fc_0.w_0"][0, :4].tolist(),
        "first_biases_of_narrow": initial["fc_0.b_0"][:4].tolist(),
    }


def main():
    torch.set_num_threads(1)
    out, runs = [], []
    for network_name, network in NETWORKS.items():
        for optimizer_name, optimizer in OPTIMIZERS.items():
            rule, rate = optimizer["rule"], optimizer["rate"]
            losses, result = train(network, rule, rate, torch.float64)
            single_losses, single = train(network, rule, rate, torch.float32)
            run = {
                "network": network_name,
                "hidden": network["hidden"],
                "weight_exponents": network["weight_exponents"],
                "optimizer": rule,
                "learning_rate": rate,
                "losses": losses,
                "largest_relative_loss_difference_of_float32_run": max(
                    abs(a - b) / b for a, b in zip(single_losses, losses)
                ),
                "tensors": describe_tensors(network, result, single, out),
            }
            if rule == "adam":
                _, sparse_adam = train(network, rule, rate, torch.float64, sparse_adam=True)
                run["relative_l2_of_sparse_adam"] = relative_l2(
                    sparse_adam["SparseFeatFactors"], result["SparseFeatFactors"]
                )
            runs.append(run)
    here = pathlib.Path(__file__).resolve().parent
    record = {
        "about": "made by ctr_dnn_reference.py, which has the recipe",
        "values": "ctr_dnn_reference.bin: float32, little-endian, row-major, at offset_bytes",
        "epsilon": "adam: w -= rate m_hat / (sqrt(v_hat) + epsilon); epsilon is added after the "
        "bias correction of v",
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon_value": 1e-8,
        "steps": STEPS,
        "batch": BATCH,
        "rows": ROWS,
        "slots": SLOTS,
        "dim": DIM,
        "dense": DENSE,
        "torch": torch.__version__,
        "recipe_check": describe_recipe(),
        "runs": runs,
    }
    (here / "ctr_dnn_reference.bin").write_bytes(b"".join(part.tobytes() for part in out))
    (here / "ctr_dnn_reference.json").write_text(json.dumps(record, indent=1) + "\n")
    for run in runs:
        worst = max(t["relative_l2_of_float32_run"] for t in run["tensors"])
        moved = [round(t["relative_l2_moved"], 5) for t in run["tensors"]]
        print(run["network"], run["optimizer"], run["learning_rate"], "losses", run["losses"][0],
              run["losses"][-1], "moved", moved, "float32 off by", worst,
              run["largest_relative_loss_difference_of_float32_run"],
              "SparseAdam off by", run.get("relative_l2_of_sparse_adam"))


if __name__ == "__main__":
    main()
