#include "flotilla/checkpoint/json_object.h"

#include <cmath>
#include <utility>

namespace flotilla {

namespace {

// Replaces a missing member: references to it stay valid.
const nlohmann::json& EmptyObject() {
  static const nlohmann::json empty = nlohmann::json::object();
  return empty;
}

bool IsWhole(const nlohmann::json& json, int64_t least, int64_t most) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    return value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
           static_cast<int64_t>(value) >= least && static_cast<int64_t>(value) <= most;
  }
  if (!json.is_number_integer()) return false;
  return json.get<int64_t>() >= least && json.get<int64_t>() <= most;
}

bool IsFinite(const nlohmann::json& json) {
  return json.is_number() && std::isfinite(json.get<double>());
}

}  // namespace

JsonObject::JsonObject(const nlohmann::json& json, std::string where, Status* status)
    : json_(json.is_object() ? json : EmptyObject()), where_(std::move(where)), status_(status) {
  if (!json.is_object()) Fail("", "is not an object");
}

std::string JsonObject::PathOf(std::string_view key) const {
  if (key.empty()) return where_.empty() ? "the text" : where_;
  return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

void JsonObject::Fail(std::string_view key, std::string_view what) const {
  if (status_->ok()) *status_ = InvalidArgument("{} {}", PathOf(key), what);
}

bool JsonObject::Has(const char* key) const { return json_.contains(key); }

const nlohmann::json* JsonObject::Find(const char* key) const {
  const auto at = json_.find(key);
  if (at != json_.end()) return &*at;
  Fail(key, "is missing");
  return nullptr;
}

std::string JsonObject::Text(const char* key) const {
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return {};
  if (json->is_string()) return json->get<std::string>();
  Fail(key, "is not a text");
  return {};
}

bool JsonObject::Flag(const char* key) const {
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return false;
  if (json->is_boolean()) return json->get<bool>();
  Fail(key, "is not true or false");
  return false;
}

double JsonObject::Number(const char* key) const {
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return 0;
  if (IsFinite(*json)) return json->get<double>();
  Fail(key, "is not a number");
  return 0;
}

int64_t JsonObject::Whole(const char* key, int64_t least, int64_t most) const {
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return least;
  if (IsWhole(*json, least, most)) return json->get<int64_t>();
  Fail(key, fmt::format("is not a whole number in [{}, {}]", least, most));
  return least;
}

uint64_t JsonObject::Unsigned(const char* key) const {
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return 0;
  if (json->is_number_unsigned()) return json->get<uint64_t>();
  Fail(key, "is not an unsigned number");
  return 0;
}

std::vector<int64_t> JsonObject::Wholes(const char* key) const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> values;
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return values;
  if (!json->is_array()) Fail(key, "is not a list");
  for (size_t i = 0; json->is_array() && i < json->size(); ++i) {
    if (!IsWhole((*json)[i], 0, kMost)) Fail(key, "has an element that is not a whole number >= 0");
    values.push_back(IsWhole((*json)[i], 0, kMost) ? (*json)[i].get<int64_t>() : 0);
  }
  return values;
}

std::vector<double> JsonObject::Numbers(const char* key) const {
  std::vector<double> values;
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return values;
  if (!json->is_array()) Fail(key, "is not a list");
  for (size_t i = 0; json->is_array() && i < json->size(); ++i) {
    if (!IsFinite((*json)[i])) Fail(key, "has an element that is not a number");
    values.push_back(IsFinite((*json)[i]) ? (*json)[i].get<double>() : 0);
  }
  return values;
}

JsonObject JsonObject::Object(const char* key) const {
  const nlohmann::json* json = Find(key);
  return JsonObject(json == nullptr ? EmptyObject() : *json, PathOf(key), status_);
}

std::vector<JsonObject> JsonObject::Objects(const char* key) const {
  std::vector<JsonObject> objects;
  const nlohmann::json* json = Find(key);
  if (json == nullptr) return objects;
  if (!json->is_array()) Fail(key, "is not a list");
  for (size_t i = 0; json->is_array() && i < json->size(); ++i) {
    objects.emplace_back((*json)[i], fmt::format("{}[{}]", PathOf(key), i), status_);
  }
  return objects;
}

std::vector<std::pair<std::string, JsonObject>> JsonObject::NamedObjects() const {
  std::vector<std::pair<std::string, JsonObject>> objects;
  for (const auto& [name, value] : json_.items()) {
    objects.emplace_back(name, JsonObject(value, PathOf(name), status_));
  }
  return objects;
}

std::vector<std::pair<std::string, std::string>> JsonObject::Texts() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& item : json_.items()) {
    texts.emplace_back(item.key(), Text(item.key().c_str()));
  }
  return texts;
}

std::vector<std::pair<std::string, double>> JsonObject::Doubles() const {
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& item : json_.items()) {
    numbers.emplace_back(item.key(), Number(item.key().c_str()));
  }
  return numbers;
}

StatusOr<nlohmann::json> ParseJson(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
}

StatusOr<std::string> DumpJson(const nlohmann::ordered_json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
}

}  // namespace flotilla
