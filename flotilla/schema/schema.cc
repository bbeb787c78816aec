#include "flotilla/schema/schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "flotilla/base/text_file.h"
#include "flotilla/base/utf8.h"
#include "flotilla/schema/builtin_schemas.h"
#include "flotilla/schema/schema_words.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;
using Role = Column::Role;
using Coding = Column::Coding;

constexpr size_t kMaxSchemaBytes = 16 << 20;
constexpr int64_t kMaxQuantiles = 65536;
constexpr int64_t kMaxLength = 1 << 20;

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

Status ReadJson(const Json& json, int64_t* value) {
  uint64_t whole = 0;
  FL_RETURN_IF_ERROR(ReadJson(json, &whole));
  if (whole > INT64_MAX) return WrongType("a whole number below 2^63");
  *value = static_cast<int64_t>(whole);
  return absl::OkStatus();
}

// A value that has a name.
template <typename T>
Status ReadJsonName(const Json& json, StatusOr<T> (*read)(std::string_view), T* value) {
  std::string text;
  FL_RETURN_IF_ERROR(ReadJson(json, &text));
  FL_ASSIGN_OR_RETURN(*value, read(text));
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
Status ReadMember(const std::string& key, const Json& json, Column* column) {
  if (key == "name") return ReadJson(json, &column->name);
  if (key == "role") return ReadJsonName(json, ReadRole, &column->role);
  if (key == "input") return ReadJson(json, &column->input);
  if (key == "min") return ReadJson(json, &column->min);
  if (key == "diff") return ReadJson(json, &column->diff);
  if (key == "log") return ReadJson(json, &column->log);
  if (key == "number") return ReadJson(json, &column->number);
  if (key == "separator") return ReadJson(json, &column->separator);
  if (key == "classes") return ReadJson(json, &column->classes);
  if (key == "also") return ReadJson(json, &column->also);
  if (key == "scale") return ReadJsonName(json, ReadScale, &column->scale);
  if (key == "weighted") return ReadJson(json, &column->weighted);
  if (key == "length") return ReadJson(json, &column->length);
  if (key == "coding") return ReadJsonName(json, ReadCoding, &column->coding);
  if (key == "vocabulary") return ReadJson(json, &column->vocabulary);
  if (key == "min_count") return ReadJson(json, &column->min_count);
  if (key == "hash_dim") return ReadJson(json, &column->hash_dim);
  if (key == "borders") return ReadJson(json, &column->borders);
  if (key == "quantiles") return ReadJson(json, &column->quantiles);
  if (key == "members") return ReadJson(json, &column->members);
  if (key == "time") return ReadJsonName(json, ReadTimeFormat, &column->time);
  if (key == "part") return ReadJsonName(json, ReadTimePart, &column->part);
  if (key == "task") return ReadJsonName(json, ReadLabelTask, &column->task.emplace());
  return InvalidArgument("unknown member");
}

Status ReadColumns(const Json& json, Schema* schema) {
  if (!json.is_array()) return WrongType("an array");
  schema->columns.clear();
  const bool ignore_rest = schema->ignore_rest;  // a member of its own, independent of the order
  schema->ignore_rest = false;
  for (const Json& each : json) {
    const std::string place = fmt::format("column {}", schema->columns.size() + 1);
    if (each.is_string()) {
      FL_RETURN_IF_ERROR(Annotate(ReadColumnWord(each.get<std::string>(), schema), place));
      continue;
    }
    if (schema->ignore_rest) return InvalidArgument("nothing may follow -*");
    if (!each.is_object()) return Annotate(WrongType("a string or an object"), place);
    Column& column = schema->columns.emplace_back();
    for (const auto& [key, value] : each.items()) {
      FL_RETURN_IF_ERROR(
          Annotate(ReadMember(key, value, &column), fmt::format("{}: {}", place, key)));
    }
  }
  schema->ignore_rest |= ignore_rest;
  return absl::OkStatus();
}

Status ReadMember(const std::string& key, const Json& json, Schema* schema) {
  if (key == "delimiter") return ReadJson(json, &schema->delimiter);
  if (key == "header") return ReadJson(json, &schema->header);
  if (key == "quotes") return ReadJson(json, &schema->quotes);
  if (key == "trim") return ReadJson(json, &schema->trim);
  if (key == "decimal_comma") return ReadJson(json, &schema->decimal_comma);
  if (key == "missing") return ReadJson(json, &schema->missing);
  if (key == "hash_dim") return ReadJson(json, &schema->hash_dim);
  if (key == "min_count") return ReadJson(json, &schema->min_count);
  if (key == "ignore_rest") return ReadJson(json, &schema->ignore_rest);
  if (key == "columns") return ReadColumns(json, schema);
  return InvalidArgument("unknown member");
}

Status ReadObject(std::string_view text, Schema* schema) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  for (const auto& [key, value] : json.items()) {
    FL_RETURN_IF_ERROR(Annotate(ReadMember(key, value, schema), key));
  }
  return absl::OkStatus();
}

