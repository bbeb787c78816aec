#include "flotilla/graph/graph_io.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

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

// A JSON value and its path in the text.
struct Cursor {
  const Json& json;
  std::string where;

  std::string place() const { return where.empty() ? "top level" : where; }
  Status Wrong(std::string_view wanted) const {
    return InvalidArgument("{}: {} where {} is expected", place(), json.type_name(), wanted);
  }
};

Status Read(const Cursor& at, std::string* out) {
  if (!at.json.is_string()) return at.Wrong("text");
  *out = at.json.get<std::string>();
  return absl::OkStatus();
}

Status Read(const Cursor& at, bool* out) {
  if (!at.json.is_boolean()) return at.Wrong("true or false");
  *out = at.json.get<bool>();
  return absl::OkStatus();
}

Status Read(const Cursor& at, int64_t* out) {
  const bool too_large =
      at.json.is_number_unsigned() && at.json.get<uint64_t>() > std::numeric_limits<int64_t>::max();
  if (!at.json.is_number_integer() || too_large) return at.Wrong("a whole number");
  *out = at.json.get<int64_t>();
  return absl::OkStatus();
}

Status Read(const Cursor& at, int* out) {
  int64_t wide = 0;
  FL_RETURN_IF_ERROR(Read(at, &wide));
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    return InvalidArgument("{}: {} is out of range", at.where, wide);
  }
  *out = static_cast<int>(wide);
  return absl::OkStatus();
}

bool IsSpecialFloat(const Json& json) {
  return json.is_object() && json.size() == 1 && json.contains("float") &&
         json["float"].is_string();
}

Status Read(const Cursor& at, double* out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (at.json.is_number()) {
    *out = at.json.get<double>();
    return absl::OkStatus();
  }
  if (!IsSpecialFloat(at.json)) return at.Wrong("a number");
  const std::string text = at.json["float"].get<std::string>();
  if (text != "inf" && text != "-inf" && text != "nan") return at.Wrong("inf, -inf or nan");
  *out = text == "nan" ? std::nan("") : text == "inf" ? kInfinity : -kInfinity;
  return absl::OkStatus();
}

// Calls f(cursor) for each element of a list.
template <typename F>
Status ForEach(const Cursor& at, F f) {
  if (!at.json.is_array()) return at.Wrong("a list");
  for (size_t i = 0; i < at.json.size(); ++i) {
    FL_RETURN_IF_ERROR(f(Cursor{at.json[i], fmt::format("{}[{}]", at.where, i)}));
  }
  return absl::OkStatus();
}

template <typename T>
Status Read(const Cursor& at, std::vector<T>* out) {
  return ForEach(at, [&](const Cursor& element) { return Read(element, &out->emplace_back()); });
}

template <typename Enum, size_t n>
Status ReadEnum(const Cursor& at, const std::array<std::string_view, n>& names, Enum* out) {
  std::string text;
  FL_RETURN_IF_ERROR(Read(at, &text));
  for (size_t i = 0; i < n; ++i) {
    if (names[i] != text) continue;
    *out = static_cast<Enum>(i);
    return absl::OkStatus();
  }
  return InvalidArgument("{}: '{}' is not one of {}", at.where, text, fmt::join(names, ", "));
}

Status Read(const Cursor& at, InputKind* out) { return ReadEnum(at, kInputKinds, out); }
Status Read(const Cursor& at, DType* out) { return ReadEnum(at, kDTypes, out); }
Status Read(const Cursor& at, InitializerSpec::Kind* out) { return ReadEnum(at, kInitKinds, out); }

Status Read(const Cursor& at, Shape* out) {
  return ForEach(at, [&](const Cursor& element) -> Status {
    if (element.json == "batch" && out->dims.empty()) {
      out->dims.push_back(Shape::kBatch);
      return absl::OkStatus();
    }
    int64_t& dim = out->dims.emplace_back();
    FL_RETURN_IF_ERROR(Read(element, &dim));
    if (dim >= 1) return absl::OkStatus();
    return InvalidArgument("{}: dimension {} is not positive", element.where, dim);
  });
}

// Member `key` of an object, through Read.
template <typename T>
Status Member(const Cursor& at, const std::string& key, T* out) {
  if (!at.json.is_object()) return at.Wrong("an object");
  const auto found = at.json.find(key);
  if (found == at.json.end()) return InvalidArgument("{}: '{}' is missing", at.place(), key);
  return Read(Cursor{*found, at.where.empty() ? key : at.where + "." + key}, out);
}

template <typename T>
Status OptionalMember(const Cursor& at, const std::string& key, T* out) {
  return at.json.is_object() && at.json.contains(key) ? Member(at, key, out) : absl::OkStatus();
}

Status Read(const Cursor& at, InitializerSpec* out) {
  FL_RETURN_IF_ERROR(Member(at, "kind", &out->kind));
  FL_RETURN_IF_ERROR(Member(at, "a", &out->a));
  return Member(at, "b", &out->b);
}

Status Read(const Cursor& at, std::optional<Decay>* out) {
  if (at.json.is_null()) return absl::OkStatus();
  Decay& decay = out->emplace();
  FL_RETURN_IF_ERROR(Member(at, "l1", &decay.l1));
  return Member(at, "l2", &decay.l2);
}

