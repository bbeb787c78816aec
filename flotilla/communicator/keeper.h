// Who keeps the parameters of a model: reads and writes them by name, saves and loads them. The
// other half of a communicator, for those who do not train.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

// What of a model a save has.
struct SaveContents {
  // What going on with training needs: the optimizer's state and what tables keep of their rows.
  bool optimizer_state = true;
  // Parameters and tables by name; without a value all of them.
  std::optional<std::vector<std::string>> names;
};

// A model as it was when BeginSave was called, until it is destroyed. The keeper outlives it.
class PendingSave {
 public:
  virtual ~PendingSave() = default;

  // Of the moment that is saved.
  virtual int64_t global_step() const = 0;

  // Writes the model directory `dir`, with the sections beside it, in the place of one that is
  // there: whole or not at all (docs/checkpoint_format.md). From any thread, while training goes
  // on; once. An error names the file and the cause, and leaves the old model as it was.
  virtual Status Write(const std::string& dir, const Sections& sections) = 0;
};

struct LoadOptions {
  // Parameters and tables that only the model has keep their first values, those that only the
  // directory has are left out. Otherwise both are errors.
  bool allow_missing = false;
  // Go on with the training that was saved: optimizer state, global step. Otherwise only weights
  // are loaded and training starts at step 0; so it does from a model that a GEO job saved, which
  // has no state (LoadedModel::fresh_optimizer). An error when the model was saved for inference or
  // learned by another optimizer.
  bool optimizer_state = true;
  // Threads that verify and load. 0: one per core.
  int threads = 0;
};

// What Load found.
struct LoadedModel {
  int64_t step = 0;  // the global step of the model that was saved
  uint64_t seed = 0;
  Sections sections;
  std::vector<std::string> missing;   // names that only the model has
  std::vector<std::string> left_out;  // names that only the directory has
  // LoadOptions asked for the optimizer's state and the model has none: kFreshOptimizer tells it.
  bool fresh_optimizer = false;
};

inline constexpr char kFreshOptimizer[] =
    "the model has no optimizer state (a GEO job saved it, whose trainers keep it): its weights "
    "are loaded, the optimizer starts afresh at step 0";

// By one thread while no step is under way, unless a call says otherwise.
class Keeper {
 public:
  virtual ~Keeper() = default;

  // One parameter by its name: a dense parameter as its shape, a table as (live rows, dim) in
  // ascending order of ids. Between epochs or from one thread only.
  virtual StatusOr<Tensor> ReadParameter(const std::string& name) = 0;
  // REQUIRES: a dense parameter with as many elements as `values`, else an error.
  virtual Status WriteParameter(const std::string& name, std::span<const float> values) = 0;
  // Sets rows of a table to the given weights and fresh optimizer state.
  virtual Status WriteRows(const std::string& table, const SparseRows& rows) = 0;

  // Marks this moment for a save: copies dense parameters, begins the cuts of tables. Short; what
  // is consistent with what is told in docs/checkpoint_format.md, "What a save holds". Errors: a
  // name that the model has not; a table of which another PendingSave lives.
  virtual StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) = 0;

  // Loads a model directory by name, and its seed, which first values of later rows depend on. A
  // model that does not fit is an error that lists what is missing, what is left over and what has
  // another shape; it and a damaged directory change nothing. A read that fails later leaves
  // parameters unspecified. REQUIRES: no step is under way. Tables that are loaded must be empty,
  // else it is an error.
  virtual StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) = 0;
};

}  // namespace flotilla
