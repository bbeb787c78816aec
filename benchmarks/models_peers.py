#!/usr/bin/python3
"""The peers of the board models_quality, with Debian's scikit-learn and XGBoost; prints one JSON line.

  models_peers.py lr --train ROWS --test ROWS --out SCORES [--c C ..]
  models_peers.py xgboost --train criteo.tsv.zst --test criteo.tsv.zst --out SCORES [--seed N]
  models_peers.py delong --labels SCORES --a SCORES --b SCORES

lr is scikit-learn's LogisticRegression on the features that our models have: the numbers and a column for
every id. ROWS are what parse_dump prints, or a libsvm file. Several values of --c: a tenth of the training
rows chooses among them, and the best is fitted to all rows.

xgboost has the 13 numbers of Criteo rows and for each of the 26 categories its count and its mean label: of
training rows out of fold, of test rows over all training rows.

SCORES are one number per line. For delong they may be followed by a label, as lr and xgboost write them;
scores of `flotilla infer --predictions` have none, so --labels names a file that has them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

import numpy as np
import scipy.sparse
import scipy.stats


def open_lines(path):
    if str(path).endswith(".zst"):
        return subprocess.Popen(["zstd", "-dcq", str(path)], stdout=subprocess.PIPE,
                                encoding="utf-8-sig").stdout
    return open(path, encoding="utf-8-sig")


def cpu_seconds():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def row_of_dump(line):
    """Numbers, [(id, value)], label of `numbers=0.5,1 color=7 bag=3:0.5,4:1 label=1`; the label is last."""
    numbers, ids = [], []
    words = line.split(" ")
    for word in words[:-1]:
        name, _, values = word.partition("=")
        if not values:
            continue
        if name == "numbers":
            numbers = [float(value) for value in values.split(",")]
            continue
        for value in values.split(","):
            number, _, weight = value.partition(":")
            ids.append((int(number), float(weight or 1)))
    return numbers, ids, float(words[-1].partition("=")[2])


def row_of_libsvm(line):
    label, *words = line.split()
    ids = [word.split(":") for word in words]
    return [], [(int(i), float(value)) for i, value in ids], float(label)


def read_rows(path):
    """Rows of one file: numbers (n, d), ids as (row, id, value) columns, labels 0 and 1."""
    numbers, rows, ids, values, labels = [], [], [], [], []
    with open_lines(path) as lines:
        for line in lines:
            if not line.strip():
                continue
            of_row, pairs, label = (row_of_dump if "=" in line else row_of_libsvm)(line)
            numbers.append(of_row)
            for i, value in pairs:
                rows.append(len(labels))
                ids.append(i)
                values.append(value)
            labels.append(label)
    labels = np.array(labels)
    return np.array(numbers), (np.array(rows), np.array(ids, dtype=np.uint64), np.array(values)), (
        labels > labels.min()).astype(int)


def one_hot(numbers, ids, known, count):
    """The matrix of rows: the numbers, then a column for each id of `known`. Other ids are left out."""
    rows, names, values = ids
    place = np.minimum(np.searchsorted(known, names), len(known) - 1)
    here = known[place] == names
    matrix = scipy.sparse.csr_matrix((values[here], (rows[here], place[here])), shape=(count, len(known)))
    return scipy.sparse.hstack([scipy.sparse.csr_matrix(numbers), matrix], format="csr") if (
        numbers.shape[1] > 0) else matrix


def best_c(x, y, choices):
    """The value of C with the best AUC on the last tenth of the rows in a random order."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    if len(choices) == 1:
        return choices[0]
    order = np.random.RandomState(1).permutation(len(y))
    fit, held = order[len(y) // 10:], order[:len(y) // 10]
    scores = {}
    for c in choices:
        model = LogisticRegression(C=c, max_iter=1000).fit(x[fit], y[fit])
        scores[c] = roc_auc_score(y[held], model.decision_function(x[held]))
    return max(scores, key=scores.get)


def run_lr(args):
    from sklearn.linear_model import LogisticRegression
    train, test = read_rows(args.train), read_rows(args.test)
    known = np.unique(train[1][1])
    x, y = one_hot(train[0], train[1], known, len(train[2])), train[2]
    start = cpu_seconds()
    c = best_c(x, y, args.c)
    model = LogisticRegression(C=c, max_iter=1000).fit(x, y)
    seconds = cpu_seconds() - start
    scores = model.decision_function(one_hot(test[0], test[1], known, len(test[2])))
    return scores, test[2], {"cpu_seconds": seconds, "c": c, "columns": x.shape[1]}


def read_criteo(path):
    labels, numbers, categories = [], [], []
    with open_lines(path) as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            labels.append(int(fields[0]))
            numbers.append([float(x) if x else np.nan for x in fields[1:14]])
            categories.append(fields[14:40])
    return np.array(labels), np.array(numbers, dtype=np.float32), np.array(categories)


def target_statistics(train, labels, test, seed, folds=5, prior_rows=10):
    """For each category its mean label, drawn towards the mean of all rows by `prior_rows` rows, and its
    count: columns of the training rows from the other folds, and columns of the test rows."""
    fold = np.random.RandomState(seed).randint(0, folds, len(labels))
    columns = [], []
    for j in range(train.shape[1]):
        names, codes = np.unique(np.concatenate([train[:, j], test[:, j]]), return_inverse=True)
        of_train, of_test = codes[:len(labels)], codes[len(labels):]

        def mean_and_count(rows):
            count = np.bincount(of_train[rows], minlength=len(names))
            clicks = np.bincount(of_train[rows], labels[rows], minlength=len(names))
            return (clicks + prior_rows * labels[rows].mean()) / (count + prior_rows), count

        mean_out = np.empty(len(labels))
        count_out = np.empty(len(labels))
        for k in range(folds):
            mean, count = mean_and_count(fold != k)
            mean_out[fold == k] = mean[of_train[fold == k]]
            count_out[fold == k] = count[of_train[fold == k]] * folds / (folds - 1)
        mean, count = mean_and_count(np.ones(len(labels), dtype=bool))
        columns[0].extend([mean_out, count_out])
        columns[1].extend([mean[of_test], count[of_test]])
    return [np.column_stack(each).astype(np.float32) for each in columns]


def run_xgboost(args):
    import xgboost
    labels, numbers, categories = read_criteo(args.train)
    test_labels, test_numbers, test_categories = read_criteo(args.test)
    start = cpu_seconds()
    made, test_made = target_statistics(categories, labels, test_categories, args.seed)
    model = xgboost.XGBClassifier(n_estimators=300, max_depth=6, learning_rate=args.rate, tree_method="hist",
                                  subsample=0.8, colsample_bytree=0.8, random_state=args.seed,
                                  n_jobs=len(os.sched_getaffinity(0)))
    model.fit(np.hstack([numbers, made]), labels)
    seconds = cpu_seconds() - start
    scores = model.predict_proba(np.hstack([test_numbers, test_made]))[:, 1]
    return scores, test_labels, {"cpu_seconds": seconds, "version": xgboost.__version__}


def auc_parts(labels, scores):
    """The AUC, and what each positive and each negative contributes to it."""
    pos, neg = scores[labels == 1], scores[labels == 0]
    ranks = scipy.stats.rankdata(np.concatenate([pos, neg]))
    of_pos = (ranks[:len(pos)] - scipy.stats.rankdata(pos)) / len(neg)
    of_neg = 1 - (ranks[len(pos):] - scipy.stats.rankdata(neg)) / len(pos)
    return of_pos.mean(), of_pos, of_neg


def delong(labels, a, b):
    """The two AUCs, their difference, its standard error (DeLong et al. 1988) and the two-sided p."""
    auc_a, pos_a, neg_a = auc_parts(labels, a)
    auc_b, pos_b, neg_b = auc_parts(labels, b)
    error = np.sqrt(np.var(pos_a - pos_b, ddof=1) / len(pos_a) + np.var(neg_a - neg_b, ddof=1) / len(neg_a))
    z = (auc_a - auc_b) / error if error > 0 else 0.0
    return {"a": auc_a, "b": auc_b, "difference": auc_a - auc_b, "error": error,
            "p": 2 * scipy.stats.norm.sf(abs(z))}


def run_delong(args):
    first, second = np.loadtxt(args.a, ndmin=2)[:, 0], np.loadtxt(args.b, ndmin=2)[:, 0]
    labels = np.loadtxt(args.labels, ndmin=2)[:, 1].astype(int)
    if not len(first) == len(second) == len(labels):
        sys.exit(f"{args.a} has {len(first)} scores, {args.b} {len(second)}, {args.labels} {len(labels)}")
    return delong(labels, first, second)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("lr", "xgboost"):
        command = commands.add_parser(name)
        for flag in ("--train", "--test", "--out"):
            command.add_argument(flag, required=True)
        if name == "lr":
            command.add_argument("--c", type=float, nargs="+", default=[1.0])
        else:
            command.add_argument("--seed", type=int, default=1)
            command.add_argument("--rate", type=float, default=0.05)
    command = commands.add_parser("delong")
    for flag in ("--labels", "--a", "--b"):
        command.add_argument(flag, required=True)
    args = parser.parse_args()
    if args.command == "delong":
        print(json.dumps(run_delong(args)))
        return
    scores, labels, result = {"lr": run_lr, "xgboost": run_xgboost}[args.command](args)
    np.savetxt(args.out, np.column_stack([scores, labels]), fmt=["%.9g", "%d"])
    result.update(auc=auc_parts(labels, scores)[0], rows=len(labels))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
