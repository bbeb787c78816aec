// Destination of the tensors written by export_model.h: one implementation per file format. A new
// format is one more function here and one line in export_model.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

// The tensors to write, in this order. The manifest must outlive it.
struct ExportPlan {
  std::vector<const SavedParameter*> parameters;
  std::vector<const SavedTable*> tables;
};

// Files are moved into place only when they are complete, replacing existing files. Errors name the
// file. Not thread-safe.
class TensorSink {
 public:
  virtual ~TensorSink() = default;

  // REQUIRES: weights.size() is the product of the shape.
  virtual Status WriteParameter(const SavedParameter& parameter,
                                std::span<const float> weights) = 0;

  // Begins a table; its rows follow, some at a time, until all table.rows() rows are written.
  virtual Status BeginTable(const SavedTable& table) = 0;
  // weights: (ids, dim)
  virtual Status WriteRows(std::span<const uint64_t> ids, std::span<const float> weights) = 0;
  virtual Status EndTable() = 0;

  // Called after everything in the plan was written.
  virtual Status Finish() { return absl::OkStatus(); }

  // The files that contain the parameter or table.
  virtual std::vector<std::string> FilesOf(const std::string& name, bool is_table) const = 0;
};

// One .npy file per tensor, in the directory. REQUIRES, as for text: CheckFileNames.
std::unique_ptr<TensorSink> MakeNpySink(const std::string& directory);
// One .txt file per parameter or table, in the directory.
std::unique_ptr<TensorSink> MakeTextSink(const std::string& directory);
// One safetensors file.
StatusOr<std::unique_ptr<TensorSink>> MakeSafetensorsSink(const ExportPlan& plan,
                                                          const std::string& path);

// The name as used in file names: characters other than letters, digits, '.', '-' and '_' become
// '_', and so does a leading '.'.
std::string FileNameOf(const std::string& name);
// Error when two names of the plan map to the same file.
Status CheckFileNames(const ExportPlan& plan);

}  // namespace flotilla
