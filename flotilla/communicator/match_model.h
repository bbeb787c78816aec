// Which parameter and table of a saved model belongs to which of the model here: by name. Shared by
// the modes' Load; it reads the manifest only and changes nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Pointers into the manifest, and the index in the spec.
struct ModelMatch {
  std::vector<std::pair<int, const SavedParameter*>> parameters;
  std::vector<std::pair<int, const SavedTable*>> tables;
  std::vector<std::string> missing;   // only the model has them
  std::vector<std::string> left_out;  // only the manifest has them
  bool optimizer_state = true;        // whether the state is to be read, and the step goes on
};

// What Load is to read, or why it must not: one error that lists all names that are missing, left
// over (unless options.allow_missing) or of another shape; with options.optimizer_state also a
// model that was saved for inference or learned by another optimizer. REQUIRES:
// CheckModelSpec(spec).ok(), the optimizer is known; the manifest outlives the result.
StatusOr<ModelMatch> MatchModel(const ModelSpec& spec, const Manifest& manifest,
                                const LoadOptions& options);

// What SaveContents::names chooses of a model, as indices.
struct ChosenParameters {
  std::vector<int> parameters;
  std::vector<int> tables;
};

// NotFound that lists the names that the model does not have.
StatusOr<ChosenParameters> ChooseParameters(const ModelSpec& spec, const SaveContents& contents);

}  // namespace flotilla
