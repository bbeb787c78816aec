#include "flotilla/graph/graph_io.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "flotilla/base/json_value.h"
#include "flotilla/graph/graph_validation.h"

namespace flotilla {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "flotilla graph";

// Names of enumerators, in their order.
constexpr std::array<std::string_view, 3> kInputKinds = {"dense", "ids", "label"};
constexpr std::array<std::string_view, 3> kDTypes = {"float", "int", "ids"};
constexpr std::array<std::string_view, 6> kInitKinds = {"constant",         "uniform", "normal",
                                                        "truncated_normal", "xavier",  "msra"};

// ---- Writing ----

template <typename Enum, size_t n>
std::string NameOf(const std::array<std::string_view, n>& names, Enum value) {
  return std::string(names[static_cast<size_t>(value)]);
}

Json FloatToJson(double value) {
  if (std::isfinite(value)) return value;
  return {{"float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

Json ShapeToJson(const Shape& shape) {
  Json dims = Json::array();
  for (int64_t dim : shape.dims) {
    if (dim == Shape::kBatch) {
      dims.push_back("batch");
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

Json AttributesToJson(const ParameterAttributes& attributes) {
  Json decay;
  if (attributes.decay.has_value()) {
    decay = {{"l1", FloatToJson(attributes.decay->l1)}, {"l2", FloatToJson(attributes.decay->l2)}};
  }
  return {{"init",
           {{"kind", NameOf(kInitKinds, attributes.init.kind)},
            {"a", FloatToJson(attributes.init.a)},
            {"b", FloatToJson(attributes.init.b)}}},
          {"learning_rate_factor", FloatToJson(attributes.learning_rate_factor)},
          {"decay", decay},
          {"trainable", attributes.trainable}};
}

Json VarToJson(const VarDef& var) {
  Json json{{"name", var.name},
            {"dtype", NameOf(kDTypes, var.dtype)},
            {"shape", ShapeToJson(var.shape)},
            {"stop_gradient", var.stop_gradient}};
  if (var.input >= 0) json["input"] = var.input;
  if (var.parameter >= 0) json["parameter"] = var.parameter;
  if (var.node >= 0) json["node"] = var.node;
  return json;
}

Json NodeToJson(const NodeDef& node) {
  Json attributes = Json::object();
  for (const auto& [key, value] : node.attributes) {
    if (const double* number = std::get_if<double>(&value)) {
      attributes[key] = FloatToJson(*number);
    } else {
      std::visit([&, name = key](const auto& v) { attributes[name] = v; }, value);
    }
  }
  return {{"op", node.op},           {"name", node.name},   {"inputs", node.inputs},
          {"outputs", node.outputs}, {"table", node.table}, {"attributes", attributes}};
}

Json ToJson(const GraphDef& graph) {
  Json json{{"format", kFormat},       {"version", kGraphFormatVersion},
            {"inputs", Json::array()}, {"parameters", Json::array()},
            {"tables", Json::array()}, {"vars", Json::array()},
            {"nodes", Json::array()},  {"name_counts", graph.name_counts}};
  for (const InputSpec& input : graph.inputs) {
    json["inputs"].push_back(
        {{"name", input.name}, {"kind", NameOf(kInputKinds, input.kind)}, {"width", input.width}});
  }
  for (const ParameterSpec& spec : graph.parameters) {
    json["parameters"].push_back({{"name", spec.name},
                                  {"shape", spec.shape},
                                  {"attributes", AttributesToJson(spec.attributes)},
                                  {"moving_average_keep", FloatToJson(spec.moving_average_keep)}});
  }
  for (const TableSpec& table : graph.tables) {
    json["tables"].push_back({{"name", table.name},
                              {"dim", table.dim},
                              {"rows", table.rows},
                              {"attributes", AttributesToJson(table.attributes)},
                              {"keep_meta", table.keep_meta}});
  }
  for (const VarDef& var : graph.vars) json["vars"].push_back(VarToJson(var));
  for (const NodeDef& node : graph.nodes) json["nodes"].push_back(NodeToJson(node));
  return json;
}

// ---- Reading ----

constexpr int64_t kAnyWhole = std::numeric_limits<int64_t>::min();

template <typename Enum, size_t n>
Enum ReadEnum(const JsonValue& json, const std::array<std::string_view, n>& names) {
  return static_cast<Enum>(json.OneOf(names));
}

int ReadIndex(const JsonValue& json) {
  return static_cast<int>(
      json.Whole(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

double ReadFloat(const JsonValue& json) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array<std::string_view, 3> kNames = {"nan", "inf", "-inf"};
  constexpr double kValues[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity};
  const bool special = json.exists() && json.json()->is_object();
  return special ? kValues[json["float"].OneOf(kNames)] : json.Number();
}

Shape ReadShape(const JsonValue& json) {
  Shape shape;
  for (const JsonValue& dim : json.List()) {
    const bool batch = shape.dims.empty() && *dim.json() == "batch";
    shape.dims.push_back(batch ? Shape::kBatch : dim.Whole(1));
  }
  return shape;
}

ParameterAttributes ReadAttributes(const JsonValue& json) {
  const JsonValue init = json["init"];
  const JsonValue decay = json["decay"];
  ParameterAttributes attributes{
      .init = {.kind = ReadEnum<InitializerSpec::Kind>(init["kind"], kInitKinds),
               .a = ReadFloat(init["a"]),
               .b = ReadFloat(init["b"])},
      .learning_rate_factor = ReadFloat(json["learning_rate_factor"]),
      .decay = std::nullopt,
      .trainable = json["trainable"].Flag()};
  if (!decay.exists() || !decay.json()->is_null()) {
    attributes.decay = {.l1 = ReadFloat(decay["l1"]), .l2 = ReadFloat(decay["l2"])};
  }
  return attributes;
}

InputSpec ReadInput(const JsonValue& json) {
  return {.name = json["name"].Text(),
          .kind = ReadEnum<InputKind>(json["kind"], kInputKinds),
          .width = json["width"].Whole(kAnyWhole)};
}

ParameterSpec ReadParameter(const JsonValue& json) {
  return {.name = json["name"].Text(),
          .shape = json["shape"].Wholes(kAnyWhole),
          .attributes = ReadAttributes(json["attributes"]),
          .moving_average_keep = ReadFloat(json["moving_average_keep"])};
}

TableSpec ReadTable(const JsonValue& json) {
  return {.name = json["name"].Text(),
          .dim = json["dim"].Whole(kAnyWhole),
          .rows = json["rows"].Whole(kAnyWhole),
          .attributes = ReadAttributes(json["attributes"]),
          .keep_meta = json["keep_meta"].Flag()};
}

VarDef ReadVar(const JsonValue& json) {
  const auto source = [&](const char* key) {
    return json[key].exists() ? ReadIndex(json[key]) : -1;
  };
  return {.name = json["name"].Text(),
          .dtype = ReadEnum<DType>(json["dtype"], kDTypes),
          .shape = ReadShape(json["shape"]),
          .node = source("node"),
          .input = source("input"),
          .parameter = source("parameter"),
          .stop_gradient = json["stop_gradient"].Flag()};
}

// The JSON type of the value determines the type of the attribute.
Attribute ReadAttribute(const JsonValue& value) {
  const Json& json = *value.json();
  if (json.is_boolean()) return value.Flag();
  if (json.is_number_integer()) return value.Whole(kAnyWhole);
  if (json.is_number() || json.is_object()) return ReadFloat(value);
  if (json.is_string()) return value.Text();
  return value.Wholes(kAnyWhole);
}

NodeDef ReadNode(const JsonValue& json) {
  return {.op = json["op"].Text(),
          .name = json["name"].Text(),
          .inputs = json["inputs"].Each(ReadIndex),
          .outputs = json["outputs"].Each(ReadIndex),
          .table = ReadIndex(json["table"]),
          .attributes = json["attributes"].EachMember(ReadAttribute)};
}

void ReadGraph(const JsonValue& json, GraphDef* out) {
  if (const std::string format = json["format"].Text(); format != kFormat) {
    json["format"].Fail(fmt::format("'{}' is not '{}'", format, kFormat));
  }
  if (const int version = ReadIndex(json["version"]); version != kGraphFormatVersion) {
    json["version"].Fail(
        fmt::format("{} is not one that this program reads ({})", version, kGraphFormatVersion));
  }
  out->inputs = json["inputs"].Each(ReadInput);
  out->parameters = json["parameters"].Each(ReadParameter);
  out->tables = json["tables"].Each(ReadTable);
  out->vars = json["vars"].Each(ReadVar);
  out->nodes = json["nodes"].Each(ReadNode);
  out->name_counts = json["name_counts"].EachMember(ReadIndex);
}

}  // namespace

StatusOr<std::string> GraphToJson(const GraphDef& graph) {
  FL_RETURN_IF_ERROR(graph.status);
  const StatusOr<std::string> text = DumpJson(ToJson(graph), 1);
  if (!text.ok()) return Annotate(text.status(), "graph");
  return text;
}

StatusOr<Graph> GraphFromJson(std::string_view text) {
  const StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return Annotate(json.status(), "graph");
  auto graph = std::make_unique<GraphDef>();
  Status status;
  ReadGraph(JsonValue(*json, &status), graph.get());
  if (status.ok()) status = ValidateGraph(*graph);
  FL_RETURN_IF_ERROR(Annotate(status, "graph"));
  return Graph(std::move(graph));
}

}  // namespace flotilla
