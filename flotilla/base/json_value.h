// Reads values of a JSON text and checks their types. The first error is kept, so that a caller can
// read everything and check for errors once.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// A view of a value in a JSON text, which must outlive it, or of a member that is missing. `where`
// is its name in errors ("tables[2].dim"; empty for the whole text). A value that is missing or of
// another type reads as an empty one and leaves an error in *status: "tables[2].dim: expected a
// whole number, found 1.5".
class JsonValue {
 public:
  JsonValue(const nlohmann::json& json, Status* status, std::string where = "")
      : JsonValue(&json, status, std::move(where)) {}

  bool exists() const { return json_ != nullptr; }

  std::string Text() const;
  bool Flag() const;
  // A finite number.
  double Number() const;
  // A whole number in [least, most].
  int64_t Whole(int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max()) const;
  uint64_t Unsigned() const;
  // The index of `text` in `names`, or an error that lists the names.
  size_t OneOf(std::span<const std::string_view> names) const;

  // The member of an object; a member that is missing is an error when it is read.
  JsonValue operator[](const std::string& key) const;
  // The members of an object, in order of name.
  std::vector<std::pair<std::string, JsonValue>> Members() const;
  // The elements of a list.
  std::vector<JsonValue> List() const;
  std::vector<int64_t> Wholes(int64_t least = 0) const;

  // The elements of a list, and the members of an object, each read by `read`.
  template <typename F>
  auto Each(F read) const {
    std::vector<std::invoke_result_t<F, const JsonValue&>> values;
    for (const JsonValue& element : List()) values.push_back(std::invoke(read, element));
    return values;
  }
  template <typename F>
  auto EachMember(F read) const {
    std::map<std::string, std::invoke_result_t<F, const JsonValue&>> values;
    for (const auto& [name, member] : Members()) values.emplace(name, std::invoke(read, member));
    return values;
  }

  // Null if it is missing.
  const nlohmann::json* json() const { return json_; }
  // Records an error about the value.
  void Fail(std::string_view what) const;

 private:
  JsonValue(const nlohmann::json* json, Status* status, std::string where)
      : json_(json), status_(status), where_(std::move(where)) {}
  // Returns `right`; records an error if it is false.
  bool Check(bool right, std::string_view expected) const;

  const nlohmann::json* json_;
  Status* status_;
  std::string where_;
};

// Parses a text; the error contains the location. Never throws, for any text.
StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Serializes a value; an error when a string in it is not UTF-8. `indent` as in nlohmann::json.
StatusOr<std::string> DumpJson(const nlohmann::json& json, int indent = -1);
StatusOr<std::string> DumpJson(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace flotilla
