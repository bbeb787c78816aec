#include "flotilla/metric/metric_io.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "flotilla/base/json_value.h"

namespace flotilla {
namespace {

using Json = nlohmann::json;

int ReadVar(const JsonValue& json) {
  return static_cast<int>(json.Whole(0, std::numeric_limits<int>::max()));
}

// -1 if it is missing.
int ReadOptionalVar(const JsonValue& json) { return json.exists() ? ReadVar(json) : -1; }

MetricSpec ReadMetric(const JsonValue& json) {
  return {.name = json["name"].Text(),
          .kind = json["kind"].Text(),
          .vars = json["vars"].Each(ReadVar),
          .params = json["params"].EachMember(&JsonValue::Number),
          .weight = ReadOptionalVar(json["weight"]),
          .group = ReadOptionalVar(json["group"])};
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
    if (spec.weight >= 0) json.back()["weight"] = spec.weight;
    if (spec.group >= 0) json.back()["group"] = spec.group;
  }
  const StatusOr<std::string> text = DumpJson(json);
  if (!text.ok()) return Annotate(text.status(), "metrics");
  return text;
}

StatusOr<std::vector<MetricSpec>> MetricsFromJson(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  Status status;
  std::vector<MetricSpec> metrics = JsonValue(json, &status).Each(ReadMetric);
  FL_RETURN_IF_ERROR(status);
  return metrics;
}

}  // namespace flotilla
