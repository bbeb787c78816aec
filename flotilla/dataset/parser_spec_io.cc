#include "flotilla/dataset/parser_spec_io.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

constexpr size_t kMaxFileBytes = 16 << 20;

// Parameters that name a file, and those that take its content instead.
struct FileParam {
  const char* file;
  const char* text;
};
constexpr FileParam kFileParams[] = {{"schema_file", "schema"}, {"statistics_file", "statistics"}};

}  // namespace

StatusOr<std::string> ParserSpecToJson(const ParserSpec& spec) {
  std::map<std::string, std::string> params = WithDefaults(spec).params;
  for (const FileParam& param : kFileParams) {
    const auto file = params.find(param.file);
    if (file == params.end()) continue;
    FL_ASSIGN_OR_RETURN(params[param.text], ReadWholeFile(file->second, kMaxFileBytes));
    params.erase(file);
  }
  try {
    nlohmann::json json = {{"format", spec.format}, {"params", params}};
    if (spec.pipe_command) json["pipe_command"] = *spec.pipe_command;
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("format {}: {}", spec.format, error.what());
  }
}

StatusOr<ParserSpec> ParserSpecFromJson(std::string_view text) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
  if (!json.is_object()) return InvalidArgument("expected an object");
  const auto format = json.find("format");
  if (format == json.end() || !format->is_string()) {
    return InvalidArgument("format: expected a string");
  }
  const auto params = json.find("params");
  if (params == json.end() || !params->is_object()) {
    return InvalidArgument("params: expected an object");
  }
  ParserSpec spec{.format = format->get<std::string>()};
  for (const auto& [name, value] : params->items()) {
    if (!value.is_string()) return InvalidArgument("params.{}: expected a string", name);
    spec.params[name] = value.get<std::string>();
  }
  if (const auto pipe = json.find("pipe_command"); pipe != json.end()) {
    if (!pipe->is_string()) return InvalidArgument("pipe_command: expected a string");
    spec.pipe_command = pipe->get<std::string>();
  }
  return spec;
}

}  // namespace flotilla
