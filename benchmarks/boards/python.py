"""python: the package against the same work in C++. Whole fits of CTR-DNN on arrays, on the same rows and
to the same loss; training on files against the command; data frames that become rows, in memory and
ready to train, against the CSV parser reading the same rows into batches; data frames scored against parsed
and scored lines; what an import and a fed step cost.
"""

import os
import statistics
import subprocess
import tempfile

import lib

FIT = {1000: 0.97, 100: 0.90}
CATEGORIES_OF_PARSER = 0.5
STRINGS_OF_PARSER = 0.15
PEAK_OVER_IDS = 1.3
PREDICT = 0.8
IMPORT_SECONDS = 0.1
STEP_MICROSECONDS = 30
ROWS, QUICK_ROWS = 1_000_000, 50_000
STEPS, QUICK_STEPS = 2000, 500
SCORED = 5  # rows / scored rows
WORKERS = 2
STEP_BATCH = 100


def make_rows(settings, directory, rows):
    """A CSV file of made-up Criteo rows with a header, its schema with statistics, and a model of them."""
    program = settings.program("flotilla")

    def call(*arguments):
        done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise lib.BoardError(f"flotilla {arguments[0]}: {done.stderr}")

    made, path = os.path.join(directory, "made"), os.path.join(directory, "rows.csv")
    call("data", "synth", "criteo", "--rows", rows, "--out", made)
    names = ["label"] + [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]
    scored = os.path.join(directory, "scored.csv")
    with open(path, "wb") as csv, open(scored, "wb") as some:
        header = ",".join(names).encode() + b"\n"
        csv.write(header)
        some.write(header)
        count = 0
        for part in sorted(os.listdir(os.path.join(made, "train"))):
            with open(os.path.join(made, "train", part), "rb") as lines:
                for line in lines:
                    csv.write(line.replace(b"\t", b","))
                    if count % SCORED == 0:
                        some.write(line.replace(b"\t", b","))
                    count += 1
    schema, model = os.path.join(directory, "rows.schema"), os.path.join(directory, "model")
    with open(schema, "w") as text:
        print("header=yes label:label", *(f"I{i}:number(log)" for i in range(1, 14)),
              *(f"C{i}:id" for i in range(1, 27)), sep="\n", file=text)
    call("data", "stats", path, "--schema", schema)
    call("train", "deepfm", "--data", path, "--schema", schema, "--epochs", 1, "--out", model)
    return {"csv": path, "criteo": os.path.join(made, "train"), "scored": scored, "schema": schema, "model": model}


class Sides:
    """The commands of the sides."""

    def __init__(self, settings, python):
        self.settings = settings
        self.python_command = ["env", f"PYTHONPATH={settings.build / 'python'}", python, "-B",
                               lib.ROOT / "benchmarks/python_sides.py"]

    def cpp(self, *arguments):
        return [self.settings.program("program_bench"), *arguments]

    def python(self, *arguments):
        return [*self.python_command, *arguments]


def find_python(settings):
    """Debian's Python, for which the package is built."""
    python = settings.python or "/usr/bin/python3"
    probe = subprocess.run([python, "-c", "import flotilla, pandas"], capture_output=True, text=True,
                           check=False, env={**os.environ, "PYTHONPATH": str(settings.build / "python")})
    if probe.returncode != 0:
        raise lib.BoardError(f"{python}: {probe.stderr.strip().splitlines()[-1]}: build the package, and run "
                             "scripts/setup --test")
    return python


def seconds(rounds):
    return [figures["seconds"] for figures in rounds]


def speed(report, name, ours, theirs, **asked):
    """Their seconds over ours, for the same work."""
    report.ratio(name, [b / a for a, b in zip(seconds(ours), seconds(theirs))], **asked)


def check_same_work(sides):
    """One worker gets the same loss, to the last digit, if the rows and the model are the same."""
    common = ["fit", "--rows", 5000, "--batch", 100]
    results = lib.alternate({"python": sides.python(*common), "c++": sides.cpp(*common)}, 1)
    losses = [figures[0]["loss"] for figures in results.values()]
    if losses[0] != losses[1]:
        raise lib.BoardError(f"fit on arrays: another loss than in C++: {losses}")