// Members of version 1 are always written, since the text is part of a parser's identity; others
// only where they are set.
Json ToJsonObject(const Column& column) {
  Json json = {{"name", column.name}, {"role", NameOfRole(column.role)}, {"input", column.input}};
  const Column plain;
  auto add = [&](const char* key, const auto& value, const auto& otherwise) {
    if (value != otherwise) json[key] = value;
  };
  if (column.role == Role::kDense) {
    json.update({{"min", column.min}, {"diff", column.diff}, {"log", column.log}});
  }
  if (column.role == Role::kId || column.role == Role::kBag) json["number"] = column.number;
  if (column.role == Role::kBag || column.role == Role::kSequence) {
    json["separator"] = std::string(1, column.separator);
  }
  if (column.role == Role::kLabel) json["classes"] = column.classes;
  add("also", column.also, plain.also);
  if (column.scale != plain.scale) json["scale"] = NameOf(column.scale);
  add("weighted", column.weighted, plain.weighted);
  add("length", column.length, plain.length);
  if (column.coding != plain.coding) json["coding"] = NameOf(column.coding);
  add("vocabulary", column.vocabulary, plain.vocabulary);
  add("min_count", column.min_count, plain.min_count);
  add("hash_dim", column.hash_dim, plain.hash_dim);
  add("borders", column.borders, plain.borders);
  add("quantiles", column.quantiles, plain.quantiles);
  add("members", column.members, plain.members);
  if (column.role == Role::kTime) {
    json.update({{"time", NameOf(column.time)}, {"part", NameOf(column.part)}});
  }
  if (column.task) json["task"] = NameOf(*column.task);
  return json;
}

bool HasOneId(const Column& column) {
  return column.role == Role::kId || column.role == Role::kBucket || column.role == Role::kTime ||
         column.role == Role::kCross;
}

bool IsList(const Column& column) {
  return column.role == Role::kBag || column.role == Role::kSequence;
}

bool HasBorders(const Column& column) { return column.quantiles > 0 || !column.borders.empty(); }

// Whether only members that apply to the column's role are set.
bool FitsRole(const Column& column) {
  const Column plain;
  const Role role = column.role;
  const bool is_dense = role == Role::kDense;
  const bool is_hashed = role == Role::kId || IsList(column) || role == Role::kCross ||
                         (role == Role::kBucket && !HasBorders(column));
  const bool is_scaled = column.min != plain.min || column.diff != plain.diff || column.log ||
                         column.scale != plain.scale;
  const bool is_coded = column.coding != plain.coding || !column.vocabulary.empty() ||
                        column.min_count != 0 || column.hash_dim != 0;
  const bool fills = role != Role::kIgnore && role != Role::kKeep;
  return (is_dense || !is_scaled) && (role == Role::kId || role == Role::kBag || !column.number) &&
         (IsList(column) || column.separator == plain.separator) &&
         (IsList(column) || !column.weighted) && (role == Role::kSequence || column.length == 0) &&
         (is_hashed || !is_coded) && (role == Role::kBucket || !HasBorders(column)) &&
         (role == Role::kCross || column.members.empty()) &&
         (role == Role::kTime || (column.time == plain.time && column.part == plain.part)) &&
         (role == Role::kLabel || (column.classes.empty() && !column.task)) &&
         (fills || column.input.empty());
}

