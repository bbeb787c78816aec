#include "flotilla/graph/graph_validation.h"

#include <algorithm>
#include <set>
#include <string>

#include "flotilla/graph/op.h"
#include "flotilla/graph/ops/embedding.h"

namespace flotilla {
namespace {

// Maximum number of elements of one value (of one row, if it has rows): fits into any machine, far
// from overflow.
constexpr int64_t kMaxElements = int64_t{1} << 36;

std::string At(const char* list, size_t index) { return fmt::format("{}[{}]", list, index); }

Status CheckDims(const std::string& where, const std::vector<int64_t>& dims) {
  int64_t size = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d == 0 && dims[d] == Shape::kBatch) continue;
    if (dims[d] < 1) return InvalidArgument("{}: dimension {} is not positive", where, dims[d]);
    if (dims[d] > kMaxElements / size) {
      return InvalidArgument("{}: shape {} has too many elements", where, Shape{dims}.ToString());
    }
    size *= dims[d];
  }
  return absl::OkStatus();
}

template <typename T>
Status CheckNames(const char* list, const std::vector<T>& items) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name.empty()) return InvalidArgument("{}.name: empty", At(list, i));
    if (!names.insert(items[i].name).second) {
      return InvalidArgument("{}.name: '{}' is taken", At(list, i), items[i].name);
    }
  }
  return absl::OkStatus();
}

Status CheckSpecs(const GraphDef& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const InputSpec& input = graph.inputs[i];
    const bool one = input.kind != InputKind::kDense;
    if (input.width < 1 || input.width > kMaxElements || (one && input.width != 1)) {
      return InvalidArgument("{}.width: {}", At("inputs", i), input.width);
    }
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const ParameterSpec& spec = graph.parameters[i];
    for (int64_t dim : spec.shape) {
      if (dim < 1) return InvalidArgument("{}.shape: dimension {}", At("parameters", i), dim);
    }
    FL_RETURN_IF_ERROR(CheckDims(At("parameters", i) + ".shape", spec.shape));
    if (!(spec.moving_average_keep >= 0 && spec.moving_average_keep < 1)) {
      return InvalidArgument("{}.moving_average_keep: {} is not in [0, 1)", At("parameters", i),
                             spec.moving_average_keep);
    }
    if (graph.FindTable(spec.name) >= 0) {
      return InvalidArgument("{}.name: '{}' is a table too", At("parameters", i), spec.name);
    }
  }
  for (size_t i = 0; i < graph.tables.size(); ++i) {
    const TableSpec& table = graph.tables[i];
    if (table.dim < 1 || table.dim > kMaxElements || table.rows < 0) {
      return InvalidArgument("{}: shape ({}, {})", At("tables", i), table.rows, table.dim);
    }
  }
  return absl::OkStatus();
}

bool InRange(int index, size_t size) { return index >= 0 && index < static_cast<int>(size); }

// The expected definition of a var whose source is an input or a parameter.
VarDef ExpectedSource(const GraphDef& graph, const VarDef& var) {
  VarDef expected;
  if (var.input >= 0) {
    const InputSpec& input = graph.inputs[var.input];
    expected.name = input.name;
    expected.shape = Shape::PerRow({input.width});
    if (input.kind == InputKind::kIds) expected.dtype = DType::kIds;
    if (input.kind == InputKind::kLabel) expected.dtype = DType::kInt;
  } else {
    expected.name = graph.parameters[var.parameter].name;
    expected.shape = Shape{graph.parameters[var.parameter].shape};
  }
  return expected;
}

Status CheckVar(const GraphDef& graph, const VarDef& var, const std::string& where) {
  FL_RETURN_IF_ERROR(CheckDims(where + ".shape", var.shape.dims));
  const int sources = (var.input >= 0) + (var.parameter >= 0) + (var.node >= 0);
  if (sources != 1) return InvalidArgument("{}: has {} sources, expected one", where, sources);
  if (var.input >= 0 && !InRange(var.input, graph.inputs.size())) {
    return InvalidArgument("{}.input: {} is out of range", where, var.input);
  }
  if (var.parameter >= 0 && !InRange(var.parameter, graph.parameters.size())) {
    return InvalidArgument("{}.parameter: {} is out of range", where, var.parameter);
  }
  if (var.node >= 0) {
    if (InRange(var.node, graph.nodes.size())) return absl::OkStatus();
    return InvalidArgument("{}.node: {} is out of range", where, var.node);
  }
  const VarDef expected = ExpectedSource(graph, var);
  if (var.name != expected.name || var.shape != expected.shape || var.dtype != expected.dtype) {
    return InvalidArgument("{}: {} of shape {} is not {} of shape {} that it comes from", where,
                           var.name, var.shape.ToString(), expected.name,
                           expected.shape.ToString());
  }
  return absl::OkStatus();
}

