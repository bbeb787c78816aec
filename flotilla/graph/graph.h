// The definition of a network: inputs, parameters, tables, and ops in the order in which they were
// written. It computes nothing and knows nothing of distribution; plan.h prepares it for execution,
// graph_io.h converts it to text and back.
//
// Users build graphs with the functions of layers.h. An error (a wrong shape, an unknown table)
// does not throw: the graph keeps its first error, which names the layer, and the returned Var is
// invalid; further layers on it do nothing. Code that receives a graph must check status() first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/input_spec.h"
#include "flotilla/tensor/parameter_spec.h"
#include "flotilla/tensor/shape.h"

namespace flotilla {

// Parameters of an op besides its inputs. Stored in saved graphs, so names and types are stable.
using Attribute = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;
using Attributes = std::map<std::string, Attribute>;

enum class DType {
  kFloat,
  kInt,  // whole numbers, stored as float32 (labels, indices)
  kIds,  // ragged 64-bit ids: only embeddings read them
};

// One value of the graph. Exactly one of node, input, parameter is >= 0: the source of the value.
struct VarDef {
  std::string name;  // unique in the graph
  DType dtype = DType::kFloat;
  Shape shape;
  int node = -1;
  int input = -1;
  int parameter = -1;
  bool stop_gradient = false;
};

// One op of the graph.
struct NodeDef {
  std::string op;            // a name in ops/registry.cc
  std::string name;          // unique in the graph, e.g. "fc_0"
  std::vector<int> inputs;   // vars
  std::vector<int> outputs;  // vars
  int table = -1;            // sparse lookups: index of the table
  Attributes attributes;

  // Attributes by name. REQUIRES: present with that type, or a default is given.
  int64_t Int(const std::string& key) const;
  int64_t Int(const std::string& key, int64_t otherwise) const;
  double Float(const std::string& key) const;
  double Float(const std::string& key, double otherwise) const;
  bool Bool(const std::string& key, bool otherwise = false) const;
  const std::string& Text(const std::string& key) const;
  const std::vector<int64_t>& Ints(const std::string& key) const;
};

struct GraphDef {
  std::vector<InputSpec> inputs;
  std::vector<VarDef> vars;
  std::vector<NodeDef> nodes;  // in order: the inputs of an op are computed before it
  std::vector<ParameterSpec> parameters;
  std::vector<TableSpec> tables;
  // Counters of generated names, by prefix with its scope: the number of the next name.
  std::map<std::string, int> name_counts;  // names such as fc_0, fc_1
  // What the names of layers, parameters and tables that are added now begin with: "" or, inside a
  // NameScope, its name and "/". Not stored with the graph.
  std::string scope;
  Status status;

  // Index of a var, parameter or table by name, -1 if there is none.
  int FindVar(std::string_view name) const;
  int FindParameter(std::string_view name) const;
  int FindTable(std::string_view name) const;
};

// A value of a graph under construction: a definition and an index. Cheap to copy; valid as long as
// the Graph, even if the Graph is moved.
class Var {
 public:
  Var() = default;
  Var(GraphDef* graph, int index) : graph_(graph), index_(index) {}

  // False after an error in the layer that created it (see graph->status).
  bool valid() const { return graph_ != nullptr && index_ >= 0; }
  int index() const { return index_; }
  GraphDef* graph() const { return graph_; }
  // REQUIRES: valid().
  const VarDef& def() const { return graph_->vars[index_]; }
  const std::string& name() const { return def().name; }
  const Shape& shape() const { return def().shape; }

 private:
  GraphDef* graph_ = nullptr;
  int index_ = -1;
};

// A move-only handle to a definition on the heap.
class Graph {
 public:
  Graph() : def_(std::make_unique<GraphDef>()) {}
  explicit Graph(std::unique_ptr<GraphDef> def) : def_(std::move(def)) {}

  // Inputs. Names are unique; a second declaration of the same input returns the same Var.
  Var Dense(const std::string& name, int64_t width);
  Var Ids(const std::string& name);
  Var Label(const std::string& name);

  // A standalone dense parameter as a value, for MatMul and the like.
  Var Parameter(const std::string& name, std::vector<int64_t> shape,
                ParameterAttributes attributes);

  // The first error of any layer, or Ok.
  const Status& status() const { return def_->status; }
  const GraphDef& def() const { return *def_; }
  GraphDef* mutable_def() { return def_.get(); }

 private:
  std::unique_ptr<GraphDef> def_;
};

// Prefixes names while a part of a network is built. Everything that is added to the graph between
// construction and destruction, except inputs, has a name that begins with "NAME/"; the rest of the
// name is the one that it would have in a graph of its own, because generated names are counted
// separately in each scope. Layers inside look up parameters and tables by name within the scope
// only. Scopes nest ("a/b/"); a scope that is opened again continues.
//
//   const NameScope scope(&graph, "ffm");
//   logit = Ffm(..);  // parameters ffm/fc_0.w_0, ..
//
// A name that is empty or contains "/" is an error in the status of the graph. REQUIRES: the graph,
// or the one that it is moved to, outlives the scope; scopes end in the reverse order of their
// beginnings.
class NameScope {
 public:
  NameScope(Graph* graph, const std::string& name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  GraphDef* const graph_;
  const std::string outer_;
  std::string scope_;
};

// Building blocks of layers.cc. Names that are passed to them are relative to the scope of the
// graph. On failure each records the error and returns an invalid Var.

// Adds an op; its output shapes come from Op::Infer. An empty `name` becomes op_N, counted
// separately in each graph. Outputs are named NAME.out_K unless the op has one output, then NAME.
std::vector<Var> AddNode(GraphDef* graph, const std::string& op, const std::string& name,
                         std::span<const Var> inputs, Attributes attributes, int table = -1);
// Returns a new dense parameter, or the existing one of that name: an error if the shapes differ.
Var AddParameter(GraphDef* graph, ParameterSpec spec);
// Returns a name that no layer uses, relative to the scope: PREFIX_0, PREFIX_1, ..
std::string NextName(GraphDef* graph, const std::string& prefix);
// Records the error, with the scope in front, if it is the first one. Returns an invalid Var.
Var Fail(GraphDef* graph, Status error);

}  // namespace flotilla
