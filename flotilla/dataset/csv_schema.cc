#include "flotilla/dataset/csv_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "flotilla/base/text_file.h"
#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;
using Role = CsvColumn::Role;

constexpr std::array<std::string_view, 5> kRoleNames = {"ignore", "dense", "id", "bag", "label"};
constexpr size_t kMaxColumns = 10000;
constexpr size_t kMaxSchemaBytes = 16 << 20;

struct NamedCharacter {
  std::string_view name;
  char character;
};
constexpr std::array<NamedCharacter, 5> kNamedCharacters = {
    {{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"space", ' '}, {"pipe", '|'}}};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

StatusOr<char> ReadCharacter(std::string_view text) {
  for (const NamedCharacter& each : kNamedCharacters) {
    if (text == each.name) return each.character;
  }
  if (text.size() == 1) return text[0];
  return InvalidArgument("'{}' is neither one character nor comma, tab, semicolon, space or pipe",
                         text);
}

StatusOr<bool> ReadBool(std::string_view text) {
  if (text == "1" || text == "true" || text == "yes") return true;
  if (text == "0" || text == "false" || text == "no") return false;
  return InvalidArgument("'{}' is neither yes nor no", text);
}

StatusOr<uint64_t> ReadUint64(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (ScanUint64(text.data(), end, &value) == end) return value;
  return InvalidArgument("'{}' is not a whole number", text);
}

StatusOr<double> ReadDouble(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  if (ScanDouble(text.data(), end, &value) == end) return value;
  return InvalidArgument("'{}' is not a finite number", text);
}

StatusOr<Role> ReadRole(std::string_view text) {
  const auto name = std::find(kRoleNames.begin(), kRoleNames.end(), text);
  if (name != kRoleNames.end()) return static_cast<Role>(name - kRoleNames.begin());
  return InvalidArgument("'{}' is not one of dense, id, bag, label, ignore", text);
}

std::vector<std::string> Strings(const std::vector<std::string_view>& views) {
  return std::vector<std::string>(views.begin(), views.end());
}

// Sets what the word `key=value` says; false when there is no such setting.
StatusOr<bool> ReadSetting(std::string_view key, std::string_view value, CsvSchema* schema) {
  if (key == "delimiter") {
    FL_ASSIGN_OR_RETURN(schema->delimiter, ReadCharacter(value));
  } else if (key == "header") {
    FL_ASSIGN_OR_RETURN(schema->header, ReadBool(value));
  } else if (key == "quotes") {
    FL_ASSIGN_OR_RETURN(schema->quotes, ReadBool(value));
  } else if (key == "trim") {
    FL_ASSIGN_OR_RETURN(schema->trim, ReadBool(value));
  } else if (key == "missing") {
    schema->missing = Strings(Split(value, ','));
  } else if (key == "hash_dim") {
    FL_ASSIGN_OR_RETURN(schema->hash_dim, ReadUint64(value));
  } else {
    return false;
  }
  return true;
}

// One of the arguments in parentheses.
Status ReadArgument(std::string_view argument, CsvColumn* column) {
  const size_t equals = argument.find('=');
  const std::string_view key = argument.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : argument.substr(equals + 1);
  const bool is_ids = column->role == Role::kId || column->role == Role::kBag;
  if (key == "input" && equals != std::string_view::npos && column->role != Role::kIgnore) {
    column->input = value;
  } else if (column->role == Role::kLabel) {
    column->classes.push_back(Strings(Split(argument, '|')));
  } else if (column->role == Role::kDense && key == "min") {
    FL_ASSIGN_OR_RETURN(column->min, ReadDouble(value));
  } else if (column->role == Role::kDense && key == "diff") {
    FL_ASSIGN_OR_RETURN(column->diff, ReadDouble(value));
  } else if (column->role == Role::kDense && argument == "log") {
    column->log = true;
  } else if (is_ids && argument == "number") {
    column->number = true;
  } else if (column->role == Role::kBag && key == "separator") {
    FL_ASSIGN_OR_RETURN(column->separator, ReadCharacter(value));
  } else {
    return InvalidArgument("unknown argument '{}'", argument);
  }
  return absl::OkStatus();
}

