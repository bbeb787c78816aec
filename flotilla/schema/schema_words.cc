#include "flotilla/schema/schema_words.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/base/scan_number.h"

namespace flotilla {
namespace {

using Role = Column::Role;
using Coding = Column::Coding;
using Scale = Column::Scale;

constexpr int64_t kDefaultLength = 50;

constexpr std::array<std::string_view, 12> kRoleNames = {"ignore", "dense",  "id",       "bag",
                                                         "label",  "bucket", "sequence", "cross",
                                                         "time",   "weight", "group",    "keep"};
constexpr std::array<std::string_view, 4> kCodingNames = {"modulo", "vocabulary", "hash", "range"};
constexpr std::array<std::string_view, 3> kScaleNames = {"given", "minmax", "standardise"};
constexpr std::array<std::string_view, 2> kPartNames = {"hour", "weekday"};
constexpr std::array<std::string_view, 5> kTimeNames = {"any", "yymmddhh", "seconds",
                                                        "milliseconds", "iso"};
constexpr std::array<std::string_view, 3> kTaskNames = {"click", "regression", "classes"};

// The names of roles in the word form: those above, and three that are a role with other defaults.
constexpr std::string_view kWordRoles =
    "number, bucket, category, list, sequence, cross, time, label, weight, group, keep, ignore, "
    "dense, id, bag";

struct NamedCharacter {
  std::string_view name;
  char character;
};
constexpr std::array<NamedCharacter, 5> kNamedCharacters = {
    {{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"space", ' '}, {"pipe", '|'}}};

template <typename T, size_t n>
StatusOr<T> ReadName(const std::array<std::string_view, n>& names, std::string_view text) {
  const auto name = std::find(names.begin(), names.end(), text);
  if (name != names.end()) return static_cast<T>(name - names.begin());
  return InvalidArgument("'{}' is not one of {}", text, fmt::join(names, ", "));
}

// Whether a quote at text[at] opens a quoted part: at the start, and behind what separates parts.
bool OpensQuote(std::string_view text, size_t at) {
  return text[at] == '"' &&
         (at == 0 || std::string_view("(,|").find(text[at - 1]) != std::string_view::npos);
}

// Offset behind the quoted part that opens at text[at]; npos when it is not closed.
size_t EndOfQuote(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    ++at;
  }
  return std::string_view::npos;
}

// Offset of the first of `characters` that is in no quotes and in no parentheses (unless
// `anywhere`); the size of the text when there is none.
size_t FindOutside(std::string_view text, std::string_view characters, bool anywhere = false) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (OpensQuote(text, i)) {
      const size_t end = EndOfQuote(text, i);
      if (end == std::string_view::npos) return text.size();
      i = end - 1;
      continue;
    }
    if ((depth == 0 || anywhere) && characters.find(text[i]) != std::string_view::npos) return i;
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
  }
  return text.size();
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = FindOutside(text, std::string_view(&separator, 1), /*anywhere=*/true);
    parts.push_back(text.substr(0, at));
    if (at == text.size()) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || EndOfQuote(text, 0) != text.size()) {
    return std::string(text);
  }
  std::string plain;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    plain += text[i];
    if (text[i] == '"') ++i;
  }
  return plain;
}

std::vector<std::string> Strings(const std::vector<std::string_view>& views) {
  std::vector<std::string> strings;
  for (const std::string_view view : views) strings.push_back(Unquoted(view));
  return strings;
}

StatusOr<bool> ReadBool(std::string_view text) {
  if (text == "1" || text == "true" || text == "yes") return true;
  if (text == "0" || text == "false" || text == "no") return false;
  return InvalidArgument("'{}' is neither yes nor no", text);
}

StatusOr<uint64_t> ReadUint64(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (ScanUint64(text.data(), end, &value) == end && !text.empty()) return value;
  return InvalidArgument("'{}' is not a whole number", text);
}

StatusOr<int64_t> ReadCount(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const uint64_t value, ReadUint64(text));
  if (value < 1 || value > INT64_MAX) return InvalidArgument("'{}' is less than 1", text);
  return static_cast<int64_t>(value);
}