Status CheckVars(const GraphDef& graph) {
  for (size_t v = 0; v < graph.vars.size(); ++v) {
    FL_RETURN_IF_ERROR(CheckVar(graph, graph.vars[v], At("vars", v)));
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int var = graph.FindVar(graph.inputs[i].name);
    if (var < 0 || graph.vars[var].input != static_cast<int>(i)) {
      return InvalidArgument("{}: no value has this input", At("inputs", i));
    }
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const int var = graph.FindVar(graph.parameters[i].name);
    if (var < 0 || graph.vars[var].parameter != static_cast<int>(i)) {
      return InvalidArgument("{}: no value has this parameter", At("parameters", i));
    }
  }
  return absl::OkStatus();
}

Status CheckLinks(const GraphDef& graph, int index, const std::string& where) {
  const NodeDef& node = graph.nodes[index];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int input = node.inputs[i];
    if (!InRange(input, graph.vars.size())) {
      return InvalidArgument("{}.inputs[{}]: value {} is out of range (the graph has {})", where, i,
                             input, graph.vars.size());
    }
    if (graph.vars[input].node >= index) {
      return InvalidArgument("{}.inputs[{}]: {} is not computed before it", where, i,
                             graph.vars[input].name);
    }
  }
  std::set<int> outputs;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const int output = node.outputs[k];
    if (!InRange(output, graph.vars.size()) || graph.vars[output].node != index ||
        !outputs.insert(output).second) {
      return InvalidArgument("{}.outputs[{}]: value {} is not an output of this op", where, k,
                             output);
    }
  }
  if (!LooksUpTable(node) && node.table != -1) {
    return InvalidArgument("{}.table: {} in op {}, which has none", where, node.table, node.op);
  }
  return absl::OkStatus();
}

Status CheckInference(const GraphDef& graph, const NodeDef& node) {
  FL_ASSIGN_OR_RETURN(const auto op, MakeOp(node));
  InferContext context{graph, node, {}, {}};
  FL_RETURN_IF_ERROR(op->Infer(context));
  context.output_types.resize(context.output_shapes.size(), DType::kFloat);
  if (context.output_shapes.size() != node.outputs.size()) {
    return InvalidArgument("{} outputs, but it has {}", node.outputs.size(),
                           context.output_shapes.size());
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const VarDef& var = graph.vars[node.outputs[k]];
    if (var.shape != context.output_shapes[k] || var.dtype != context.output_types[k]) {
      return InvalidArgument("output {} of shape {} is inferred with shape {}, or another type",
                             var.name, var.shape.ToString(), context.output_shapes[k].ToString());
    }
  }
  return absl::OkStatus();
}

Status CheckNodes(const GraphDef& graph) {
  size_t made = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const NodeDef& node = graph.nodes[n];
    const std::string where = At("nodes", n);
    FL_RETURN_IF_ERROR(CheckLinks(graph, static_cast<int>(n), where));
    FL_RETURN_IF_ERROR(
        Annotate(CheckInference(graph, node), fmt::format("{}: {} {}", where, node.op, node.name)));
    made += node.outputs.size();
  }
  const auto from_nodes = std::count_if(graph.vars.begin(), graph.vars.end(),
                                        [](const VarDef& var) { return var.node >= 0; });
  if (static_cast<size_t>(from_nodes) != made) {
    return InvalidArgument("vars: {} have an op as source, but ops have {} outputs", from_nodes,
                           made);
  }
  return absl::OkStatus();
}

}  // namespace

Status ValidateGraph(const GraphDef& graph) {
  FL_RETURN_IF_ERROR(CheckNames("inputs", graph.inputs));
  FL_RETURN_IF_ERROR(CheckNames("parameters", graph.parameters));
  FL_RETURN_IF_ERROR(CheckNames("tables", graph.tables));
  FL_RETURN_IF_ERROR(CheckNames("vars", graph.vars));
  FL_RETURN_IF_ERROR(CheckNames("nodes", graph.nodes));
  for (const auto& [prefix, count] : graph.name_counts) {
    if (count < 0 || count > (1 << 30)) return InvalidArgument("name_counts.{}: {}", prefix, count);
  }
  FL_RETURN_IF_ERROR(CheckSpecs(graph));
  FL_RETURN_IF_ERROR(CheckVars(graph));
  return CheckNodes(graph);
}

}  // namespace flotilla