def compare_fits(settings, sides, report, rows):
    check_same_work(sides)
    for batch, floor in FIT.items():
        common = ["fit", "--rows", rows, "--batch", batch, "--threads", WORKERS]
        results = lib.alternate({"python": sides.python(*common), "c++": sides.cpp(*common)},
                                settings.rounds)
        speed(report, f"fit on arrays / C++, batch {batch}", results["python"], results["c++"],
              at_least=floor)
        report.figure(f"rows/s of fit on arrays, batch {batch}",
                      rows / statistics.median(seconds(results["python"])))


def compare_files(settings, sides, report, made):
    common = ["files", "--file", made["criteo"], "--threads", WORKERS]
    results = lib.alternate({
        "python": sides.python(*common),
        "command": sides.python(*common, "--program", settings.program("flotilla")),
    }, settings.rounds)
    command = seconds(results["command"])
    spread = (max(command) - min(command)) / statistics.median(command)
    speed(report, "from_files / the command", results["python"], results["command"],
          at_least=1 - spread)


def compare_frames(settings, sides, report, made):
    files = ["--file", made["csv"], "--schema", made["schema"]]
    results = lib.alternate({
        "parser": sides.cpp("parse", *files),
        "parser, into memory": sides.cpp("load", *files),
        "categories": sides.python("frame", *files, "--columns", "categories"),
        "strings": sides.python("frame", *files, "--columns", "strings"),
    }, settings.rounds)
    for columns, floor in (("categories", CATEGORIES_OF_PARSER), ("strings", STRINGS_OF_PARSER)):
        speed(report, f"from_pandas, {columns} / CSV parser, rows", results[columns], results["parser"],
              at_least=floor)
        speed(report, f"from_pandas, {columns} / CSV read into memory", results[columns],
              results["parser, into memory"])
        report.figure(f"rows/s of from_pandas, {columns}",
                      statistics.median(f["rows"] / f["seconds"] for f in results[columns]))


def measure_memory(settings, sides, report, made):
    """Each round is a process of its own."""
    for columns in ("categories", "strings"):
        frame = sides.python("frame", "--file", made["csv"], "--schema", made["schema"], "--columns", columns)
        report.ratio(f"peak memory of from_pandas / its ids, {columns}",
                     [lib.alternate({"frame": frame}, 1, warm_up=0)["frame"][0]["peak_over_ids"]
                      for _ in range(settings.rounds)], at_most=PEAK_OVER_IDS)


def compare_scores(settings, sides, report, made):
    common = ["predict", "--file", made["scored"], "--model", made["model"]]
    results = lib.alternate({"python": sides.python(*common), "c++": sides.cpp(*common)}, settings.rounds)
    ours, theirs = results["python"][0], results["c++"][0]
    if ours["rows"] != theirs["rows"] or abs(ours["mean"] - theirs["mean"]) > 1e-6:
        raise lib.BoardError(f"other scores than in C++: {ours}, {theirs}")
    speed(report, "predict of a frame / C++ parser and predictor", results["python"], results["c++"],
          at_least=PREDICT)


def measure_costs(settings, sides, report):
    results = lib.alternate({package: sides.python("import", "--package", package)
                             for package in ("flotilla", "numpy")}, settings.rounds)
    report.ratio("s of import flotilla beyond numpy's",
                 [a - b for a, b in zip(seconds(results["flotilla"]), seconds(results["numpy"]))],
                 at_most=IMPORT_SECONDS)
    steps = QUICK_STEPS if settings.quick else STEPS
    common = ["step", "--steps", steps, "--batch", STEP_BATCH]
    results = lib.alternate({"python": sides.python(*common), "c++": sides.cpp(*common)}, settings.rounds)
    report.ratio(f"us that a fed step adds to Executor::run, batch {STEP_BATCH}",
                 [(a - b) / steps * 1e6 for a, b in zip(seconds(results["python"]), seconds(results["c++"]))],
                 at_most=STEP_MICROSECONDS)


def run(settings):
    sides = Sides(settings, find_python(settings))
    report = lib.Report("python")
    rows = QUICK_ROWS if settings.quick else ROWS
    with tempfile.TemporaryDirectory(prefix="flotilla_python_") as directory:
        made = make_rows(settings, directory, rows)
        compare_fits(settings, sides, report, rows)
        compare_files(settings, sides, report, made)
        compare_frames(settings, sides, report, made)
        measure_memory(settings, sides, report, made)
        compare_scores(settings, sides, report, made)
        measure_costs(settings, sides, report)
    return report