// `name:role` or `name:role(argument,..)`.
Status ReadColumn(std::string_view word, CsvSchema* schema) {
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return InvalidArgument("expected <column>:<role>, <setting>=<value> or -");
  }
  CsvColumn column;
  column.name = word.substr(0, colon);
  std::string_view role = word.substr(colon + 1);
  std::string_view arguments;
  if (const size_t open = role.find('('); open != std::string_view::npos) {
    if (role.back() != ')') return InvalidArgument("the parenthesis is not closed");
    arguments = role.substr(open + 1, role.size() - open - 2);
    role = role.substr(0, open);
  }
  FL_ASSIGN_OR_RETURN(column.role, ReadRole(role));
  if (!arguments.empty()) {
    for (const std::string_view argument : Split(arguments, ',')) {
      FL_RETURN_IF_ERROR(ReadArgument(argument, &column));
    }
  }
  schema->columns.push_back(std::move(column));
  return absl::OkStatus();
}

// `-`, `-*<count>` or `-*`.
Status ReadIgnored(std::string_view word, CsvSchema* schema) {
  uint64_t count = 1;
  if (word == "-*") {
    schema->ignore_rest = true;
    return absl::OkStatus();
  }
  if (word != "-") {
    FL_ASSIGN_OR_RETURN(count, ReadUint64(word.substr(2)));
  }
  if (count > kMaxColumns - std::min(kMaxColumns, schema->columns.size())) {
    return InvalidArgument("more than {} columns", kMaxColumns);
  }
  schema->columns.insert(schema->columns.end(), count, CsvColumn());
  return absl::OkStatus();
}

// A column or some ignored ones.
Status ReadColumnWord(std::string_view word, CsvSchema* schema) {
  if (schema->ignore_rest) return InvalidArgument("nothing may follow -*");
  if (word == "-" || word.starts_with("-*")) return ReadIgnored(word, schema);
  return ReadColumn(word, schema);
}

Status ReadWord(std::string_view word, CsvSchema* schema) {
  if (const size_t equals = word.find('='); equals != std::string_view::npos) {
    FL_ASSIGN_OR_RETURN(const bool is_setting,
                        ReadSetting(word.substr(0, equals), word.substr(equals + 1), schema));
    if (is_setting) return absl::OkStatus();
  }
  return ReadColumnWord(word, schema);
}

Status ReadWords(std::string_view text, CsvSchema* schema) {
  constexpr std::string_view kSpace = " \t\r\n";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return absl::OkStatus();
    const std::string_view word = text.substr(0, text.find_first_of(kSpace));
    const Status status = ReadWord(word, schema);
    if (!status.ok()) return Annotate(status, fmt::format("'{}'", word));
    text.remove_prefix(word.size());
  }
}

Status WrongType(std::string_view expected) { return InvalidArgument("expected {}", expected); }

Status ReadJson(const Json& json, bool* value) {
  if (!json.is_boolean()) return WrongType("true or false");
  *value = json.get<bool>();
  return absl::OkStatus();
}

Status ReadJson(const Json& json, double* value) {
  if (!json.is_number()) return WrongType("a number");
  *value = json.get<double>();
  return absl::OkStatus();
}

Status ReadJson(const Json& json, uint64_t* value) {
  if (!json.is_number_unsigned()) return WrongType("a whole number");
  *value = json.get<uint64_t>();
  return absl::OkStatus();
}

Status ReadJson(const Json& json, std::string* value) {
  if (!json.is_string()) return WrongType("a string");
  *value = json.get<std::string>();
  return absl::OkStatus();
}

Status ReadJson(const Json& json, char* value) {
  std::string text;
  FL_RETURN_IF_ERROR(ReadJson(json, &text));
  FL_ASSIGN_OR_RETURN(*value, ReadCharacter(text));
  return absl::OkStatus();
}

Status ReadJson(const Json& json, Role* value) {
  std::string text;
  FL_RETURN_IF_ERROR(ReadJson(json, &text));
  FL_ASSIGN_OR_RETURN(*value, ReadRole(text));
  return absl::OkStatus();
}

