#include "flotilla/dataset/csv_schema_words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

using Role = CsvColumn::Role;

constexpr std::array<std::string_view, 5> kRoleNames = {"ignore", "dense", "id", "bag", "label"};

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

std::vector<std::string> Strings(const std::vector<std::string_view>& views) {
  return std::vector<std::string>(views.begin(), views.end());
}

// Applies the setting `key=value`; false when there is no such setting.
StatusOr<bool> ReadSetting(std::string_view key, std::string_view value, CsvSchema* schema) {
  if (key == "delimiter") {
    FL_ASSIGN_OR_RETURN(schema->delimiter, ReadCsvCharacter(value));
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
    FL_ASSIGN_OR_RETURN(column->separator, ReadCsvCharacter(value));
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
  FL_ASSIGN_OR_RETURN(column.role, ReadCsvRole(role));
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
  if (count > kMaxCsvColumns - std::min(kMaxCsvColumns, schema->columns.size())) {
    return InvalidArgument("more than {} columns", kMaxCsvColumns);
  }
  schema->columns.insert(schema->columns.end(), count, CsvColumn());
  return absl::OkStatus();
}

Status ReadWord(std::string_view word, CsvSchema* schema) {
  if (const size_t equals = word.find('='); equals != std::string_view::npos) {
    FL_ASSIGN_OR_RETURN(const bool is_setting,
                        ReadSetting(word.substr(0, equals), word.substr(equals + 1), schema));
    if (is_setting) return absl::OkStatus();
  }
  return ReadCsvColumn(word, schema);
}

}  // namespace

std::string_view NameOfRole(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

StatusOr<Role> ReadCsvRole(std::string_view text) {
  const auto name = std::find(kRoleNames.begin(), kRoleNames.end(), text);
  if (name != kRoleNames.end()) return static_cast<Role>(name - kRoleNames.begin());
  return InvalidArgument("'{}' is not one of dense, id, bag, label, ignore", text);
}

StatusOr<char> ReadCsvCharacter(std::string_view text) {
  for (const NamedCharacter& each : kNamedCharacters) {
    if (text == each.name) return each.character;
  }
  if (text.size() == 1) return text[0];
  return InvalidArgument("'{}' is neither one character nor comma, tab, semicolon, space or pipe",
                         text);
}

Status ReadCsvColumn(std::string_view word, CsvSchema* schema) {
  if (schema->ignore_rest) return InvalidArgument("nothing may follow -*");
  if (word == "-" || word.starts_with("-*")) return ReadIgnored(word, schema);
  return ReadColumn(word, schema);
}

Status ReadCsvWords(std::string_view text, CsvSchema* schema) {
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

}  // namespace flotilla
