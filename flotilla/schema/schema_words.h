// The word form of a schema, in which each word is a setting or a column. Part of schema.h: the
// JSON form also describes columns as words and uses the same names of roles and characters.
#pragma once

#include <cstddef>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/schema/schema.h"

namespace flotilla {

inline constexpr size_t kMaxSchemaColumns = 10000;

// The names of roles in the JSON form.
std::string_view NameOfRole(Column::Role role);
StatusOr<Column::Role> ReadRole(std::string_view text);
std::string_view NameOf(Column::Coding coding);
StatusOr<Column::Coding> ReadCoding(std::string_view text);
std::string_view NameOf(Column::Scale scale);
StatusOr<Column::Scale> ReadScale(std::string_view text);
std::string_view NameOf(Column::TimePart part);
StatusOr<Column::TimePart> ReadTimePart(std::string_view text);
std::string_view NameOf(TimeFormat format);
StatusOr<TimeFormat> ReadTimeFormat(std::string_view text);
StatusOr<LabelTask> ReadLabelTask(std::string_view text);

// One character, or the name of one: comma, tab, semicolon, space or pipe.
StatusOr<char> ReadCharacter(std::string_view text);

// Adds the entries of the column that the word describes, or the ignored ones.
Status ReadColumnWord(std::string_view word, Schema* schema);

// Applies the settings and columns of the text, without validating the whole schema. Errors name
// the word.
Status ReadSchemaWords(std::string_view text, Schema* schema);

// A name or value as the word form writes it: in quotes where it needs them.
std::string QuotedWord(std::string_view text);

}  // namespace flotilla