StatusOr<double> ReadDouble(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  if (ScanDouble(text.data(), end, &value) == end && !text.empty()) return value;
  return InvalidArgument("'{}' is not a finite number", text);
}

// Applies the setting `key=value`; false when there is no such setting.
StatusOr<bool> ReadSetting(std::string_view key, std::string_view value, Schema* schema) {
  if (key == "delimiter") {
    FL_ASSIGN_OR_RETURN(schema->delimiter, ReadCharacter(value));
  } else if (key == "header") {
    FL_ASSIGN_OR_RETURN(schema->header, ReadBool(value));
  } else if (key == "quotes") {
    FL_ASSIGN_OR_RETURN(schema->quotes, ReadBool(value));
  } else if (key == "trim") {
    FL_ASSIGN_OR_RETURN(schema->trim, ReadBool(value));
  } else if (key == "decimal") {
    if (value != "comma" && value != "point") {
      return InvalidArgument("'{}' is neither comma nor point", value);
    }
    schema->decimal_comma = value == "comma";
  } else if (key == "missing") {
    schema->missing = Strings(Split(value, ','));
  } else if (key == "hash_dim") {
    FL_ASSIGN_OR_RETURN(schema->hash_dim, ReadUint64(value));
  } else if (key == "min_count") {
    FL_ASSIGN_OR_RETURN(schema->min_count, ReadCount(value));
  } else {
    return false;
  }
  return true;
}

// One of the arguments in parentheses, as `key` or `key=value`.
struct Argument {
  std::string_view text, key, value;
  bool has_value;
};

StatusOr<bool> ReadNumberArgument(const Argument& argument, Column* column) {
  if (argument.text == "log") {
    column->log = true;
  } else if (argument.text == "minmax") {
    column->scale = Scale::kMinMax;
  } else if (argument.text == "standardise") {
    column->scale = Scale::kStandard;
  } else if (argument.key == "min") {
    FL_ASSIGN_OR_RETURN(column->min, ReadDouble(argument.value));
  } else if (argument.key == "diff") {
    FL_ASSIGN_OR_RETURN(column->diff, ReadDouble(argument.value));
  } else {
    return false;
  }
  return true;
}

StatusOr<bool> ReadBucketArgument(const Argument& argument, Column* column) {
  if (argument.key == "quantiles") {
    FL_ASSIGN_OR_RETURN(column->quantiles, ReadCount(argument.value));
  } else if (argument.key == "borders") {
    for (const std::string_view border : Split(argument.value, '|')) {
      FL_ASSIGN_OR_RETURN(column->borders.emplace_back(), ReadDouble(border));
    }
  } else {
    return false;
  }
  // Buckets with borders are a range of their own.
  column->coding = Coding::kModulo;
  return true;
}

// How values become ids.
StatusOr<bool> ReadCodingArgument(const Argument& argument, Column* column) {
  if (argument.text == "number" && column->coding == Coding::kModulo) {
    column->number = true;
  } else if (argument.text == "hash") {
    column->coding = Coding::kHash;
  } else if (argument.key == "hash_dim") {
    column->coding = Coding::kRange;
    FL_ASSIGN_OR_RETURN(column->hash_dim, ReadUint64(argument.value));
  } else if (argument.key == "min_count") {
    if (column->coding == Coding::kModulo) column->coding = Coding::kVocabulary;
    FL_ASSIGN_OR_RETURN(column->min_count, ReadCount(argument.value));
  } else if (argument.key == "vocabulary") {
    if (column->coding == Coding::kModulo) column->coding = Coding::kVocabulary;
    column->vocabulary = Unquoted(argument.value);
  } else {
    return false;
  }
  return true;
}

StatusOr<bool> ReadListArgument(const Argument& argument, Column* column) {
  if (argument.key == "separator") {
    FL_ASSIGN_OR_RETURN(column->separator, ReadCharacter(argument.value));
  } else if (argument.text == "weighted") {
    column->weighted = true;
  } else if (argument.key == "length" && column->role == Role::kSequence) {
    FL_ASSIGN_OR_RETURN(column->length, ReadCount(argument.value));
  } else {
    return false;
  }
  return true;
}

