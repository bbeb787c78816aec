#include "flotilla/dataset/criteo_line.h"

namespace flotilla::internal {
namespace {

std::string NameOfField(int field) {
  if (field == 0) return "label";
  if (field < kFirstCriteoCategory) return fmt::format("number I{}", field);
  return fmt::format("category C{}", field - kCriteoNumbers);
}

// Excerpt of a bad field that begins at `begin`, for error messages.
std::string Shown(std::string_view line, const char* begin) {
  return ShownText(begin, std::find(begin, line.data() + line.size(), '\t'));
}

}  // namespace

Status CriteoLabelError(std::string_view line) {
  return BadRow(1, "label: expected 0 or 1, found '{}'", Shown(line, line.data()));
}

Status CriteoNumberError(std::string_view line, const char* at, int number) {
  return BadRow(at - line.data() + 1,
                "{}: expected a whole number of at most {} digits, found '{}'",
                NameOfField(1 + number), kCriteoMaxDigits, Shown(line, at));
}

Status CriteoLineTooShort(std::string_view line, int fields) {
  return BadRow(line.size() + 1,
                "expected {} fields separated by tabs, the line ends after {} ({})", kCriteoFields,
                fields, NameOfField(fields - 1));
}

Status CriteoLineTooLong(std::string_view line, const char* at) {
  return BadRow(at - line.data() + 1, "expected the end of the line after {} fields",
                kCriteoFields);
}

}  // namespace flotilla::internal
