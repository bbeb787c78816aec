#include "flotilla/checkpoint/optimizer_json.h"

#include <algorithm>
#include <array>
#include <cmath>
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

std::map<std::string, double> ParamsOf(const JsonObject& json) {
  std::map<std::string, double> params;
  for (auto& [name, value] : json.Object("params").Doubles()) params[name] = value;
  return params;
}

ClipSpec ClipFromJson(const JsonObject& json) {
  ClipSpec clip{.limit = json.Number("limit")};
  const auto kind = std::find(kClipKinds.begin(), kClipKinds.end(), json.Text("kind"));
  if (kind == kClipKinds.end()) {
    json.Fail("kind", "is not none, value, norm or global_norm");
  } else {
    clip.kind = static_cast<ClipSpec::Kind>(kind - kClipKinds.begin());
  }
  return clip;
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

OptimizerSpec OptimizerFromJson(const JsonObject& json) {
  OptimizerSpec optimizer;
  optimizer.name = json.Text("name");
  optimizer.params = ParamsOf(json);
  const JsonObject rate = json.Object("learning_rate");
  optimizer.learning_rate = {.name = rate.Text("name"),
                             .params = ParamsOf(rate),
                             .boundaries = rate.Numbers("boundaries"),
                             .values = rate.Numbers("values")};
  const JsonObject decay = json.Object("decay");
  optimizer.decay = {.l1 = decay.Number("l1"), .l2 = decay.Number("l2")};
  optimizer.clip = ClipFromJson(json.Object("clip"));
  return optimizer;
}

}  // namespace flotilla
