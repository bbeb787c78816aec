// The output of a model of the zoo: from logits to the prediction, the loss and the metrics that
// the label asks for.
#pragma once

#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// Completes a model whose network has the logits (B, inputs.outputs()). Adds the parameter
// `output.b_0`, which starts at the label's mean (of a click: its log odds). The output of a
// regression, and its loss, are in units of the label's deviation. The model has no optimizer yet.
Model FinishModel(Graph graph, const ModelInputs& inputs, Var logits);

}  // namespace flotilla
