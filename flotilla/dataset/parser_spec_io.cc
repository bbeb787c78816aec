#include "flotilla/dataset/parser_spec_io.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/json_value.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

// A vocabulary takes 11 bytes per value.
constexpr size_t kMaxFileBytes = size_t{1} << 30;

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
  nlohmann::json json = {{"format", spec.format}, {"params", params}};
  if (spec.pipe_command) json["pipe_command"] = *spec.pipe_command;
  const StatusOr<std::string> text = DumpJson(json);
  if (!text.ok()) return Annotate(text.status(), "format " + spec.format);
  return text;
}

StatusOr<ParserSpec> ParserSpecFromJson(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(text));
  Status status;
  const JsonValue json(parsed, &status);
  ParserSpec spec{.format = json["format"].Text(),
                  .params = json["params"].EachMember(&JsonValue::Text)};
  if (const JsonValue pipe = json["pipe_command"]; pipe.exists()) spec.pipe_command = pipe.Text();
  FL_RETURN_IF_ERROR(status);
  return spec;
}

}  // namespace flotilla
