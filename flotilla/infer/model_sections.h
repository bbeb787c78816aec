// What inference must know of a model besides its parameters, and the named sections of a model
// directory that keep it, so that `infer` needs nothing but the directory:
//
//   graph     the graph, as graph/graph_io.h writes it
//   predict   the name of the value that inference gives; missing where the model does not say
//   loss      the name of the value that training minimises; missing where there is none
//   metrics   how the model is judged, as metric/metric_io.h writes it
//   format    how its rows were made, as dataset/parser_spec_io.h writes it
//
// Whoever saves a model writes them (ToSections), the Predictor reads them. Other sections of a
// directory are not looked at.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/graph/graph.h"
#include "flotilla/tensor/metric_spec.h"

namespace flotilla {

// Invariants, of what FromSections gives: predict is a value with a row for each example or -1;
// loss is a value or -1; metrics read values of the graph, and several of them only where each has
// a row for each example.
struct ModelSections {
  Graph graph;
  int predict = -1;
  int loss = -1;
  std::vector<MetricSpec> metrics;
  ParserSpec format;  // without a name: not known
};

// The value that inference gives: `predict` where it is one (>= 0), else what the first metric
// scores that has a number for each row, the first of the values that it reads. -1 when there is
// neither: such a model can be trained and saved, but not scored with.
int PredictValue(const GraphDef& graph, int predict, const std::vector<MetricSpec>& metrics);

// Errors name the section: a graph that has an error, values that are not the graph's, texts that
// are not UTF-8, a schema file that cannot be read.
StatusOr<Sections> ToSections(const ModelSections& model);

// Errors name the section. Never aborts, whatever the texts.
StatusOr<ModelSections> FromSections(const Sections& sections);

// How the rows of a model were made; without a name where the sections do not tell.
StatusOr<ParserSpec> FormatFromSections(const Sections& sections);

// What the prediction needs, for a model that is saved to be used and not to be trained: other
// parts of the graph are dropped, with the loss and the metrics that read them. The parameters and
// tables to save are those of the result's graph. REQUIRES: the invariants above, predict >= 0.
ModelSections PruneForInference(const ModelSections& model);

}  // namespace flotilla
