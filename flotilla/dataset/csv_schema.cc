#include "flotilla/dataset/csv_schema.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "flotilla/base/text_file.h"
#include "flotilla/dataset/csv_schema_words.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;
using Role = CsvColumn::Role;

constexpr size_t kMaxSchemaBytes = 16 << 20;

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
  FL_ASSIGN_OR_RETURN(*value, ReadCsvCharacter(text));
  return absl::OkStatus();
}

Status ReadJson(const Json& json, Role* value) {
  std::string text;
  FL_RETURN_IF_ERROR(ReadJson(json, &text));
  FL_ASSIGN_OR_RETURN(*value, ReadCsvRole(text));
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
  const bool ignore_rest = schema->ignore_rest;  // a member of its own, independent of the order
  schema->ignore_rest = false;
  for (const Json& each : json) {
    const std::string place = fmt::format("column {}", schema->columns.size() + 1);
    if (each.is_string()) {
      FL_RETURN_IF_ERROR(Annotate(ReadCsvColumn(each.get<std::string>(), schema), place));
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
  Json json = {{"name", column.name}, {"role", NameOfRole(column.role)}, {"input", column.input}};
  if (column.role == Role::kDense) {
    json.update({{"min", column.min}, {"diff", column.diff}, {"log", column.log}});
  }
  if (column.role == Role::kId || column.role == Role::kBag) json["number"] = column.number;
  if (column.role == Role::kBag) json["separator"] = std::string(1, column.separator);
  if (column.role == Role::kLabel) json["classes"] = column.classes;
  return json;
}

// Whether only members that apply to the column's role are set.
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
    return InvalidArgument("a member does not apply to a column of role {}",
                           NameOfRole(column.role));
  }
  if (column.role != Role::kIgnore && column.name.empty()) return InvalidArgument("no name");
  if (!std::isfinite(column.min) || !std::isfinite(column.diff) || column.diff == 0) {
    return InvalidArgument("min and diff must be finite, and diff not 0");
  }
  std::set<std::string_view> spellings;
  for (const std::vector<std::string>& spelled : column.classes) {
    for (const std::string& spelling : spelled) {
      if (!spellings.insert(spelling).second) {
        return InvalidArgument("duplicate class '{}'", spelling);
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
      Annotate(is_json ? ReadObject(text, &schema) : ReadCsvWords(text, &schema), "schema"));
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
  if (columns.size() > kMaxCsvColumns) {
    return InvalidArgument("schema: more than {} columns", kMaxCsvColumns);
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
  // The text is UTF-8 unless a program has set the members to something else.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StatusOr<std::string> ReadSchemaFile(const std::string& path) {
  return ReadWholeFile(path, kMaxSchemaBytes);
}

}  // namespace flotilla
