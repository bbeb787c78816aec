// Exports the parameters and tables of a model in formats of other tools: weights only, no
// optimizer state.
//
//   npy          one file per tensor: NAME.npy; for a table NAME.ids.npy (rows) and
//                NAME.weights.npy (rows, dim)
//   text         one file each: NAME.txt with one number per line, row-major; for a table
//                one line `id w1 .. wd` per row
//   safetensors  one file: tensors NAME; for a table NAME.ids and NAME.weights
//
// Rows of a table are in the order of the model directory. Memory is bounded by the size of one
// parameter and some rows of a table.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"

namespace flotilla {

enum class ExportFormat { kNpy, kText, kSafetensors };

struct ExportOptions {
  ExportFormat format = ExportFormat::kNpy;
  // kNpy and kText: a directory, created if it does not exist. kSafetensors: the file. Existing
  // files are replaced.
  std::string out;
  // Names of the parameters and tables to export; empty: all.
  std::vector<std::string> names;
};

struct ExportedTensor {
  std::string name;                // name of the parameter or table
  std::vector<int64_t> shape;      // shape of the weights
  std::vector<std::string> files;  // paths
};

// Returns what was written, parameters first, in the order of the model. Errors: a name that does
// not exist in the model (with the most similar one), two names that map to the same file, disk
// errors. In file names, characters other than letters, digits, '.', '-' and '_' become '_'.
StatusOr<std::vector<ExportedTensor>> ExportModel(const CheckpointReader& reader,
                                                  const ExportOptions& options);

}  // namespace flotilla