StatusOr<bool> ReadLabelArgument(const Argument& argument, Column* column) {
  if (argument.key == "task" && argument.has_value) {
    FL_ASSIGN_OR_RETURN(column->task, ReadLabelTask(argument.value));
  } else {
    column->classes.push_back(Strings(Split(argument.text, '|')));
  }
  return true;
}

// An argument of the column's role; false when the role has no such argument.
StatusOr<bool> ReadRoleArgument(const Argument& argument, Column* column) {
  switch (column->role) {
    case Role::kDense:
      return ReadNumberArgument(argument, column);
    case Role::kLabel:
      return ReadLabelArgument(argument, column);
    case Role::kBucket: {
      FL_ASSIGN_OR_RETURN(const bool known, ReadBucketArgument(argument, column));
      if (known || !column->borders.empty() || column->quantiles > 0) return known;
      return ReadCodingArgument(argument, column);
    }
    case Role::kBag:
    case Role::kSequence: {
      FL_ASSIGN_OR_RETURN(const bool known, ReadListArgument(argument, column));
      if (known) return true;
      return ReadCodingArgument(argument, column);
    }
    case Role::kId:
      return ReadCodingArgument(argument, column);
    case Role::kCross: {
      FL_ASSIGN_OR_RETURN(const bool known, ReadCodingArgument(argument, column));
      if (!known && !argument.has_value) column->members.push_back(Unquoted(argument.text));
      return known || !argument.has_value;
    }
    default:
      return false;
  }
}

// The names of the arguments of a role, for suggestions.
std::vector<std::string> ArgumentsOf(Role role) {
  const std::vector<std::string> coding = {"hash", "hash_dim", "min_count", "vocabulary"};
  std::vector<std::string> names;
  switch (role) {
    case Role::kDense:
      names = {"log", "standardise", "minmax", "min", "max", "diff"};
      break;
    case Role::kLabel:
      names = {"task"};
      break;
    case Role::kBucket:
      names = {"quantiles", "borders"};
      [[fallthrough]];
    case Role::kId:
    case Role::kCross:
      names.insert(names.end(), coding.begin(), coding.end());
      break;
    case Role::kSequence:
      names = {"length"};
      [[fallthrough]];
    case Role::kBag:
      names.insert(names.end(), {"separator", "weighted"});
      names.insert(names.end(), coding.begin(), coding.end());
      break;
    default:
      break;
  }
  if (role != Role::kIgnore && role != Role::kKeep) names.emplace_back("input");
  return names;
}