Status ValidateCoding(const Column& column) {
  const bool is_range = column.coding == Coding::kRange;
  if (is_range && (column.hash_dim < 1 || column.hash_dim >= uint64_t{1} << 48)) {
    return InvalidArgument("hash_dim {} is not in [1, 2^48)", column.hash_dim);
  }
  if (!is_range && column.hash_dim != 0) {
    return InvalidArgument("hash_dim needs the coding range");
  }
  if (column.coding != Coding::kModulo && column.number) {
    return InvalidArgument("number takes values as ids, so they cannot have another coding");
  }
  if (column.coding != Coding::kVocabulary && column.min_count != 0) {
    return InvalidArgument("min_count needs a vocabulary: a hash counts nothing");
  }
  return absl::OkStatus();
}

Status ValidateClasses(const Column& column) {
  std::set<std::string_view> spellings;
  for (const std::vector<std::string>& spelled : column.classes) {
    for (const std::string& spelling : spelled) {
      if (!spellings.insert(spelling).second) {
        return InvalidArgument("duplicate class '{}'", spelling);
      }
    }
  }
  if (!column.task || column.classes.empty()) return absl::OkStatus();
  if (*column.task == LabelTask::kRegression) {
    return InvalidArgument("a regression has no classes");
  }
  if (*column.task == LabelTask::kClick && column.classes.size() != 2) {
    return InvalidArgument("a click has two classes, not {}", column.classes.size());
  }
  return absl::OkStatus();
}

Status ValidateColumn(const Column& column) {
  if (!FitsRole(column)) {
    return InvalidArgument("a member does not apply to a column of role {}",
                           NameOfRole(column.role));
  }
  if (column.role != Role::kIgnore && column.name.empty()) return InvalidArgument("no name");
  if (!std::isfinite(column.min) || !std::isfinite(column.diff) || column.diff == 0) {
    return InvalidArgument("min and diff must be finite, and diff not 0");
  }
  if (column.scale != Column::Scale::kGiven && (column.min != 0 || column.diff != 1)) {
    return InvalidArgument("minmax and standardise take their figures from the training files");
  }
  const bool ascending = std::is_sorted(column.borders.begin(), column.borders.end(),
                                        [](double a, double b) { return a <= b; });
  if (!ascending) return InvalidArgument("the borders must ascend");
  if (column.quantiles == 1 || column.quantiles > kMaxQuantiles ||
      (column.quantiles > 0 && !column.borders.empty())) {
    return InvalidArgument("quantiles must be in [2, {}], without borders", kMaxQuantiles);
  }
  if (column.role == Role::kSequence && (column.length < 1 || column.length > kMaxLength)) {
    return InvalidArgument("the length {} of the sequence is not in [1, {}]", column.length,
                           kMaxLength);
  }
  if (column.role == Role::kBucket && !HasBorders(column) && column.coding == Coding::kModulo) {
    return InvalidArgument("a bucket needs a vocabulary, hash or hash_dim");
  }
  FL_RETURN_IF_ERROR(ValidateCoding(column));
  return ValidateClasses(column);
}

InputKind KindOf(Role role) {
  if (role == Role::kDense || role == Role::kWeight) return InputKind::kDense;
  return role == Role::kLabel ? InputKind::kLabel : InputKind::kIds;
}

bool FillsInput(const Column& column) {
  return column.role != Role::kIgnore && column.role != Role::kKeep;
}

Status ValidateCross(const Schema& schema, const Column& column) {
  if (column.also) return InvalidArgument("a cross has no field of its own: write it as a word");
  if (column.members.size() < 2) return InvalidArgument("a cross has at least two members");
  for (const std::string& name : column.members) {
    const Column* member = schema.MemberOf(name);
    if (member == nullptr) {
      return InvalidArgument("there is no category, bucket or time '{}' to cross", name);
    }
    if (member->quantiles > 0 && column.coding == Coding::kVocabulary) {
      return InvalidArgument(
          "the quantiles of '{}' are not known while values are counted: give the cross hash or "
          "hash_dim=N",
          name);
    }
  }
  return absl::OkStatus();
}

// An entry of the schema in messages. Entries are counted only where they have no name: a column
// that is used in several ways has several.
std::string EntryOf(const Schema& schema, size_t c) {
  const std::string& name = schema.columns[c].name;
  return name.empty() ? fmt::format("entry {}", c + 1) : fmt::format("column {}", name);
}

