#include "flotilla/dataset/label_rule.h"

#include <cmath>

#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/scan_text.h"

namespace flotilla {

std::string_view NameOf(LabelRule rule) {
  if (rule == LabelRule::kNumber) return "number";
  return rule == LabelRule::kBinary ? "binary" : "whole";
}

Status ReadLabel(std::string_view line, LabelRule rule, const char** p, float* label) {
  const char* const end = line.data() + line.size();
  double number = 0;
  const char* const stop = ScanDouble(*p, end, &number);
  const size_t column = *p - line.data() + 1;
  const bool is_number = stop != nullptr && (stop == end || IsBlank(*stop));
  if (rule == LabelRule::kBinary) {
    if (!is_number || (number != -1 && number != 0 && number != 1)) {
      return BadRow(column, "label: expected -1, 0 or 1, found '{}'", ShownWord(*p, end));
    }
    number = number == 1 ? 1 : 0;
  } else if (rule == LabelRule::kNumber) {
    if (!is_number || !ToFloat(number, label)) {
      return BadRow(column, "label: expected a number, found '{}'{}", ShownWord(*p, end),
                    TooLargeNote(*p, end));
    }
  } else if (!is_number || std::trunc(number) != number || std::fabs(number) > kMaxLabel) {
    return BadRow(column, "label: expected a whole number of at most {}, found '{}'", kMaxLabel,
                  ShownWord(*p, end));
  }
  *label = static_cast<float>(number);
  *p = stop;
  return absl::OkStatus();
}

}  // namespace flotilla
