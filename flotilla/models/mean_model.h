// Several models of the zoo in one graph, whose prediction is that of the mean of their logits (of
// numbers: of their predictions). The models are trained alone, each with its own optimizer and
// epochs, and their parameters are then copied by name into this graph, which is saved and served
// like any other model.
#pragma once

#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/models/zoo.h"
#include "flotilla/schema/features.h"
#include "flotilla/trainer/config.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

struct MeanPart {
  const ZooModel* model = nullptr;
  Config config = Config();
};

// What the names of the parameters and tables of a part begin with: parameter NAME of the model
// alone is ScopeOf(part) + NAME.
std::string ScopeOf(const MeanPart& part);

// Makes the graph with the loss and metrics of its parts. Its own parameter `output.b_0` starts at
// 0; its optimizer is SGD, which has no state. Errors as MakeZooModel. REQUIRES: there are parts,
// and all are of different models.
StatusOr<Model> MakeMeanModel(std::span<const MeanPart> parts, const Features& features);

}  // namespace flotilla
