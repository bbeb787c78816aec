// Reads the members of a JSON object and checks their types; shared by manifest.cc,
// optimizer_json.cc and safetensors.cc. The first error is kept, so that a caller can read all
// members and check for errors once.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// A view of a JSON value, which must outlive it. `where` is its name in errors ("tables[2]"; empty
// for the whole text). A member that is missing or of another type yields an empty value and an
// error in *status.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& json, std::string where, Status* status);

  // Whether there is a member of this name.
  bool Has(const char* key) const;

  std::string Text(const char* key) const;
  bool Flag(const char* key) const;
  // A finite number.
  double Number(const char* key) const;
  // A whole number in [least, most].
  int64_t Whole(const char* key, int64_t least = 0,
                int64_t most = std::numeric_limits<int64_t>::max()) const;
  uint64_t Unsigned(const char* key) const;
  std::vector<int64_t> Wholes(const char* key) const;
  std::vector<double> Numbers(const char* key) const;

  // The member as an object, or an empty object.
  JsonObject Object(const char* key) const;
  // The elements of a list, or the named members of this object, as objects.
  std::vector<JsonObject> Objects(const char* key) const;
  std::vector<std::pair<std::string, JsonObject>> NamedObjects() const;
  // The members of this object as pairs of name and text or number.
  std::vector<std::pair<std::string, std::string>> Texts() const;
  std::vector<std::pair<std::string, double>> Doubles() const;

  // Records an error about a member.
  void Fail(std::string_view key, std::string_view what) const;

 private:
  // The member, or null after recording an error.
  const nlohmann::json* Find(const char* key) const;
  std::string PathOf(std::string_view key) const;

  const nlohmann::json& json_;
  const std::string where_;
  Status* const status_;
};

// Parses a text; the error contains the location. Never throws, for any text.
StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Serializes a value; an error when a string in it is not UTF-8. `indent` as in nlohmann::json.
StatusOr<std::string> DumpJson(const nlohmann::ordered_json& json, int indent);

}  // namespace flotilla