// What columns say together.
Status ValidateTogether(const Schema& schema) {
  bool has_numbers = false, has_ranges = false;
  std::map<std::string, const Column*> vocabularies;
  std::set<std::string> names;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const Column& column = schema.columns[c];
    const std::string place = fmt::format("schema: {}", EntryOf(schema, c));
    if (column.also && (c == 0 || schema.columns[c - 1].name != column.name ||
                        schema.columns[c - 1].role == Role::kCross)) {
      return InvalidArgument("{}: also needs an entry of the same column before it", place);
    }
    if (schema.header && !column.also && column.role != Role::kCross && !column.name.empty() &&
        !names.insert(column.name).second) {
      return InvalidArgument("{}: the column is listed twice; two uses are written as {}:a+b",
                             place, column.name);
    }
    if (column.role == Role::kCross) {
      FL_RETURN_IF_ERROR(Annotate(ValidateCross(schema, column), place));
    }
    has_numbers |= column.number;
    has_ranges |= column.is_ids() && (column.coding != Coding::kModulo ||
                                      column.role == Role::kBucket || column.role == Role::kTime);
    if (!column.is_counted()) continue;
    const auto [shared, added] = vocabularies.emplace(column.vocabulary_name(), &column);
    if (!added && shared->second->min_count != column.min_count) {
      return InvalidArgument("{}: vocabulary {} has another min_count in column {}", place,
                             shared->first, shared->second->name);
    }
  }
  if (has_numbers && has_ranges) {
    return InvalidArgument(
        "schema: ids that are numbers of the file and ids of vocabularies or hashes would meet: "
        "use category instead of id(number)");
  }
  return absl::OkStatus();
}

// Inputs that only one column may fill.
bool IsAlone(Role role) {
  return role == Role::kLabel || role == Role::kWeight || role == Role::kGroup ||
         role == Role::kSequence;
}

Status ValidateInputs(const Schema& schema) {
  std::map<std::string, const Column*> first;
  int weights = 0, groups = 0;
  for (const Column& column : schema.columns) {
    if (!FillsInput(column)) continue;
    weights += column.role == Role::kWeight;
    groups += column.role == Role::kGroup;
    const auto [found, added] = first.emplace(column.input_name(), &column);
    if (added) continue;
    const Column& other = *found->second;
    if (KindOf(other.role) != KindOf(column.role) ||
        (other.role == Role::kWeight) != (column.role == Role::kWeight)) {
      return InvalidArgument("schema: input {} has columns of different kinds", found->first);
    }
    if (IsAlone(other.role) || IsAlone(column.role)) {
      const std::string columns =
          other.name == column.name
              ? fmt::format("two uses of the column {}", column.name)
              : fmt::format("two columns, {} and {}", other.name, column.name);
      return InvalidArgument(
          "schema: input {} is filled by {}: give one of them another input, with input=NAME",
          found->first, columns);
    }
    if (other.weighted != column.weighted) {
      return InvalidArgument("schema: input {} has columns with and without weights", found->first);
    }
  }
  if (weights > 1) return InvalidArgument("schema: more than one column is the weight");
  if (groups > 1) return InvalidArgument("schema: more than one column is the group");
  if (first.empty()) return InvalidArgument("schema: no column fills an input");
  return absl::OkStatus();
}

}  // namespace

std::string Column::input_name() const {
  if (!input.empty()) return input;
  if (role == Role::kBucket) return name + ".bucket";
  if (role == Role::kTime) return fmt::format("{}.{}", name, NameOf(part));
  return name;
}

std::string Column::vocabulary_name() const {
  if (!vocabulary.empty()) return vocabulary;
  if (role == Role::kBucket || role == Role::kTime) return input_name();
  return name;
}

bool Column::is_ids() const { return HasOneId(*this) || IsList(*this); }

bool Column::is_counted() const { return is_ids() && coding == Coding::kVocabulary; }

StatusOr<Schema> Schema::FromText(std::string_view text, const Schema& defaults) {
  Schema schema = defaults;
  if (!IsUtf8(text)) return InvalidArgument("schema: the text is not UTF-8");
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  FL_RETURN_IF_ERROR(
      Annotate(is_json ? ReadObject(text, &schema) : ReadSchemaWords(text, &schema), "schema"));
  FL_RETURN_IF_ERROR(schema.Validate());
  return schema;
}

