// Matches the parameters and tables of a saved model with those of this model, by name. Shared by
// Load of all modes; it only reads the manifest and changes nothing.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/tensor/load_parts.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Pointers into the manifest, and the index in the spec.
struct ModelMatch {
  std::vector<std::pair<int, const SavedParameter*>> parameters;
  std::vector<std::pair<int, const SavedTable*>> tables;
  std::vector<std::string> missing;   // only the model has them
  std::vector<std::string> left_out;  // only the manifest has them
  bool optimizer_state = true;        // whether to read the state and continue from its step
  bool fresh_optimizer = false;       // the state was wanted, but the model was saved without it

  // The same as indices in the spec.
  LoadParts Parts(bool go_on) const;
  // What Load returns for it.
  LoadedModel Loaded(const CheckpointInfo& info) const;
};

// What Load must read. If the models do not match: one error that lists all names that are missing,
// extra (unless options.allow_missing) or of another shape; with options.optimizer_state also an
// error for a model that was saved for inference or trained by another optimizer. REQUIRES:
// CheckModelSpec(spec).ok(), the optimizer is known; the manifest outlives the result.
StatusOr<ModelMatch> MatchModel(const ModelSpec& spec, const Manifest& manifest,
                                const LoadOptions& options);

// The parameters and tables that SaveContents::names selects, as indices.
struct ChosenParameters {
  std::vector<int> parameters;
  std::vector<int> tables;
};

// NotFound that lists the names that the model does not have.
StatusOr<ChosenParameters> ChooseParameters(const ModelSpec& spec, const SaveContents& contents);

// These parameters with names and shapes for the manifest: weights[layout] and, per parameter of
// the model, the arrays of its state, or none. The result refers to all arguments.
std::vector<ParameterValues> ValuesOf(const ModelSpec& spec, const DenseLayout& layout,
                                      std::span<const int> parameters,
                                      std::span<const float> weights,
                                      std::span<const std::vector<float>> states);

}  // namespace flotilla