Status Read(const Cursor& at, ParameterAttributes* out) {
  FL_RETURN_IF_ERROR(Member(at, "init", &out->init));
  FL_RETURN_IF_ERROR(Member(at, "learning_rate_factor", &out->learning_rate_factor));
  FL_RETURN_IF_ERROR(Member(at, "decay", &out->decay));
  return Member(at, "trainable", &out->trainable);
}

Status Read(const Cursor& at, InputSpec* out) {
  FL_RETURN_IF_ERROR(Member(at, "name", &out->name));
  FL_RETURN_IF_ERROR(Member(at, "kind", &out->kind));
  return Member(at, "width", &out->width);
}

Status Read(const Cursor& at, ParameterSpec* out) {
  FL_RETURN_IF_ERROR(Member(at, "name", &out->name));
  FL_RETURN_IF_ERROR(Member(at, "shape", &out->shape));
  FL_RETURN_IF_ERROR(Member(at, "attributes", &out->attributes));
  return Member(at, "moving_average_keep", &out->moving_average_keep);
}

Status Read(const Cursor& at, TableSpec* out) {
  FL_RETURN_IF_ERROR(Member(at, "name", &out->name));
  FL_RETURN_IF_ERROR(Member(at, "dim", &out->dim));
  FL_RETURN_IF_ERROR(Member(at, "rows", &out->rows));
  FL_RETURN_IF_ERROR(Member(at, "attributes", &out->attributes));
  return Member(at, "keep_meta", &out->keep_meta);
}

Status Read(const Cursor& at, VarDef* out) {
  FL_RETURN_IF_ERROR(Member(at, "name", &out->name));
  FL_RETURN_IF_ERROR(Member(at, "dtype", &out->dtype));
  FL_RETURN_IF_ERROR(Member(at, "shape", &out->shape));
  FL_RETURN_IF_ERROR(Member(at, "stop_gradient", &out->stop_gradient));
  FL_RETURN_IF_ERROR(OptionalMember(at, "input", &out->input));
  FL_RETURN_IF_ERROR(OptionalMember(at, "parameter", &out->parameter));
  return OptionalMember(at, "node", &out->node);
}

// The JSON type of the value determines the type of the attribute.
template <typename T>
Status ReadAs(const Cursor& at, Attribute* out) {
  T value{};
  FL_RETURN_IF_ERROR(Read(at, &value));
  *out = std::move(value);
  return absl::OkStatus();
}

Status Read(const Cursor& at, Attribute* out) {
  if (at.json.is_boolean()) return ReadAs<bool>(at, out);
  if (at.json.is_number_integer()) return ReadAs<int64_t>(at, out);
  if (at.json.is_number() || IsSpecialFloat(at.json)) return ReadAs<double>(at, out);
  if (at.json.is_string()) return ReadAs<std::string>(at, out);
  return ReadAs<std::vector<int64_t>>(at, out);
}

template <typename T>
Status Read(const Cursor& at, std::map<std::string, T>* out) {
  if (!at.json.is_object()) return at.Wrong("an object");
  for (const auto& [key, value] : at.json.items()) {
    FL_RETURN_IF_ERROR(Read(Cursor{value, at.where + "." + key}, &(*out)[key]));
  }
  return absl::OkStatus();
}

Status Read(const Cursor& at, NodeDef* out) {
  FL_RETURN_IF_ERROR(Member(at, "op", &out->op));
  FL_RETURN_IF_ERROR(Member(at, "name", &out->name));
  FL_RETURN_IF_ERROR(Member(at, "inputs", &out->inputs));
  FL_RETURN_IF_ERROR(Member(at, "outputs", &out->outputs));
  FL_RETURN_IF_ERROR(Member(at, "table", &out->table));
  return Member(at, "attributes", &out->attributes);
}

Status Read(const Cursor& at, GraphDef* out) {
  std::string format;
  int version = 0;
  FL_RETURN_IF_ERROR(Member(at, "format", &format));
  if (format != kFormat) return InvalidArgument("format: '{}' is not '{}'", format, kFormat);
  FL_RETURN_IF_ERROR(Member(at, "version", &version));
  if (version != kGraphFormatVersion) {
    return InvalidArgument("version: {} is not one that this program reads ({})", version,
                           kGraphFormatVersion);
  }
  FL_RETURN_IF_ERROR(Member(at, "inputs", &out->inputs));
  FL_RETURN_IF_ERROR(Member(at, "parameters", &out->parameters));
  FL_RETURN_IF_ERROR(Member(at, "tables", &out->tables));
  FL_RETURN_IF_ERROR(Member(at, "vars", &out->vars));
  FL_RETURN_IF_ERROR(Member(at, "nodes", &out->nodes));
  return Member(at, "name_counts", &out->name_counts);
}

}  // namespace

StatusOr<std::string> GraphToJson(const GraphDef& graph) {
  FL_RETURN_IF_ERROR(graph.status);
  try {
    return ToJson(graph).dump(1);
  } catch (const Json::exception& error) {
    return InvalidArgument("graph: {}", error.what());
  }
}

StatusOr<Graph> GraphFromJson(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return InvalidArgument("graph: {}", error.what());
  }
  auto graph = std::make_unique<GraphDef>();
  FL_RETURN_IF_ERROR(Annotate(Read(Cursor{json, ""}, graph.get()), "graph"));
  FL_RETURN_IF_ERROR(Annotate(ValidateGraph(*graph), "graph"));
  return Graph(std::move(graph));
}

}  // namespace flotilla
