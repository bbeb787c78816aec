#include "flotilla/metric/metric_io.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

using Json = nlohmann::json;

Status ReadText(const Json& json, const std::string& where, const char* key, std::string* out) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) {
    return InvalidArgument("{}.{}: expected a string", where, key);
  }
  *out = found->get<std::string>();
  return absl::OkStatus();
}

Status ReadVars(const Json& json, const std::string& where, std::vector<int>* out) {
  const auto found = json.find("vars");
  if (found == json.end() || !found->is_array()) {
    return InvalidArgument("{}.vars: expected a list", where);
  }
  for (const Json& var : *found) {
    const bool whole =
        var.is_number_unsigned() && var.get<uint64_t>() <= std::numeric_limits<int>::max();
    if (!whole) return InvalidArgument("{}.vars: expected the index of a value", where);
    out->push_back(var.get<int>());
  }
  return absl::OkStatus();
}

Status ReadParams(const Json& json, const std::string& where, std::map<std::string, double>* out) {
  const auto found = json.find("params");
  if (found == json.end() || !found->is_object()) {
    return InvalidArgument("{}.params: expected an object", where);
  }
  for (const auto& [name, value] : found->items()) {
    if (!value.is_number()) return InvalidArgument("{}.params.{}: expected a number", where, name);
    (*out)[name] = value.get<double>();
  }
  return absl::OkStatus();
}

StatusOr<MetricSpec> ReadMetric(const Json& json, const std::string& where) {
  if (!json.is_object()) return InvalidArgument("{}: expected an object", where);
  MetricSpec spec;
  FL_RETURN_IF_ERROR(ReadText(json, where, "name", &spec.name));
  FL_RETURN_IF_ERROR(ReadText(json, where, "kind", &spec.kind));
  FL_RETURN_IF_ERROR(ReadVars(json, where, &spec.vars));
  FL_RETURN_IF_ERROR(ReadParams(json, where, &spec.params));
  return spec;
}

}  // namespace

StatusOr<std::string> MetricsToJson(std::span<const MetricSpec> metrics) {
  Json json = Json::array();
  for (const MetricSpec& spec : metrics) {
    for (const auto& [name, value] : spec.params) {
      if (std::isfinite(value)) continue;
      return InvalidArgument("metric {}: {} is {}, not a finite number", spec.name, name, value);
    }
    json.push_back({{"name", spec.name},
                    {"kind", spec.kind},
                    {"vars", spec.vars},
                    {"params", Json(Json::value_t::object)}});
    for (const auto& [name, value] : spec.params) json.back()["params"][name] = value;
  }
  try {
    return json.dump();
  } catch (const Json::exception& error) {
    return InvalidArgument("metrics: {}", error.what());
  }
}

StatusOr<std::vector<MetricSpec>> MetricsFromJson(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
  if (!json.is_array()) return InvalidArgument("expected a list");
  std::vector<MetricSpec> metrics;
  for (size_t i = 0; i < json.size(); ++i) {
    FL_ASSIGN_OR_RETURN(MetricSpec spec, ReadMetric(json[i], fmt::format("[{}]", i)));
    metrics.push_back(std::move(spec));
  }
  return metrics;
}

}  // namespace flotilla
