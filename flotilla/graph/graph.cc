#include "flotilla/graph/graph.h"

#include <algorithm>

#include "flotilla/graph/op.h"

namespace flotilla {
namespace {

template <typename T>
const T* FindAttribute(const NodeDef& node, const std::string& key) {
  const auto it = node.attributes.find(key);
  return it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

template <typename T>
const T& GetAttribute(const NodeDef& node, const std::string& key) {
  const T* value = FindAttribute<T>(node, key);
  FL_CHECK(value != nullptr);
  return *value;
}

template <typename Range>
int FindByName(const Range& range, std::string_view name) {
  for (size_t i = 0; i < range.size(); ++i) {
    if (range[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Var AddVar(GraphDef* graph, VarDef var) {
  graph->vars.push_back(std::move(var));
  return Var(graph, static_cast<int>(graph->vars.size()) - 1);
}

Var AddInput(GraphDef* graph, InputSpec spec) {
  const int known = FindByName(graph->inputs, spec.name);
  if (known >= 0) {
    if (!(graph->inputs[known] == spec)) {
      return Fail(graph, InvalidArgument("input {}: declared twice with different kinds or widths "
                                         "({} and {})",
                                         spec.name, graph->inputs[known].width, spec.width));
    }
    return Var(graph, graph->FindVar(spec.name));
  }
  if (spec.name.empty()) return Fail(graph, InvalidArgument("an input needs a name"));
  if (spec.width < 1) {
    return Fail(graph,
                InvalidArgument("input {}: width {} is not positive", spec.name, spec.width));
  }
  if (graph->FindVar(spec.name) >= 0) {
    return Fail(graph, InvalidArgument("input {}: the name is taken by another value", spec.name));
  }
  VarDef var{.name = spec.name, .shape = Shape::PerRow({spec.width})};
  var.input = static_cast<int>(graph->inputs.size());
  var.stop_gradient = true;
  if (spec.kind == InputKind::kIds) var.dtype = DType::kIds;
  if (spec.kind == InputKind::kLabel) var.dtype = DType::kInt;
  graph->inputs.push_back(std::move(spec));
  return AddVar(graph, std::move(var));
}

}  // namespace

int64_t NodeDef::Int(const std::string& key) const { return GetAttribute<int64_t>(*this, key); }
int64_t NodeDef::Int(const std::string& key, int64_t otherwise) const {
  const int64_t* value = FindAttribute<int64_t>(*this, key);
  return value == nullptr ? otherwise : *value;
}
double NodeDef::Float(const std::string& key) const { return GetAttribute<double>(*this, key); }
double NodeDef::Float(const std::string& key, double otherwise) const {
  const double* value = FindAttribute<double>(*this, key);
  return value == nullptr ? otherwise : *value;
}
bool NodeDef::Bool(const std::string& key, bool otherwise) const {
  const bool* value = FindAttribute<bool>(*this, key);
  return value == nullptr ? otherwise : *value;
}
const std::string& NodeDef::Text(const std::string& key) const {
  return GetAttribute<std::string>(*this, key);
}
const std::vector<int64_t>& NodeDef::Ints(const std::string& key) const {
  return GetAttribute<std::vector<int64_t>>(*this, key);
}

int GraphDef::FindVar(std::string_view name) const { return FindByName(vars, name); }
int GraphDef::FindParameter(std::string_view name) const { return FindByName(parameters, name); }
int GraphDef::FindTable(std::string_view name) const { return FindByName(tables, name); }

Var Graph::Dense(const std::string& name, int64_t width) {
  return AddInput(def_.get(), {.name = name, .kind = InputKind::kDense, .width = width});
}

Var Graph::Ids(const std::string& name) {
  return AddInput(def_.get(), {.name = name, .kind = InputKind::kIds});
}

Var Graph::Label(const std::string& name) {
  return AddInput(def_.get(), {.name = name, .kind = InputKind::kLabel});
}

Var Graph::Parameter(const std::string& name, std::vector<int64_t> shape,
                     ParameterAttributes attributes) {
  return AddParameter(def_.get(),
                      {.name = name, .shape = std::move(shape), .attributes = attributes});
}

NameScope::NameScope(Graph* graph, const std::string& name)
    : graph_(graph->mutable_def()), outer_(graph_->scope) {
  if (name.empty() || name.find('/') != std::string::npos) {
    Fail(graph_, InvalidArgument("scope '{}': a name without '/' is needed", name));
  }
  scope_ = graph_->scope = fmt::format("{}{}/", outer_, name);
}

NameScope::~NameScope() {
  FL_CHECK(graph_->scope == scope_);
  graph_->scope = outer_;
}

Var Fail(GraphDef* graph, Status error) {
  if (!graph->status.ok()) return Var();
  graph->status = graph->scope.empty() ? std::move(error)
                                       : Annotate(error, fmt::format("scope {}", graph->scope));
  return Var();
}

std::string NextName(GraphDef* graph, const std::string& prefix) {
  std::string name;
  do {
    name = fmt::format("{}_{}", prefix, graph->name_counts[graph->scope + prefix]++);
  } while (graph->FindVar(graph->scope + name) >= 0 ||
           FindByName(graph->nodes, graph->scope + name) >= 0);
  return name;
}

Var AddParameter(GraphDef* graph, ParameterSpec spec) {
  if (spec.name.empty()) return Fail(graph, InvalidArgument("a parameter needs a name"));
  if (std::any_of(spec.shape.begin(), spec.shape.end(), [](int64_t dim) { return dim < 1; })) {
    return Fail(graph,
                InvalidArgument("parameter {}: shape {} has a dimension that is not positive",
                                spec.name, Shape{spec.shape}.ToString()));
  }
  const std::string name = graph->scope + spec.name;
  const int known = graph->FindParameter(name);
  if (known >= 0) {
    if (graph->parameters[known].shape != spec.shape) {
      return Fail(graph, InvalidArgument("parameter {}: used with shapes {} and {}", spec.name,
                                         Shape{graph->parameters[known].shape}.ToString(),
                                         Shape{spec.shape}.ToString()));
    }
    return Var(graph, graph->FindVar(name));
  }
  if (graph->FindVar(name) >= 0 || graph->FindTable(name) >= 0) {
    return Fail(graph, InvalidArgument("parameter {}: the name is taken by another value or table",
                                       spec.name));
  }
  spec.name = name;
  VarDef var{.name = spec.name, .shape = Shape{spec.shape}};
  var.parameter = static_cast<int>(graph->parameters.size());
  var.stop_gradient = !spec.attributes.trainable;
  graph->parameters.push_back(std::move(spec));
  return AddVar(graph, std::move(var));
}

std::vector<Var> AddNode(GraphDef* graph, const std::string& op, const std::string& name,
                         std::span<const Var> inputs, Attributes attributes, int table) {
  const std::vector<Var> failed(1);
  NodeDef node{.op = op, .name = name, .table = table, .attributes = std::move(attributes)};
  for (const Var& input : inputs) {
    // An invalid input means an error that is already recorded.
    if (!input.valid()) {
      Fail(graph, InvalidArgument("{} {}: an input is not a value of any graph", op, name));
      return failed;
    }
    if (input.graph() != graph) {
      Fail(graph,
           InvalidArgument("{} {}: input {} belongs to another graph", op, name, input.name()));
      return failed;
    }
    node.inputs.push_back(input.index());
  }
  if (node.name.empty()) node.name = NextName(graph, op);
  node.name = graph->scope + node.name;
  if (FindByName(graph->nodes, node.name) >= 0) {
    Fail(graph, InvalidArgument("{} {}: a layer of that name exists", op, node.name));
    return failed;
  }
  auto made = MakeOp(node);
  InferContext context{*graph, node, {}, {}};
  Status status = made.ok() ? (*made)->Infer(context) : made.status();
  if (!status.ok()) {
    Fail(graph, Annotate(status, fmt::format("{} {}", op, node.name)));
    return failed;
  }
  context.output_types.resize(context.output_shapes.size(), DType::kFloat);
  std::vector<Var> outputs;
  for (size_t k = 0; k < context.output_shapes.size(); ++k) {
    VarDef var{.name = context.output_shapes.size() == 1 ? node.name
                                                         : fmt::format("{}.out_{}", node.name, k),
               .dtype = context.output_types[k],
               .shape = context.output_shapes[k],
               .node = static_cast<int>(graph->nodes.size())};
    if (graph->FindVar(var.name) >= 0) {
      Fail(graph, InvalidArgument("{} {}: the name {} is taken", op, node.name, var.name));
      return failed;
    }
    outputs.push_back(AddVar(graph, std::move(var)));
    node.outputs.push_back(outputs.back().index());
  }
  graph->nodes.push_back(std::move(node));
  return outputs;
}

}  // namespace flotilla
