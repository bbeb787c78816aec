#include "flotilla/checkpoint/optimizer_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace flotilla {

using Json = nlohmann::ordered_json;

namespace {

// In the order of ClipSpec::Kind.
constexpr std::array<std::string_view, 4> kClipKinds = {"none", "value", "norm", "global_norm"};

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

bool AllFinite(const std::map<std::string, double>& params) {
  return std::all_of(params.begin(), params.end(),
                     [](const auto& param) { return std::isfinite(param.second); });
}

}  // namespace

Json OptimizerToJson(const OptimizerSpec& optimizer) {
  const ScheduleSpec& rate = optimizer.learning_rate;
  Json json;
  json["name"] = optimizer.name;
  json["params"] = Json(optimizer.params);
  json["learning_rate"] = {{"name", rate.name},
                           {"params", Json(rate.params)},
                           {"boundaries", rate.boundaries},
                           {"values", rate.values}};
  json["decay"] = {{"l1", optimizer.decay.l1}, {"l2", optimizer.decay.l2}};
  json["clip"] = {{"kind", kClipKinds[static_cast<size_t>(optimizer.clip.kind)]},
                  {"limit", optimizer.clip.limit}};
  return json;
}

bool AreFinite(const OptimizerSpec& optimizer) {
  const ScheduleSpec& rate = optimizer.learning_rate;
  return AllFinite(optimizer.params) && AllFinite(rate.params) && AllFinite(rate.boundaries) &&
         AllFinite(rate.values) &&
         AllFinite(
             std::vector<double>{optimizer.decay.l1, optimizer.decay.l2, optimizer.clip.limit});
}

OptimizerSpec OptimizerFromJson(const JsonValue& json) {
  OptimizerSpec optimizer;
  optimizer.name = json["name"].Text();
  optimizer.params = json["params"].EachMember(&JsonValue::Number);
  const JsonValue rate = json["learning_rate"];
  optimizer.learning_rate = {.name = rate["name"].Text(),
                             .params = rate["params"].EachMember(&JsonValue::Number),
                             .boundaries = rate["boundaries"].Each(&JsonValue::Number),
                             .values = rate["values"].Each(&JsonValue::Number)};
  const JsonValue decay = json["decay"];
  optimizer.decay = {.l1 = decay["l1"].Number(), .l2 = decay["l2"].Number()};
  const JsonValue clip = json["clip"];
  optimizer.clip = {.kind = static_cast<ClipSpec::Kind>(clip["kind"].OneOf(kClipKinds)),
                    .limit = clip["limit"].Number()};
  return optimizer;
}

}  // namespace flotilla
