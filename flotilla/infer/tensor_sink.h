// Where export_model.h writes tensors to: one implementation per format of files. A new format is
// one more function here and one line in export_model.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

// What is to be written, in this order. The manifest outlives it.
struct ExportPlan {
  std::vector<const SavedParameter*> parameters;
  std::vector<const SavedTable*> tables;
};

// Files come into their places only when they are complete: a file that is there is replaced then.
// Errors name the file. Not thread-safe.
class TensorSink {
 public:
  virtual ~TensorSink() = default;

  // REQUIRES: weights.size() is the product of the shape.
  virtual Status WriteParameter(const SavedParameter& parameter,
                                std::span<const float> weights) = 0;

  // A table: its rows, some at a time, until all table.rows() are there.
  virtual Status BeginTable(const SavedTable& table) = 0;
  // weights: (ids, dim)
  virtual Status WriteRows(std::span<const uint64_t> ids, std::span<const float> weights) = 0;
  virtual Status EndTable() = 0;

  // After everything in the plan was written.
  virtual Status Finish() { return absl::OkStatus(); }

  // Where the parameter or table stands.
  virtual std::vector<std::string> FilesOf(const std::string& name, bool is_table) const = 0;
};

// One .npy file per tensor, in the directory. REQUIRES, as for text: CheckFileNames.
std::unique_ptr<TensorSink> MakeNpySink(const std::string& directory);
// One .txt file per parameter or table, in the directory.
std::unique_ptr<TensorSink> MakeTextSink(const std::string& directory);
// One safetensors file.
StatusOr<std::unique_ptr<TensorSink>> MakeSafetensorsSink(const ExportPlan& plan,
                                                          const std::string& path);

// The name as it stands in names of files: characters other than letters, digits, '.', '-' and '_'
// become '_', and so does a '.' in front.
std::string FileNameOf(const std::string& name);
// An error when two names of the plan would be one file.
Status CheckFileNames(const ExportPlan& plan);

}  // namespace flotilla