template <typename T>
Status ReadJson(const Json& json, std::vector<T>* values) {
  if (!json.is_array()) return WrongType("an array");
  values->clear();
  for (const Json& each : json) {
    FL_RETURN_IF_ERROR(ReadJson(each, &values->emplace_back()));
  }
  return absl::OkStatus();
}

// A member of an object by its name.
Status ReadMember(const std::string& key, const Json& json, CsvColumn* column) {
  if (key == "name") return ReadJson(json, &column->name);
  if (key == "role") return ReadJson(json, &column->role);
  if (key == "input") return ReadJson(json, &column->input);
  if (key == "min") return ReadJson(json, &column->min);
  if (key == "diff") return ReadJson(json, &column->diff);
  if (key == "log") return ReadJson(json, &column->log);
  if (key == "number") return ReadJson(json, &column->number);
  if (key == "separator") return ReadJson(json, &column->separator);
  if (key == "classes") return ReadJson(json, &column->classes);
  return InvalidArgument("unknown member");
}

Status ReadColumns(const Json& json, CsvSchema* schema) {
  if (!json.is_array()) return WrongType("an array");
  schema->columns.clear();
  const bool ignore_rest = schema->ignore_rest;  // a member, in whatever order they stand
  schema->ignore_rest = false;
  for (const Json& each : json) {
    const std::string place = fmt::format("column {}", schema->columns.size() + 1);
    if (each.is_string()) {
      FL_RETURN_IF_ERROR(Annotate(ReadColumnWord(each.get<std::string>(), schema), place));
      continue;
    }
    if (schema->ignore_rest) return InvalidArgument("nothing may follow -*");
    if (!each.is_object()) return Annotate(WrongType("a string or an object"), place);
    CsvColumn& column = schema->columns.emplace_back();
    for (const auto& [key, value] : each.items()) {
      FL_RETURN_IF_ERROR(
          Annotate(ReadMember(key, value, &column), fmt::format("{}: {}", place, key)));
    }
  }
  schema->ignore_rest |= ignore_rest;
  return absl::OkStatus();
}

Status ReadMember(const std::string& key, const Json& json, CsvSchema* schema) {
  if (key == "delimiter") return ReadJson(json, &schema->delimiter);
  if (key == "header") return ReadJson(json, &schema->header);
  if (key == "quotes") return ReadJson(json, &schema->quotes);
  if (key == "trim") return ReadJson(json, &schema->trim);
  if (key == "missing") return ReadJson(json, &schema->missing);
  if (key == "hash_dim") return ReadJson(json, &schema->hash_dim);
  if (key == "ignore_rest") return ReadJson(json, &schema->ignore_rest);
  if (key == "columns") return ReadColumns(json, schema);
  return InvalidArgument("unknown member");
}

Status ReadObject(std::string_view text, CsvSchema* schema) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  for (const auto& [key, value] : json.items()) {
    FL_RETURN_IF_ERROR(Annotate(ReadMember(key, value, schema), key));
  }
  return absl::OkStatus();
}

bool IsJsonText(std::string_view text) {
  const Json json = std::string(text);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) ==
         json.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

Json ToJsonObject(const CsvColumn& column) {
  Json json = {{"name", column.name},
               {"role", kRoleNames[static_cast<size_t>(column.role)]},
               {"input", column.input}};
  if (column.role == Role::kDense) {
    json.update({{"min", column.min}, {"diff", column.diff}, {"log", column.log}});
  }
  if (column.role == Role::kId || column.role == Role::kBag) json["number"] = column.number;
  if (column.role == Role::kBag) json["separator"] = std::string(1, column.separator);
  if (column.role == Role::kLabel) json["classes"] = column.classes;
  return json;
}

// Whether only members that belong to the column's role say something.
bool FitsRole(const CsvColumn& column) {
  const CsvColumn plain;
  const bool is_dense = column.role == Role::kDense;
  const bool is_ids = column.role == Role::kId || column.role == Role::kBag;
  const bool is_scaled = column.min != plain.min || column.diff != plain.diff || column.log;
  return (is_dense || !is_scaled) && (is_ids || !column.number) &&
         (column.role == Role::kBag || column.separator == plain.separator) &&
         (column.role == Role::kLabel || column.classes.empty()) &&
         (column.role != Role::kIgnore || column.input.empty());
}

