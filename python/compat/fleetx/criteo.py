"""Rows of the Criteo data set: a label, 13 numbers, 26 categories, separated by tabs."""

_LOWEST = (0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
_RANGE = (20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50)


def read(files, ids):
    """[numbers, category 1, .., category 26, label] of each line; categories are hashed to [0, ids)."""

    def reader():
        for path in files:
            with open(path) as lines:
                for line in lines:
                    cells = line.rstrip("\n").split("\t")
                    numbers = [(float(cell) - low) / span if cell else 0.0
                               for cell, low, span in zip(cells[1:14], _LOWEST, _RANGE)]
                    categories = [[hash(f"{column}{cells[column]}") % ids] for column in range(14, 40)]
                    yield [numbers, *categories, [int(cells[0])]]

    return reader
