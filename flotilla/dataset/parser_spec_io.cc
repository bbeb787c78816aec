#include "flotilla/dataset/parser_spec_io.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/dataset/csv_schema.h"

namespace flotilla {
namespace {

using Json = nlohmann::json;

constexpr char kSchema[] = "schema";
constexpr char kSchemaFile[] = "schema_file";

}  // namespace

StatusOr<std::string> ParserSpecToJson(const ParserSpec& spec) {
  std::map<std::string, std::string> params = spec.params;
  if (const auto file = params.find(kSchemaFile); file != params.end()) {
    FL_ASSIGN_OR_RETURN(params[kSchema], ReadSchemaFile(file->second));
    params.erase(file);
  }
  try {
    return Json{{"format", spec.format}, {"params", params}}.dump();
  } catch (const Json::exception& error) {
    return InvalidArgument("format {}: {}", spec.format, error.what());
  }
}

StatusOr<ParserSpec> ParserSpecFromJson(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
  if (!json.is_object()) return InvalidArgument("an object is expected");
  const auto format = json.find("format");
  if (format == json.end() || !format->is_string()) {
    return InvalidArgument("format: text is expected");
  }
  const auto params = json.find("params");
  if (params == json.end() || !params->is_object()) {
    return InvalidArgument("params: an object is expected");
  }
  ParserSpec spec{.format = format->get<std::string>()};
  for (const auto& [name, value] : params->items()) {
    if (!value.is_string()) return InvalidArgument("params.{}: text is expected", name);
    spec.params[name] = value.get<std::string>();
  }
  return spec;
}

}  // namespace flotilla