Status ValidateColumn(const CsvColumn& column) {
  if (!FitsRole(column)) {
    return InvalidArgument("a member says something that a column of role {} does not have",
                           kRoleNames[static_cast<size_t>(column.role)]);
  }
  if (column.role != Role::kIgnore && column.name.empty()) return InvalidArgument("no name");
  if (!std::isfinite(column.min) || !std::isfinite(column.diff) || column.diff == 0) {
    return InvalidArgument("min and diff must be finite, and diff not 0");
  }
  std::set<std::string_view> spellings;
  for (const std::vector<std::string>& spelled : column.classes) {
    for (const std::string& spelling : spelled) {
      if (!spellings.insert(spelling).second) {
        return InvalidArgument("class '{}' is there twice", spelling);
      }
    }
  }
  return absl::OkStatus();
}

InputKind KindOf(Role role) {
  if (role == Role::kDense) return InputKind::kDense;
  return role == Role::kLabel ? InputKind::kLabel : InputKind::kIds;
}

}  // namespace

StatusOr<CsvSchema> CsvSchema::FromText(std::string_view text, const CsvSchema& defaults) {
  CsvSchema schema = defaults;
  if (!IsJsonText(text)) return InvalidArgument("schema: the text is not UTF-8");
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  FL_RETURN_IF_ERROR(
      Annotate(is_json ? ReadObject(text, &schema) : ReadWords(text, &schema), "schema"));
  FL_RETURN_IF_ERROR(schema.Validate());
  return schema;
}

Status CsvSchema::Validate() const {
  if (hash_dim < 1 || hash_dim >= uint64_t{1} << 63) {
    return InvalidArgument("schema: hash_dim {} is not in [1, 2^63)", hash_dim);
  }
  if (delimiter == '\n' || delimiter == '\r' || delimiter == '"') {
    return InvalidArgument("schema: the delimiter is a line end or a quote");
  }
  if (columns.size() > kMaxColumns) {
    return InvalidArgument("schema: more than {} columns", kMaxColumns);
  }
  bool used = false, labelled = false;
  for (size_t c = 0; c < columns.size(); ++c) {
    const CsvColumn& column = columns[c];
    const std::string place = fmt::format("schema: column {} ({})", c + 1, column.name);
    FL_RETURN_IF_ERROR(Annotate(ValidateColumn(column), place));
    used |= column.role != Role::kIgnore;
    if (column.role == Role::kLabel && labelled) return InvalidArgument("{}: second label", place);
    labelled |= column.role == Role::kLabel;
  }
  if (!used) return InvalidArgument("schema: no column fills an input");
  const std::vector<InputSpec> inputs = Inputs();
  for (const CsvColumn& column : columns) {
    if (column.role == Role::kIgnore) continue;
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const InputSpec& each) {
      return each.name == column.input_name();
    });
    if (input->kind != KindOf(column.role)) {
      return InvalidArgument("schema: input {} has columns of different kinds", input->name);
    }
  }
  return absl::OkStatus();
}

std::vector<InputSpec> CsvSchema::Inputs() const {
  std::vector<InputSpec> inputs;
  for (const CsvColumn& column : columns) {
    if (column.role == Role::kIgnore) continue;
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const InputSpec& each) {
      return each.name == column.input_name();
    });
    if (input == inputs.end()) {
      inputs.push_back({column.input_name(), KindOf(column.role), 1});
    } else if (column.role == Role::kDense) {
      ++input->width;
    }
  }
  return inputs;
}

std::string CsvSchema::ToJson() const {
  Json json = {{"delimiter", std::string(1, delimiter)},
               {"header", header},
               {"quotes", quotes},
               {"trim", trim},
               {"missing", missing},
               {"hash_dim", hash_dim},
               {"ignore_rest", ignore_rest}};
  json["columns"] = Json::array();
  for (const CsvColumn& column : columns) json["columns"].push_back(ToJsonObject(column));
  // Text is UTF-8, unless a program has filled the members with something else.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StatusOr<std::string> ReadSchemaFile(const std::string& path) {
  return ReadWholeFile(path, kMaxSchemaBytes);
}

}  // namespace flotilla
