// The description of a model directory as a value, and its text form, manifest.json.
// docs/checkpoint_format.md specifies the format. It does no file access: reader.h and writer.h do.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {

inline constexpr int kModelFormatVersion = 1;
inline constexpr char kManifestName[] = "manifest.json";

// Named texts that other components store with a model (the graph, positions in the data, ..).
// Opaque here; names and texts must be UTF-8.
using Sections = std::map<std::string, std::string>;

// The section with the name of the model, "ffm"; models of programs and of earlier versions lack
// it.
inline constexpr char kModelNameSection[] = "model_name";

// A dense parameter. Its state is an array (states, shape..).
struct SavedParameter {
  std::string name;
  std::vector<int64_t> shape;
  int states = 0;
  std::string file;
  std::string tensor;
  std::string state_tensor;  // empty if states == 0

  bool operator==(const SavedParameter&) const = default;
};

// The rows of some virtual shards of a table: one file.
struct SavedTablePart {
  std::string file;
  ShardRange shards;
  int64_t rows = 0;

  bool operator==(const SavedTablePart&) const = default;
};

struct SavedTable {
  std::string name;
  int64_t dim = 1;
  int64_t id_limit = 0;  // ids are below it; 0: any id
  int states = 0;        // arrays of dim floats in addition to the weights of a row
  bool meta = false;     // rows include their number of pushes and last step
  std::vector<SavedTablePart> parts;

  int64_t rows() const;
  bool operator==(const SavedTable&) const = default;
};

struct SavedFile {
  std::string name;
  int64_t bytes = 0;
  std::vector<uint64_t> blocks;  // XXH64 of each kBlockBytes bytes

  // Identifies the content: XXH64 of the block checksums.
  uint64_t checksum() const;
  bool operator==(const SavedFile&) const = default;
};

// The output of one writer of a save, in a form that can be sent over the network: servers write
// parts, one process joins them.
struct CheckpointPart {
  std::vector<SavedParameter> parameters;
  std::vector<SavedTable> tables;
  std::vector<SavedFile> files;

  // Errors: names that are not UTF-8.
  StatusOr<std::string> ToText() const;
  // Any text yields a part or an error; whether parts fit together is checked when they are joined.
  static StatusOr<CheckpointPart> FromText(std::string_view text);

  bool operator==(const CheckpointPart&) const = default;
};

// Properties of a model as a whole.
struct CheckpointInfo {
  int64_t step = 0;
  uint64_t seed = 0;
  bool optimizer_state = true;
  bool inference = false;  // saved for inference only: training cannot resume from it
  OptimizerSpec optimizer;
  Sections sections;

  bool operator==(const CheckpointInfo&) const = default;
};

struct Manifest {
  CheckpointInfo info;
  std::vector<SavedParameter> parameters;
  std::vector<SavedTable> tables;
  std::vector<SavedFile> files;

  // Joins the parts of a save: a table that occurs in several parts must be described identically
  // in all, and its virtual shards must be covered exactly once. Errors name the table, parameter
  // or file.
  static StatusOr<Manifest> Join(CheckpointInfo info, std::span<const CheckpointPart> parts);

  // The content of manifest.json. Errors: names, sections that are not UTF-8.
  StatusOr<std::string> ToText() const;
  // Returns a self-consistent manifest, or an error with the offset of the damage (DataLoss) or the
  // required version (FailedPrecondition). Never aborts, for any text.
  static StatusOr<Manifest> FromText(std::string_view text);

  // Null when there is none of this name.
  const SavedParameter* FindParameter(std::string_view name) const;
  const SavedTable* FindTable(std::string_view name) const;

  bool operator==(const Manifest&) const = default;
};

}  // namespace flotilla
