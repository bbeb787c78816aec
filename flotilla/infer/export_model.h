// Writes the parameters and tables of a model for tools that know nothing of us: weights only, no
// optimizer state.
//
//   npy          one file per tensor: NAME.npy; of a table NAME.ids.npy (rows) and
//                NAME.weights.npy (rows, dim)
//   text         one file each: NAME.txt with one number a line, row-major; of a table
//                `id w1 .. wd` a line
//   safetensors  one file: tensors NAME; of a table NAME.ids and NAME.weights
//
// Rows of a table stand in the order of the model directory. Memory is bounded by a parameter and
// some rows of a table.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"

namespace flotilla {

enum class ExportFormat { kNpy, kText, kSafetensors };

struct ExportOptions {
  ExportFormat format = ExportFormat::kNpy;
  // kNpy and kText: a directory, made where there is none. kSafetensors: the file. Files that are
  // there are replaced.
  std::string out;
  // Parameters and tables; empty: all.
  std::vector<std::string> names;
};

struct ExportedTensor {
  std::string name;                // of the parameter or table
  std::vector<int64_t> shape;      // of the weights
  std::vector<std::string> files;  // paths
};

// What was written, parameters first, in the order of the model. Errors: a name that the model has
// not (with the nearest it has), two names that would be one file, what the disk says. In file
// names characters other than letters, digits, '.', '-' and '_' become '_'.
StatusOr<std::vector<ExportedTensor>> ExportModel(const CheckpointReader& reader,
                                                  const ExportOptions& options);

}  // namespace flotilla