Status ReadArgument(std::string_view text, Column* column) {
  const size_t equals = text.find('=');
  const bool has_value = equals != std::string_view::npos;
  const Argument argument{.text = text,
                          .key = text.substr(0, equals),
                          .value = has_value ? text.substr(equals + 1) : std::string_view(),
                          .has_value = has_value};
  if (argument.key == "input" && has_value && column->role != Role::kIgnore &&
      column->role != Role::kKeep) {
    column->input = Unquoted(argument.value);
    return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(const bool known, ReadRoleArgument(argument, column));
  if (!known) {
    const std::vector<std::string> names = ArgumentsOf(column->role);
    return InvalidArgument("unknown argument '{}'{}", text,
                           names.empty() ? "" : DidYouMean(argument.key, names));
  }
  return absl::OkStatus();
}

// A word role, `time` apart, as the entry with its defaults.
StatusOr<Column> ReadWordRole(std::string_view text) {
  Column column;
  if (text == "number") {
    column.role = Role::kDense;
    column.input = "numbers";
  } else if (text == "category" || text == "list") {
    column.role = text == "list" ? Role::kBag : Role::kId;
    column.coding = Coding::kVocabulary;
  } else {
    const StatusOr<Role> role = ReadRole(text);
    if (!role.ok()) return InvalidArgument("'{}' is not one of {}", text, kWordRoles);
    column.role = *role;
    if (*role == Role::kBucket || *role == Role::kSequence || *role == Role::kCross) {
      column.coding = Coding::kVocabulary;
    }
    if (*role == Role::kSequence) column.length = kDefaultLength;
  }
  return column;
}

// `time` and `time(..)`: an entry for each part.
Status ReadTimeRole(const std::string& name, const std::vector<std::string_view>& arguments,
                    std::vector<Column>* columns) {
  Column column;
  column.name = name;
  column.role = Role::kTime;
  std::vector<Column::TimePart> parts;
  for (const std::string_view argument : arguments) {
    if (const auto part = ReadTimePart(argument); part.ok()) {
      parts.push_back(*part);
    } else if (const auto format = ReadTimeFormat(argument); format.ok()) {
      column.time = *format;
    } else {
      std::vector<std::string> names(kPartNames.begin(), kPartNames.end());
      names.insert(names.end(), kTimeNames.begin(), kTimeNames.end());
      return InvalidArgument("unknown argument '{}'{}", argument, DidYouMean(argument, names));
    }
  }
  if (parts.empty()) parts = {Column::TimePart::kHour, Column::TimePart::kWeekday};
  for (const Column::TimePart part : parts) {
    column.part = part;
    columns->push_back(column);
  }
  return absl::OkStatus();
}

// `role` or `role(argument,..)` of the column `name`.
Status ReadUse(const std::string& name, std::string_view role, std::vector<Column>* columns) {
  std::vector<std::string_view> arguments;
  if (const size_t open = role.find('('); open != std::string_view::npos) {
    if (role.back() != ')') return InvalidArgument("the parenthesis is not closed");
    const std::string_view inside = role.substr(open + 1, role.size() - open - 2);
    if (!inside.empty()) arguments = Split(inside, ',');
    role = role.substr(0, open);
  }
  if (role == "time") return ReadTimeRole(name, arguments, columns);
  FL_ASSIGN_OR_RETURN(Column column, ReadWordRole(role));
  column.name = name;
  double max = 0;
  bool has_max = false;
  for (const std::string_view argument : arguments) {
    // min and max are a pair of the word form; an entry has min and diff.
    if (column.role == Role::kDense && argument.starts_with("max=")) {
      FL_ASSIGN_OR_RETURN(max, ReadDouble(argument.substr(4)));
      has_max = true;
      continue;
    }
    FL_RETURN_IF_ERROR(ReadArgument(argument, &column));
  }
  if (has_max) column.diff = max - column.min;
  columns->push_back(std::move(column));
  return absl::OkStatus();
}

// `name:use` or `name:use+use..`.
Status ReadColumn(std::string_view word, Schema* schema) {
  const size_t colon = FindOutside(word, ":");
  if (colon == word.size() || colon == 0) {
    return InvalidArgument("expected <column>:<role>, <setting>=<value> or -");
  }
  const std::string name = Unquoted(word.substr(0, colon));
  std::string_view uses = word.substr(colon + 1);
  std::vector<Column> columns;
  while (true) {
    const size_t plus = FindOutside(uses, "+");
    FL_RETURN_IF_ERROR(ReadUse(name, uses.substr(0, plus), &columns));
    if (plus == uses.size()) break;
    uses.remove_prefix(plus + 1);
  }
  for (size_t i = 1; i < columns.size(); ++i) columns[i].also = true;
  // The group is an input of its own; models that were saved know it by the name of its column.
  for (Column& column : columns) {
    if (column.role != Role::kGroup || !column.input.empty()) continue;
    const bool meets = std::any_of(columns.begin(), columns.end(), [&](const Column& other) {
      return &other != &column && other.role != Role::kKeep && other.input_name() == name;
    });
    if (meets) column.input = name + ".group";
  }
  schema->columns.insert(schema->columns.end(), columns.begin(), columns.end());
  return absl::OkStatus();
}

// `-`, `-*<count>` or `-*`.
Status ReadIgnored(std::string_view word, Schema* schema) {
  uint64_t count = 1;
  if (word == "-*") {
    schema->ignore_rest = true;
    return absl::OkStatus();
  }
  if (word != "-") {
    FL_ASSIGN_OR_RETURN(count, ReadUint64(word.substr(2)));
  }
  if (count > kMaxSchemaColumns - std::min(kMaxSchemaColumns, schema->columns.size())) {
    return InvalidArgument("more than {} columns", kMaxSchemaColumns);
  }
  schema->columns.insert(schema->columns.end(), count, Column());
  return absl::OkStatus();
}

Status ReadWord(std::string_view word, Schema* schema) {
  if (const size_t equals = word.find('='); equals != std::string_view::npos) {
    FL_ASSIGN_OR_RETURN(const bool is_setting,
                        ReadSetting(word.substr(0, equals), word.substr(equals + 1), schema));
    if (is_setting) return absl::OkStatus();
    const std::string_view key = word.substr(0, equals);
    if (FindOutside(word, ":") == word.size() && !key.empty() && key[0] != '"') {
      const std::vector<std::string> names = {"delimiter", "header",  "quotes",   "trim",
                                              "decimal",   "missing", "hash_dim", "min_count"};
      return InvalidArgument("unknown setting{}", DidYouMean(key, names));
    }
  }
  return ReadColumnWord(word, schema);
}

}  // namespace

