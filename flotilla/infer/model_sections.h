// The information about a model that inference needs besides its parameters, and the named sections
// of a model directory that store it, so that `infer` needs nothing but the directory:
//
//   graph     the graph, as graph/graph_io.h writes it
//   predict   the name of the value that inference returns; missing if the model does not define it
//   loss      the name of the value that training minimises; missing if there is none
//   metrics   how the model is evaluated, as metric/metric_io.h writes it
//   format    how its rows were parsed, as dataset/parser_spec_io.h writes it
//
// Code that saves a model writes them (ToSections), the Predictor reads them. Other sections of a
// directory are ignored.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/graph/graph.h"
#include "flotilla/tensor/metric_spec.h"

namespace flotilla {

// Invariants of the result of FromSections: predict is a value with a row for each example or -1;
// loss is a value or -1; metrics read values of the graph, a metric that reads several values reads
// only values with a row for each example, weights are one number for each row, and groups are
// inputs of ids.
struct ModelSections {
  Graph graph;
  int predict = -1;
  int loss = -1;
  std::vector<MetricSpec> metrics;
  ParserSpec format;  // without a name: unknown
};

// The value that inference returns: `predict` if it is set (>= 0); otherwise the first of the
// values read by the first metric for which that value has a number for each row. -1 when there is
// neither: such a model can be trained and saved, but not used for scoring.
int PredictValue(const GraphDef& graph, int predict, const std::vector<MetricSpec>& metrics);

// Errors name the section: a graph that has an error, values that are not in the graph, texts that
// are not UTF-8, a schema file that cannot be read.
StatusOr<Sections> ToSections(const ModelSections& model);

// Errors name the section. Never aborts, for any texts.
StatusOr<ModelSections> FromSections(const Sections& sections);

// The format of the rows of a model; without a name if the sections do not contain it.
StatusOr<ParserSpec> FormatFromSections(const Sections& sections);

// The metrics that can be computed from rows without some of the inputs (indices), e.g. rows
// without a label that are only scored: those that read nothing that depends on such an input. A
// metric whose weights depend on one counts every row once.
std::vector<MetricSpec> MetricsWithout(const GraphDef& graph,
                                       const std::vector<MetricSpec>& metrics,
                                       std::span<const int> absent_inputs);

// Reduces a model to what the prediction needs, for a model that is saved for inference and not for
// training: other parts of the graph are dropped, with the loss and the metrics that read them. The
// parameters and tables to save are those of the result's graph. REQUIRES: the invariants above,
// predict >= 0.
ModelSections PruneForInference(const ModelSections& model);

}  // namespace flotilla
