#include "flotilla/infer/model_sections.h"

#include <algorithm>
#include <utility>

#include "flotilla/dataset/parser_spec_io.h"
#include "flotilla/graph/graph_io.h"
#include "flotilla/graph/prune.h"
#include "flotilla/metric/metric_io.h"

namespace flotilla {
namespace {

constexpr char kGraph[] = "graph";
constexpr char kPredict[] = "predict";
constexpr char kLoss[] = "loss";
constexpr char kMetrics[] = "metrics";
constexpr char kFormat[] = "format";

Status InSection(const Status& status, const char* name) {
  return Annotate(status, fmt::format("section {}", name));
}

Status CheckValue(const GraphDef& graph, int value) {
  if (value >= 0 && value < static_cast<int>(graph.vars.size())) return absl::OkStatus();
  return InvalidArgument("value {}: the graph has {} values", value, graph.vars.size());
}

Status CheckPredict(const GraphDef& graph, int predict) {
  FL_RETURN_IF_ERROR(CheckValue(graph, predict));
  const VarDef& var = graph.vars[predict];
  if (var.shape.per_row() && var.dtype != DType::kIds) return absl::OkStatus();
  return InvalidArgument("{} of shape {} does not have a number for each row", var.name,
                         var.shape.ToString());
}

// A metric of several values compares them row by row.
Status CheckMetric(const GraphDef& graph, const MetricSpec& metric) {
  for (const int value : metric.vars) {
    FL_RETURN_IF_ERROR(CheckValue(graph, value));
    const VarDef& var = graph.vars[value];
    if (var.dtype == DType::kIds) return InvalidArgument("{} is ids, not numbers", var.name);
    if (metric.vars.size() > 1) FL_RETURN_IF_ERROR(CheckPredict(graph, value));
  }
  if (metric.weight >= 0) {
    FL_RETURN_IF_ERROR(CheckPredict(graph, metric.weight));
    const VarDef& weight = graph.vars[metric.weight];
    if (weight.shape.row_size() != 1) {
      return InvalidArgument("weight {} of shape {} is not one number for each row", weight.name,
                             weight.shape.ToString());
    }
  }
  if (metric.group >= 0) {
    FL_RETURN_IF_ERROR(CheckValue(graph, metric.group));
    const VarDef& group = graph.vars[metric.group];
    if (group.dtype != DType::kIds || group.input < 0) {
      return InvalidArgument("group {} is not an input of ids", group.name);
    }
  }
  return absl::OkStatus();
}

Status CheckMetrics(const GraphDef& graph, const std::vector<MetricSpec>& metrics) {
  for (const MetricSpec& metric : metrics) {
    FL_RETURN_IF_ERROR(Annotate(CheckMetric(graph, metric), metric.name));
  }
  return absl::OkStatus();
}

StatusOr<const std::string*> Find(const Sections& sections, const char* name) {
  const auto found = sections.find(name);
  if (found != sections.end()) return &found->second;
  return InvalidArgument("section {} is missing: the model was not saved for inference", name);
}

Status ReadValue(const GraphDef& graph, const std::string& name, int* value) {
  *value = graph.FindVar(name);
  return *value >= 0 ? absl::OkStatus() : InvalidArgument("the graph has no value '{}'", name);
}

Status ReadMetrics(const std::string& text, ModelSections* model) {
  FL_ASSIGN_OR_RETURN(model->metrics, MetricsFromJson(text));
  return CheckMetrics(model->graph.def(), model->metrics);
}

Status ReadPredict(const std::string& text, ModelSections* model) {
  FL_RETURN_IF_ERROR(ReadValue(model->graph.def(), text, &model->predict));
  return CheckPredict(model->graph.def(), model->predict);
}

}  // namespace

int PredictValue(const GraphDef& graph, int predict, const std::vector<MetricSpec>& metrics) {
  if (predict >= 0) return predict;
  for (const MetricSpec& metric : metrics) {
    if (!metric.vars.empty() && CheckPredict(graph, metric.vars[0]).ok()) return metric.vars[0];
  }
  return -1;
}

StatusOr<Sections> ToSections(const ModelSections& model) {
  const GraphDef& graph = model.graph.def();
  Sections sections;
  const auto add = [&sections](const char* name, StatusOr<std::string> text) {
    if (text.ok()) sections[name] = *std::move(text);
    return InSection(text.status(), name);
  };
  FL_RETURN_IF_ERROR(add(kGraph, GraphToJson(graph)));
  if (model.predict >= 0) {
    FL_RETURN_IF_ERROR(InSection(CheckPredict(graph, model.predict), kPredict));
    sections[kPredict] = graph.vars[model.predict].name;
  }
  if (model.loss >= 0) {
    FL_RETURN_IF_ERROR(InSection(CheckValue(graph, model.loss), kLoss));
    sections[kLoss] = graph.vars[model.loss].name;
  }
  FL_RETURN_IF_ERROR(InSection(CheckMetrics(graph, model.metrics), kMetrics));
  FL_RETURN_IF_ERROR(add(kMetrics, MetricsToJson(model.metrics)));
  FL_RETURN_IF_ERROR(add(kFormat, ParserSpecToJson(model.format)));
  return sections;
}

StatusOr<ModelSections> FromSections(const Sections& sections) {
  ModelSections model;
  FL_ASSIGN_OR_RETURN(const std::string* const graph, Find(sections, kGraph));
  StatusOr<Graph> read_graph = GraphFromJson(*graph);
  if (!read_graph.ok()) return InSection(read_graph.status(), kGraph);
  model.graph = *std::move(read_graph);
  if (const auto predict = sections.find(kPredict); predict != sections.end()) {
    FL_RETURN_IF_ERROR(InSection(ReadPredict(predict->second, &model), kPredict));
  }
  if (const auto loss = sections.find(kLoss); loss != sections.end()) {
    FL_RETURN_IF_ERROR(InSection(ReadValue(model.graph.def(), loss->second, &model.loss), kLoss));
  }
  FL_ASSIGN_OR_RETURN(const std::string* const metrics, Find(sections, kMetrics));
  FL_RETURN_IF_ERROR(InSection(ReadMetrics(*metrics, &model), kMetrics));
  FL_RETURN_IF_ERROR(Find(sections, kFormat).status());
  FL_ASSIGN_OR_RETURN(model.format, FormatFromSections(sections));
  return model;
}

StatusOr<ParserSpec> FormatFromSections(const Sections& sections) {
  const auto format = sections.find(kFormat);
  if (format == sections.end()) return ParserSpec{};
  StatusOr<ParserSpec> spec = ParserSpecFromJson(format->second);
  if (!spec.ok()) return InSection(spec.status(), kFormat);
  return spec;
}

std::vector<MetricSpec> MetricsWithout(const GraphDef& graph,
                                       const std::vector<MetricSpec>& metrics,
                                       std::span<const int> absent_inputs) {
  std::vector<char> absent(graph.vars.size());
  for (size_t v = 0; v < graph.vars.size(); ++v) {
    const auto found = std::find(absent_inputs.begin(), absent_inputs.end(), graph.vars[v].input);
    absent[v] = graph.vars[v].input >= 0 && found != absent_inputs.end();
  }
  const auto is_absent = [&](int var) { return var >= 0 && absent[var] != 0; };
  for (const NodeDef& node : graph.nodes) {  // in an order in which inputs come first
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), is_absent);
    for (const int output : node.outputs) absent[output] = any;
  }
  std::vector<MetricSpec> left;
  for (MetricSpec metric : metrics) {
    if (is_absent(metric.group)) continue;
    if (std::any_of(metric.vars.begin(), metric.vars.end(), is_absent)) continue;
    if (is_absent(metric.weight)) metric.weight = -1;
    left.push_back(std::move(metric));
  }
  return left;
}

ModelSections PruneForInference(const ModelSections& model) {
  const std::vector<int> values = {model.predict};
  PrunedGraph pruned = PruneGraph(model.graph.def(), values);
  ModelSections small{.graph = std::move(pruned.graph),
                      .predict = pruned.vars[model.predict],
                      .format = model.format};
  for (MetricSpec metric : model.metrics) {
    bool kept = true;
    const auto move = [&](int* var) {
      if (*var < 0) return;
      *var = pruned.vars[*var];
      kept = kept && *var >= 0;
    };
    for (int& var : metric.vars) move(&var);
    move(&metric.weight);
    move(&metric.group);
    if (kept) small.metrics.push_back(std::move(metric));
  }
  return small;
}

}  // namespace flotilla
