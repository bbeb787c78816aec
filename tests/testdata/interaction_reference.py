#!/usr/bin/env python3
"""Values and gradients of the layers that multiply features, for flotilla/graph/interaction_reference_test.cc.

Run it to write interaction_reference.txt beside it. It needs no packages: each layer is written from its
definition, pair by pair, in float64, and differentiated by complex steps (the derivative of f at x is
Im f(x + ih) / h, exact to rounding for a tiny h), so it shares neither code nor method with Flotilla. The
test has the same cases and the same recipe of numbers, which are exact in float32:

  number(stream, i) = ((37 i + 101 stream + 7 i^2) mod 61 - 30) / 64

Element c of the row of an id is number(1, id * dim + c), element i of parameter p (in the order of the
graph) number(20 + p, i). The loss is the sum of all elements i of the result times number(99, i).

Lines: CASE value V.., CASE row ID G.., CASE parameter P G..
"""
import cmath
import itertools
import math
import pathlib

ROWS = 3
SLOTS = 4
# Ids of one-id slots, by row and slot; every id occurs several times.
ONE = [[(5 * r + 3 * s) % 7 for s in range(SLOTS)] for r in range(ROWS)]
# A bag per row and the weights of its ids: empty, one id, a repeated id.
BAG = [[], [(2, 0.5)], [(5, -1.0), (1, 2.0), (5, 0.25)]]
# Fields of FFM: several features, one or none per row.
FIELDS = [
    [[(0, 1.0)], [(2, 1.0)], [(4, 1.0), (1, 1.0)]],
    [[(3, 0.5)], [], [(3, -2.0)]],
    [[(6, 1.0)], [(5, 1.0)], [(4, 1.0)]],
]
# Histories longer and shorter than their width, and an empty one.
HISTORY = [[1, 4, 2, 6], [3], []]
WIDTH = 3
TARGET = [2, 5, 0]
STEP = 1e-30


def number(stream, i):
    return ((37 * i + 101 * stream + 7 * i * i) % 61 - 30) / 64


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def sigmoid(x):
    return 1 / (1 + cmath.exp(-x))


def add(*vectors):
    return [sum(terms) for terms in zip(*vectors)]


def affine(x, weight, bias):
    """x W + b; weight is (in, out), row-major."""
    out = len(bias)
    return [bias[o] + sum(x[i] * weight[i * out + o] for i in range(len(x))) for o in range(out)]


def fm(row, _):
    return [[sum(dot(row(a), row(b)) for a, b in itertools.combinations(ids, 2))] for ids in ONE]


def fm_bag(row, _):
    vectors = [[[x * v for v in row(i)] for i, x in bag] for bag in BAG]
    return [[sum(dot(a, b) for a, b in itertools.combinations(bag, 2))] for bag in vectors]


def fwfm(row, parameters):
    result = []
    for ids in ONE:
        total = 0
        for i in range(SLOTS):
            for j in range(i):
                total += parameters[0][i * (i - 1) // 2 + j] * dot(row(ids[i]), row(ids[j]))
        result.append([total])
    return result


def ffm(normalize, k=2):
    def run(row, _):
        result = []
        for r in range(ROWS):
            features = [(f, i, x) for f, field in enumerate(FIELDS) for i, x in field[r]]
            norm = math.sqrt(sum(x * x for _, _, x in features)) if normalize else 1
            total = 0
            for (f, i, x), (g, j, y) in itertools.combinations(features, 2):
                pair = dot(row(i)[g * k:g * k + k], row(j)[f * k:f * k + k])
                total += x / norm * (y / norm) * pair
            result.append([total])
        return result
    return run


def cross(row, parameters):
    result = []
    for target in TARGET:
        first = x = row(target)
        for layer in range(2):
            y = affine(x, parameters[2 * layer], parameters[2 * layer + 1])
            x = [a * b + c for a, b, c in zip(first, y, x)]
        result.append(x)
    return result


def din(softmax):
    def run(row, parameters):
        weight, bias, score_weight, score_bias = parameters
        result = []
        for history, target in zip(HISTORY, TARGET):
            t = row(target)
            items = [row(i) for i in history[:WIDTH]]
            scores = []
            for h in items:
                x = h + t + [a - b for a, b in zip(h, t)] + [a * b for a, b in zip(h, t)]
                hidden = [sigmoid(v) for v in affine(x, weight, bias)]
                scores.append(affine(hidden, score_weight, score_bias)[0])
            if softmax:
                powers = [cmath.exp(s) for s in scores]
                scores = [p / sum(powers) for p in powers]
            result.append(add([0] * len(t), *([s * v for v in h] for s, h in zip(scores, items))))
        return result
    return run


# Name: the layer, numbers per row of the table, sizes of the parameters.
CASES = {
    "fm": (fm, 5, []),
    "fm_bag": (fm_bag, 5, []),
    "fwfm": (fwfm, 5, [6]),
    "ffm": (ffm(False), 6, []),
    "ffm_normalized": (ffm(True), 6, []),
    "cross": (cross, 5, [25, 5, 25, 5]),
    "din": (din(False), 3, [48, 4, 4, 1]),
    "din_softmax": (din(True), 3, [48, 4, 4, 1]),
}


def lines(name, layer, dim, sizes):
    table = {i: [number(1, i * dim + c) for c in range(dim)] for i in range(7)}
    parameters = [[number(20 + p, i) for i in range(size)] for p, size in enumerate(sizes)]
    used = set()

    def run():
        def row(i):
            used.add(i)
            return table[i]
        return [v for result in layer(row, parameters) for v in result]

    def slopes(values):
        found = []
        for i, value in enumerate(values):
            values[i] = complex(value, STEP)
            found.append(sum((v * number(99, j)).imag for j, v in enumerate(run())) / STEP)
            values[i] = value
        return found

    def line(kind, key, values):
        return " ".join([name, kind, str(key), *(repr(complex(v).real) for v in values)])

    yield line("value", "y", run())
    for i in sorted(used):
        yield line("row", i, slopes(table[i]))
    for p, values in enumerate(parameters):
        yield line("parameter", p, slopes(values))


def main():
    path = pathlib.Path(__file__).with_suffix(".txt")
    with open(path, "w", encoding="ascii") as file:
        file.write("# Written by interaction_reference.py.\n")
        for name, (layer, dim, sizes) in CASES.items():
            file.writelines(text + "\n" for text in lines(name, layer, dim, sizes))


if __name__ == "__main__":
    main()
