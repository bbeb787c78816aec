#include "flotilla/graph/share_parameters.h"

#include <vector>

namespace flotilla {
namespace {

StatusOr<std::vector<int>> MatchParameters(const GraphDef& base, const GraphDef& graph) {
  std::vector<int> indices;
  for (const ParameterSpec& own : graph.parameters) {
    const int index = base.FindParameter(own.name);
    if (index < 0) return InvalidArgument("the other network has no parameter {}", own.name);
    const ParameterSpec& other = base.parameters[index];
    if (other.shape != own.shape) {
      return InvalidArgument("parameter {} has shape {}, but {} in the other network", own.name,
                             Shape{own.shape}.ToString(), Shape{other.shape}.ToString());
    }
    indices.push_back(index);
  }
  return indices;
}

StatusOr<std::vector<int>> MatchTables(const GraphDef& base, const GraphDef& graph) {
  std::vector<int> indices;
  for (const TableSpec& own : graph.tables) {
    const int index = base.FindTable(own.name);
    if (index < 0) return InvalidArgument("the other network has no table {}", own.name);
    const TableSpec& other = base.tables[index];
    if (other.dim != own.dim || other.rows != own.rows) {
      return InvalidArgument(
          "table {} has rows of {} numbers and {} rows (0: any id), but {} and {} in the other "
          "network",
          own.name, own.dim, own.rows, other.dim, other.rows);
    }
    indices.push_back(index);
  }
  return indices;
}

}  // namespace

Status UseParametersOf(const GraphDef& base, GraphDef* graph) {
  FL_ASSIGN_OR_RETURN(const std::vector<int> parameters, MatchParameters(base, *graph));
  FL_ASSIGN_OR_RETURN(const std::vector<int> tables, MatchTables(base, *graph));
  for (VarDef& var : graph->vars) {
    if (var.parameter >= 0) var.parameter = parameters[var.parameter];
  }
  for (NodeDef& node : graph->nodes) {
    if (node.table >= 0) node.table = tables[node.table];
  }
  for (size_t i = 0; i < base.parameters.size(); ++i) {
    const ParameterSpec& spec = base.parameters[i];
    if (graph->FindParameter(spec.name) >= 0) continue;
    graph->vars.push_back(
        {.name = spec.name, .shape = Shape{spec.shape}, .parameter = static_cast<int>(i)});
  }
  graph->parameters = base.parameters;
  graph->tables = base.tables;
  return absl::OkStatus();
}

}  // namespace flotilla
