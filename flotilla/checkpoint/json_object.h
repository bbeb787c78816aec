// Reads the members of a JSON object with their types checked: what manifest.cc, optimizer_json.cc
// and safetensors.cc share. The first error is kept, so that a reader can ask for all members and
// look once.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// A view of a value that outlives it. `where` is how errors call it ("tables[2]"; empty for the
// whole). A member that is missing or of another type gives an empty value and an error in *status.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& json, std::string where, Status* status);

  // Whether there is a member of this name.
  bool Has(const char* key) const;

  std::string Text(const char* key) const;
  bool Flag(const char* key) const;
  // A number that is finite.
  double Number(const char* key) const;
  // A whole number in [least, most].
  int64_t Whole(const char* key, int64_t least = 0,
                int64_t most = std::numeric_limits<int64_t>::max()) const;
  uint64_t Unsigned(const char* key) const;
  std::vector<int64_t> Wholes(const char* key) const;
  std::vector<double> Numbers(const char* key) const;

  // The member as an object, or an empty object.
  JsonObject Object(const char* key) const;
  // The elements of a list, or of an object with their names, as objects.
  std::vector<JsonObject> Objects(const char* key) const;
  std::vector<std::pair<std::string, JsonObject>> NamedObjects() const;
  // The members of an object as name and text or number.
  std::vector<std::pair<std::string, std::string>> Texts() const;
  std::vector<std::pair<std::string, double>> Doubles() const;

  // Keeps an error about a member.
  void Fail(std::string_view key, std::string_view what) const;

 private:
  // The member, or null and an error.
  const nlohmann::json* Find(const char* key) const;
  std::string PathOf(std::string_view key) const;

  const nlohmann::json& json_;
  const std::string where_;
  Status* const status_;
};

// The value of a text, or an error with the place. No exceptions, whatever the text.
StatusOr<nlohmann::json> ParseJson(std::string_view text);

// The text of a value, or an error when a string in it is not UTF-8. `indent` as nlohmann has it.
StatusOr<std::string> DumpJson(const nlohmann::ordered_json& json, int indent);

}  // namespace flotilla
