#include "flotilla/base/json_value.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace flotilla {

namespace {

// Maximum length of a wrong value in an error.
constexpr size_t kShownBytes = 80;

bool IsInRange(const nlohmann::json& whole, int64_t least, int64_t most) {
  if (whole.is_number_unsigned() &&
      whole.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return false;
  }
  return whole.get<int64_t>() >= least && whole.get<int64_t>() <= most;
}

template <typename Json>
StatusOr<std::string> Dump(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
}

}  // namespace

void JsonValue::Fail(std::string_view what) const {
  if (status_->ok()) {
    *status_ = InvalidArgument("{}{}{}", where_, where_.empty() ? "" : ": ", what);
  }
}

bool JsonValue::Check(bool right, std::string_view expected) const {
  if (right) return true;
  if (json_ == nullptr) {
    Fail(fmt::format("expected {}, it is missing", expected));
  } else if (json_->is_structured()) {
    Fail(fmt::format("expected {}", expected));
  } else {
    const std::string found =
        json_->dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
    Fail(fmt::format("expected {}, found {}", expected, found.substr(0, kShownBytes)));
  }
  return false;
}

std::string JsonValue::Text() const {
  const bool right = Check(json_ != nullptr && json_->is_string(), "a string");
  return right ? json_->get<std::string>() : std::string();
}

bool JsonValue::Flag() const {
  return Check(json_ != nullptr && json_->is_boolean(), "true or false") && json_->get<bool>();
}

double JsonValue::Number() const {
  const bool right = json_ != nullptr && json_->is_number() && std::isfinite(json_->get<double>());
  return Check(right, "a number") ? json_->get<double>() : 0;
}

int64_t JsonValue::Whole(int64_t least, int64_t most) const {
  if (!Check(json_ != nullptr && json_->is_number_integer(), "a whole number")) return least;
  if (IsInRange(*json_, least, most)) return json_->get<int64_t>();
  Fail(json_->dump() + " is out of range");
  return least;
}

uint64_t JsonValue::Unsigned() const {
  const bool right = Check(json_ != nullptr && json_->is_number_unsigned(), "a whole number >= 0");
  return right ? json_->get<uint64_t>() : 0;
}

size_t JsonValue::OneOf(std::span<const std::string_view> names) const {
  const std::string text = Text();
  const auto at = std::find(names.begin(), names.end(), text);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  Fail(fmt::format("'{}' is not one of {}", text.substr(0, kShownBytes), fmt::join(names, ", ")));
  return 0;
}

JsonValue JsonValue::operator[](const std::string& key) const {
  const nlohmann::json* member = nullptr;
  if (Check(json_ != nullptr && json_->is_object(), "an object")) {
    const auto at = json_->find(key);
    if (at != json_->end()) member = &*at;
  }
  return JsonValue(member, status_, where_.empty() ? key : where_ + "." + key);
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::Members() const {
  std::vector<std::pair<std::string, JsonValue>> members;
  if (!Check(json_ != nullptr && json_->is_object(), "an object")) return members;
  for (const auto& item : json_->items()) members.emplace_back(item.key(), (*this)[item.key()]);
  return members;
}

std::vector<JsonValue> JsonValue::List() const {
  std::vector<JsonValue> elements;
  if (!Check(json_ != nullptr && json_->is_array(), "a list")) return elements;
  for (size_t i = 0; i < json_->size(); ++i) {
    elements.push_back(JsonValue((*json_)[i], status_, fmt::format("{}[{}]", where_, i)));
  }
  return elements;
}

std::vector<int64_t> JsonValue::Wholes(int64_t least) const {
  return Each([least](const JsonValue& element) { return element.Whole(least); });
}

StatusOr<nlohmann::json> ParseJson(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
}

StatusOr<std::string> DumpJson(const nlohmann::json& json, int indent) {
  return Dump(json, indent);
}

StatusOr<std::string> DumpJson(const nlohmann::ordered_json& json, int indent) {
  return Dump(json, indent);
}

}  // namespace flotilla
