#include "flotilla/graph/prune.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace flotilla {
namespace {

// Marks the needed items, then copies them. A mark becomes the new index.
class Pruner {
 public:
  explicit Pruner(const GraphDef& graph)
      : graph_(graph),
        nodes_(graph.nodes.size(), kDropped),
        vars_(graph.vars.size(), kDropped),
        parameters_(graph.parameters.size(), kDropped),
        tables_(graph.tables.size(), kDropped) {}

  PrunedGraph Run(std::span<const int> values) {
    MarkAll(values);
    for (std::vector<int>* marks : {&nodes_, &vars_, &parameters_, &tables_}) Number(marks);
    auto pruned = std::make_unique<GraphDef>();
    pruned->inputs = graph_.inputs;
    pruned->name_counts = graph_.name_counts;
    Copy(graph_.parameters, parameters_, &pruned->parameters);
    Copy(graph_.tables, tables_, &pruned->tables);
    Copy(graph_.vars, vars_, &pruned->vars);
    Copy(graph_.nodes, nodes_, &pruned->nodes);
    Renumber(pruned.get());
    return {.graph = Graph(std::move(pruned)), .vars = std::move(vars_)};
  }

 private:
  static constexpr int kDropped = -1;
  static constexpr int kKept = 0;

  void MarkAll(std::span<const int> values) {
    std::vector<int> wanted(values.begin(), values.end());
    for (size_t v = 0; v < vars_.size(); ++v) {
      if (graph_.vars[v].input >= 0) wanted.push_back(static_cast<int>(v));
    }
    while (!wanted.empty()) {
      const int v = wanted.back();
      wanted.pop_back();
      if (std::exchange(vars_[v], kKept) == kKept) continue;
      const VarDef& var = graph_.vars[v];
      if (var.parameter >= 0) parameters_[var.parameter] = kKept;
      if (var.node < 0) continue;
      const NodeDef& node = graph_.nodes[var.node];
      nodes_[var.node] = kKept;
      if (node.table >= 0) tables_[node.table] = kKept;
      wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
      wanted.insert(wanted.end(), node.outputs.begin(), node.outputs.end());
    }
  }

  static void Number(std::vector<int>* marks) {
    int next = 0;
    for (int& mark : *marks) {
      if (mark != kDropped) mark = next++;
    }
  }

  template <typename T>
  static void Copy(const std::vector<T>& from, const std::vector<int>& marks, std::vector<T>* to) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (marks[i] != kDropped) to->push_back(from[i]);
    }
  }

  void Renumber(GraphDef* pruned) const {
    for (VarDef& var : pruned->vars) {
      if (var.node >= 0) var.node = nodes_[var.node];
      if (var.parameter >= 0) var.parameter = parameters_[var.parameter];
    }
    for (NodeDef& node : pruned->nodes) {
      for (int& input : node.inputs) input = vars_[input];
      for (int& output : node.outputs) output = vars_[output];
      if (node.table >= 0) node.table = tables_[node.table];
    }
  }

  const GraphDef& graph_;
  std::vector<int> nodes_, vars_, parameters_, tables_;
};

}  // namespace

PrunedGraph PruneGraph(const GraphDef& graph, std::span<const int> values) {
  FL_CHECK(graph.status.ok());
  for (const int value : values) {
    FL_CHECK(value >= 0 && value < static_cast<int>(graph.vars.size()));
  }
  return Pruner(graph).Run(values);
}

}  // namespace flotilla
