#!/usr/bin/env python3
"""Trains models of the zoo for ten steps and compares with PyTorch.

  tests/zoo_reference.py FLOTILLA PARSE_DUMP

Both start from the same parameters (those of a run with a learning rate of nothing) and see the same
batches (the ids that parse_dump prints). The loss must be the same to 1e-5, every parameter to 1e-4
of the largest of its tensor.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: no {error.name} (Debian's package is python3-{error.name})")
    sys.exit(0)

BATCH, STEPS = 32, 10
SCHEMA = """header=yes
x:number y:number(log,standardise)
color:category size:category item:category(vocabulary=goods)
history:sequence(length=4,vocabulary=goods)
clicked:label
"""
FIELDS = ["color", "size", "item", "history"]
INPUTS = "numbers:dense:2,color:ids,size:ids,item:ids,history:ids,clicked:label"
NOTHING = ["--optimizer", "sgd", "--learning_rate", "1e-30"]
# The flags of a model, and the rate of the table `factors` relative to the other parameters.
MODELS = {"fm": (["--dim", 3], 0.2), "ffm": (["--k", 3], 1),
          "dcnv2": (["--dim", 3, "--layers", "8,4"], 1),
          "din": (["--dim", 3, "--layers", "8,4", "--attention", "5"], 1)}
OPTIMIZERS = {"sgd": 0.01, "adam": 0.01}


def run(*args):
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def write_rows(path):
    """Rows in which everything matters a little; some histories are empty."""
    choose = random.Random(7)
    lines = ["x,y,color,size,item,history,clicked"]
    for _ in range(BATCH * STEPS):
        history = [choose.randrange(12) for _ in range(choose.randrange(6))]
        item = choose.randrange(12)
        x = choose.gauss(0, 1)
        click = x + 2 * (item in history) + choose.gauss(0, 1) > 0.5
        lines.append(f"{x:.4f},{choose.randrange(50)},c{choose.randrange(5)},s{choose.randrange(3)},"
                     f"i{item},{'|'.join(f'i{i}' for i in history)},{int(click)}")
    path.write_text("\n".join(lines) + "\n")


def read_rows(text):
    """What parse_dump prints: the numbers, the ids of each field, the label."""
    rows = []
    for line in text.splitlines():
        row = dict(word.split("=", 1) for word in line.split(" "))
        ids = [[int(i) for i in row[field].split(",") if i] for field in FIELDS]
        rows.append(([float(x) for x in row["numbers"].split(",")], ids, float(row["clicked"])))
    return rows


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    dtypes = {"F32": "<f4", "U64": "<u8"}
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = numpy.frombuffer(data[begin:end], dtypes[entry["dtype"]]).reshape(
                entry["shape"])
    return tensors


class Parameters:
    """The parameters of a saved model by name, as leaves of double precision."""

    def __init__(self, tensors):
        self.rows = {}  # by table: the place of each id
        self.values = {}
        for name, value in tensors.items():
            if name.endswith(".ids"):
                self.rows[name[:-4]] = {int(i): place for place, i in enumerate(value)}
                continue
            name = name.removesuffix(".weights")
            self.values[name] = torch.tensor(numpy.array(value, "f8"), requires_grad=True)

    def __getitem__(self, name):
        return self.values[name]

    def lookup(self, table, ids):
        places = torch.tensor([self.rows[table][i] for i in ids], dtype=torch.long)
        return torch.nn.functional.embedding(places, self.values[table], sparse=True)

    def fc(self, name, x):
        y = x @ self[f"{name}.w_0"]
        return y + self[f"{name}.b_0"] if f"{name}.b_0" in self.values else y


def mean(vectors):
    """Of the rows of a history; zeros for an empty one."""
    return vectors.sum(0) / max(len(vectors), 1)


def vectors_of(p, table, ids):
    return [mean(p.lookup(table, field)) for field in ids]


def linear(p, numbers, ids):
    return sum(vectors_of(p, "linear", ids)) + p.fc("linear_numbers", numbers)


def fm(p, numbers, ids):
    rows = p.lookup("factors", [i for field in ids for i in field])
    return linear(p, numbers, ids) + (rows.sum(0) ** 2 - (rows ** 2).sum(0)).sum() / 2


def ffm(p, _, ids):
    of = [field for field, each in enumerate(ids) for _ in each]
    rows = p.lookup("factors", [i for field in ids for i in field]).reshape(len(of), len(ids), -1)
    pairs = [rows[a, of[b]] @ rows[b, of[a]] for a in range(len(of)) for b in range(a)]
    return sum(pairs) / len(of)  # the norm of ones is the root of their number


def hidden(p, first, x):
    for layer in range(first, first + 2):
        x = torch.relu(p.fc(f"fc_{layer}", x))
    return x


def dcnv2(p, numbers, ids):
    first = x = torch.cat(vectors_of(p, "factors", ids) + [numbers])
    for layer in range(2):
        x = first * p.fc(f"fc_{layer}", x) + x
    return p.fc("fc_4", torch.cat([x, hidden(p, 2, first)]))


def din(p, numbers, ids):
    items, target = p.lookup("factors", ids[3]), p.lookup("factors", ids[2])[0]
    interest = torch.zeros_like(target)
    for item in items:
        x = torch.cat([item, target, item - target, item * target])
        score = p.fc("attention_0.score", torch.sigmoid(p.fc("attention_0.fc_0", x)))
        interest = interest + score * item
    x = torch.cat(vectors_of(p, "factors", ids) + [interest, numbers])
    return linear(p, numbers, ids) + p.fc("fc_2", hidden(p, 0, x))


def optimizers_of(p, name, rate, table_factor):
    """The program's Adam is lazy on tables, as torch's SparseAdam is."""
    groups = [{"params": [value], "lr": rate * (table_factor if key == "factors" else 1)}
              for key, value in p.values.items()]
    if name == "sgd":
        return [torch.optim.SGD(groups, lr=rate)]
    tables = [group for group, key in zip(groups, p.values) if key in p.rows]
    dense = [group for group, key in zip(groups, p.values) if key not in p.rows]
    return [torch.optim.SparseAdam(tables, lr=rate), torch.optim.Adam(dense, lr=rate)]


def train(p, rows, model, optimizers):
    """Ten steps; the mean of the losses of the rows, each before the update on it."""
    total = 0
    for step in range(STEPS):
        batch = rows[step * BATCH:(step + 1) * BATCH]
        logits = torch.cat([
            (model(p, torch.tensor(numbers, dtype=torch.double), ids) + p["output.b_0"]).reshape(1)
            for numbers, ids, _ in batch])
        labels = torch.tensor([label for _, _, label in batch], dtype=torch.double)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        total += loss.item()
    return total / len(rows)


def check(what, difference, limit):
    if not difference <= limit:
        sys.exit(f"{what}: differs by {difference:.3g}, more than {limit}")


def compare(flotilla, work, rows, name, optimizer):
    flags, table_factor = MODELS[name]

    def trained(out, *more):
        result = json.loads(run(flotilla, "train", name, "--data", work / "rows.csv", "--schema",
                                work / "rows.schema", "--batch_size", BATCH, "--epochs", 1, "--threads",
                                1, "--no_shuffle", "--embedding_l2", 0, "--cooldown", 0, *flags, *more,
                                "--json", "--out", work / out))
        run(flotilla, "export", work / out, "--format", "safetensors", "--out", work / f"{out}.tensors")
        return result, read_safetensors(work / f"{out}.tensors")

    rate = OPTIMIZERS[optimizer]
    before = trained(f"{name}_{optimizer}_0", *NOTHING)[1]
    result, after = trained(f"{name}_{optimizer}", "--optimizer", optimizer, "--learning_rate", rate)
    p = Parameters(before)
    loss = train(p, rows, globals()[name], optimizers_of(p, optimizer, rate, table_factor))
    case = f"{name} with {optimizer}"
    check(f"{case}: loss", abs(result["train_loss"] / loss - 1), 1e-5)
    for key, value in p.values.items():
        table = key in p.rows
        ours = after[f"{key}.weights" if table else key]
        if table:
            place = {int(i): n for n, i in enumerate(after[f"{key}.ids"])}
            ours = ours[[place[i] for i in p.rows[key]]]
        theirs = value.detach().numpy()
        largest = abs(theirs).max()
        check(f"{case}: {key}", abs(ours - theirs).max() / largest, 1e-4)
        start = before[f"{key}.weights" if table else key]
        # Ten steps of Adam move everything, however small its gradient is.
        if optimizer == "adam" and abs(theirs - start).max() < rate * table_factor:
            sys.exit(f"{case}: {key} was hardly trained, so the comparison says nothing")
    print(f"{case}: loss {loss:.6f} and {len(p.values)} tensors are PyTorch's")


def main():
    flotilla, dump = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        (work / "rows.schema").write_text(SCHEMA)
        write_rows(work / "rows.csv")
        run(flotilla, "data", "stats", work / "rows.csv", "--schema", work / "rows.schema")
        rows = read_rows(run(dump, "csv", INPUTS, 0, work / "rows.csv",
                             f"schema_file={work / 'rows.schema'}",
                             f"statistics_file={work / 'rows.schema.stats'}"))
        for name in MODELS:
            for optimizer in OPTIMIZERS:
                compare(flotilla, work, rows, name, optimizer)


if __name__ == "__main__":
    main()
