// Access to the parameters of a model outside training: reads and writes them by name, saves and
// loads them. The other half of a communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

// The parts of a model that a save contains.
struct SaveContents {
  // The state needed to continue training: the optimizer's state and the metadata of table rows.
  bool optimizer_state = true;
  // Parameters and tables by name; not set: all of them.
  std::optional<std::vector<std::string>> names;
};

// A snapshot of the model at the time of BeginSave, held until destruction. The keeper outlives it.
class PendingSave {
 public:
  virtual ~PendingSave() = default;

  // The global step of the snapshot.
  virtual int64_t global_step() const = 0;

  // Writes the model directory `dir`, including the sections; replaces an existing one atomically
  // (docs/checkpoint_format.md). May be called once, from any thread, while training continues. An
  // error names the file and the cause, and leaves the old model unchanged.
  virtual Status Write(const std::string& dir, const Sections& sections) = 0;
};

struct LoadOptions {
  // Parameters and tables that only the model has keep their initial values, those that only the
  // directory has are ignored. If false, both are errors.
  bool allow_missing = false;
  // Continue the saved training: load the optimizer state and the global step. Otherwise only
  // weights are loaded and training starts at step 0; the same happens with a model that a GEO job
  // saved, which has no state (LoadedModel::fresh_optimizer). An error if the model was saved for
  // inference or trained by another optimizer.
  bool optimizer_state = true;
  // Threads that verify and load. 0: one per core.
  int threads = 0;
  // Ends a load into this process with its status; servers end their own. May be null.
  const Interrupt* interrupt = nullptr;
};

// The result of Load.
struct LoadedModel {
  int64_t step = 0;  // the global step of the model that was saved
  uint64_t seed = 0;
  Sections sections;
  std::vector<std::string> missing;   // names that only the model has
  std::vector<std::string> left_out;  // names that only the directory has
  // LoadOptions asked for the optimizer's state, but the model has none; kFreshOptimizer is the
  // message for it.
  bool fresh_optimizer = false;
};

inline constexpr char kFreshOptimizer[] =
    "the model has no optimizer state (a GEO job saved it, whose trainers keep it): its weights "
    "are loaded, the optimizer starts afresh at step 0";

// Called by one thread while no step is running, unless a method says otherwise.
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

  // Takes a snapshot for a save: copies dense parameters and begins the cuts of tables, which is
  // quick. docs/checkpoint_format.md, "What a save holds", specifies its consistency. Errors: a
  // name that the model does not have; a table of which another PendingSave exists.
  virtual StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) = 0;

  // Loads the parameters of a model directory by name, and its seed, which determines the initial
  // values of later rows. A model that does not fit is an error that lists the missing parameters,
  // the extra ones and those of another shape; in that case, and if the directory is damaged,
  // nothing changes. A read error after that leaves parameters unspecified. REQUIRES: no step is
  // running. Tables to load must be empty, otherwise it is an error.
  virtual StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) = 0;
};

}  // namespace flotilla