std::string_view NameOfRole(Role role) { return kRoleNames[static_cast<size_t>(role)]; }
std::string_view NameOf(Coding coding) { return kCodingNames[static_cast<size_t>(coding)]; }
std::string_view NameOf(Scale scale) { return kScaleNames[static_cast<size_t>(scale)]; }
std::string_view NameOf(Column::TimePart part) { return kPartNames[static_cast<size_t>(part)]; }
std::string_view NameOf(TimeFormat format) { return kTimeNames[static_cast<size_t>(format)]; }
std::string_view NameOf(LabelTask task) { return kTaskNames[static_cast<size_t>(task)]; }

StatusOr<Role> ReadRole(std::string_view text) { return ReadName<Role>(kRoleNames, text); }
StatusOr<Coding> ReadCoding(std::string_view text) { return ReadName<Coding>(kCodingNames, text); }
StatusOr<Scale> ReadScale(std::string_view text) { return ReadName<Scale>(kScaleNames, text); }
StatusOr<Column::TimePart> ReadTimePart(std::string_view text) {
  return ReadName<Column::TimePart>(kPartNames, text);
}
StatusOr<TimeFormat> ReadTimeFormat(std::string_view text) {
  return ReadName<TimeFormat>(kTimeNames, text);
}
StatusOr<LabelTask> ReadLabelTask(std::string_view text) {
  return ReadName<LabelTask>(kTaskNames, text);
}

StatusOr<char> ReadCharacter(std::string_view text) {
  for (const NamedCharacter& each : kNamedCharacters) {
    if (text == each.name) return each.character;
  }
  if (text.size() == 1) return text[0];
  return InvalidArgument("'{}' is neither one character nor comma, tab, semicolon, space or pipe",
                         text);
}

Status ReadColumnWord(std::string_view word, Schema* schema) {
  if (schema->ignore_rest) return InvalidArgument("nothing may follow -*");
  if (word == "-" || word.starts_with("-*")) return ReadIgnored(word, schema);
  return ReadColumn(word, schema);
}

Status ReadSchemaWords(std::string_view text, Schema* schema) {
  constexpr std::string_view kSpace = " \t\r\n";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return absl::OkStatus();
    if (text[0] == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    const std::string_view word = text.substr(0, FindOutside(text, kSpace, /*anywhere=*/true));
    const Status status = ReadWord(word, schema);
    if (!status.ok()) return Annotate(status, fmt::format("'{}'", word));
    text.remove_prefix(word.size());
  }
}

std::string QuotedWord(std::string_view text) {
  const bool plain = !text.empty() && text[0] != '#' && text[0] != '-' &&
                     text.find_first_of(" \t\r\n\"(),|:=+") == std::string_view::npos;
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace flotilla