Status Schema::Validate() const {
  if (hash_dim < 1 || hash_dim >= uint64_t{1} << 63) {
    return InvalidArgument("schema: hash_dim {} is not in [1, 2^63)", hash_dim);
  }
  if (min_count < 1) return InvalidArgument("schema: min_count {} is less than 1", min_count);
  if (delimiter == '\n' || delimiter == '\r' || delimiter == '"') {
    return InvalidArgument("schema: the delimiter is a line end or a quote");
  }
  if (columns.size() > kMaxSchemaColumns) {
    return InvalidArgument("schema: more than {} columns", kMaxSchemaColumns);
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    FL_RETURN_IF_ERROR(
        Annotate(ValidateColumn(columns[c]), fmt::format("schema: {}", EntryOf(*this, c))));
  }
  FL_RETURN_IF_ERROR(ValidateInputs(*this));
  return ValidateTogether(*this);
}

std::vector<InputSpec> Schema::Inputs() const {
  std::vector<InputSpec> inputs;
  for (const Column& column : columns) {
    if (!FillsInput(column)) continue;
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

std::vector<int> Schema::Sources() const {
  std::vector<int> sources;
  int next = 0;
  for (const Column& column : columns) {
    if (column.role == Role::kCross) {
      sources.push_back(-1);
    } else {
      sources.push_back(column.also ? next - 1 : next);
      next += column.also ? 0 : 1;
    }
  }
  return sources;
}

int64_t Schema::SourceCount() const {
  return std::count_if(columns.begin(), columns.end(), [](const Column& column) {
    return column.role != Role::kCross && !column.also;
  });
}

std::vector<std::string> Schema::SourceNames() const {
  std::vector<std::string> names;
  for (const Column& column : columns) {
    if (column.role != Role::kCross && !column.also) names.push_back(column.name);
  }
  return names;
}

std::vector<int> Schema::VocabularyIndexes() const {
  std::vector<int> indexes;
  std::map<std::string, int> known;
  for (const Column& column : columns) {
    if (!column.is_counted()) {
      indexes.push_back(-1);
      continue;
    }
    const int next = static_cast<int>(known.size());
    indexes.push_back(known.emplace(column.vocabulary_name(), next).first->second);
  }
  return indexes;
}

const Column* Schema::MemberOf(std::string_view name) const {
  auto is_member = [](const Column& column) {
    return HasOneId(column) && column.role != Role::kCross;
  };
  for (const Column& column : columns) {
    if (is_member(column) && column.input_name() == name) return &column;
  }
  for (const Column& column : columns) {
    if (is_member(column) && column.name == name) return &column;
  }
  return nullptr;
}

bool Schema::NeedsStatistics() const {
  return std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    return column.is_counted() || column.scale != Column::Scale::kGiven || column.quantiles > 0;
  });
}

std::string Schema::ToJson() const {
  Json json = {{"delimiter", std::string(1, delimiter)},
               {"header", header},
               {"quotes", quotes},
               {"trim", trim},
               {"missing", missing},
               {"hash_dim", hash_dim},
               {"ignore_rest", ignore_rest}};
  if (min_count != 1) json["min_count"] = min_count;
  if (decimal_comma) json["decimal_comma"] = true;
  json["columns"] = Json::array();
  for (const Column& column : columns) json["columns"].push_back(ToJsonObject(column));
  // The text is UTF-8 unless a program has set the members to something else.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string PlaceOf(const Schema& schema, size_t column) {
  return fmt::format("column {}", schema.columns[column].name);
}

std::string MissingLabel(const Schema& schema, size_t column) {
  return fmt::format("{}: the label is missing; --max_bad_rows N skips up to N such rows",
                     PlaceOf(schema, column));
}

StatusOr<Schema> LoadSchema(const std::string& path_or_name) {
  if (const std::string_view text = BuiltinSchema(path_or_name); !text.empty()) {
    return Schema::FromText(text);
  }
  FL_ASSIGN_OR_RETURN(const std::string text, ReadSchemaFile(path_or_name));
  StatusOr<Schema> schema = Schema::FromText(text);
  if (!schema.ok()) return Annotate(schema.status(), path_or_name);
  return schema;
}

StatusOr<std::string> ReadSchemaFile(const std::string& path) {
  return ReadWholeFile(path, kMaxSchemaBytes);
}

}  // namespace flotilla
