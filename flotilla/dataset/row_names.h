// Names the places that rows came from, for messages about a batch: "a.txt, line 17". Nothing is
// written down per row: a batch carries two places (BatchOrigin), from which names are found when
// they are wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/file_slice.h"
#include "flotilla/tensor/batch.h"

namespace flotilla {

// Names one of the rows between two places of a source, counted from the first of them; -1: all of
// them. Empty: not known. Thread-safe; does not need the source.
using NameRows = std::function<std::string(const BatchOrigin& origin, int64_t row)>;

// How the rows of a file are counted.
struct RowCount {
  std::string_view unit = "line";
  int64_t first = 1;  // the number of the first row of a file, as users count
  int64_t shift = 0;  // added to the numbers of BatchOrigin to get those
};

// For rows of files, one after another: BatchOrigin::Place::file is an index in `files`.
NameRows NamesInFiles(std::vector<FileSlice> files, RowCount count);

}  // namespace flotilla
