#include "flotilla/dataset/label_rule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/scan_text.h"
#include "flotilla/schema/value.h"

namespace flotilla {
namespace {

constexpr std::string_view kLabelWords[] = {"binary", "whole", "number"};  // by Kind

}  // namespace

LabelRule::LabelRule(Kind kind) : kind_(kind) {
  FL_CHECK(kind != kClasses);
  text_ = kLabelWords[kind];
}

StatusOr<LabelRule> LabelRule::FromText(std::string_view text) {
  for (const Kind kind : {kBinary, kWhole, kNumber}) {
    if (text == kLabelWords[kind]) return LabelRule(kind);
  }
  LabelRule rule;
  rule.kind_ = kClasses;
  rule.text_ = text;
  const char* p = text.data();
  const char* const end = p + text.size();
  double number = 0;
  while ((p = ScanDouble(p, end, &number)) != nullptr && (p == end || *p == ',')) {
    rule.classes_.emplace_back(number, static_cast<float>(rule.classes_.size()));
    if (p++ == end) break;
  }
  std::sort(rule.classes_.begin(), rule.classes_.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(rule.classes_.begin(), rule.classes_.end(), same);
  if (p != end + 1 || rule.classes_.size() < 2 || twice != rule.classes_.end()) {
    return InvalidArgument(
        "'{}' is not one of {}, or two or more different numbers such as 1,2, of class 0 and 1",
        text, fmt::join(kLabelWords, ", "));
  }
  return rule;
}

std::vector<std::string> LabelRule::ClassNames() const {
  if (kind_ == kBinary) return {"0", "1"};
  std::vector<std::string> names(classes_.size());
  for (const auto& [number, k] : classes_) names[static_cast<size_t>(k)] = CanonicalText(number);
  return names;
}

bool LabelRule::Convert(double number, float* label) const {
  switch (kind_) {
    case kBinary:
      *label = number == 1 ? 1 : 0;
      return number == 1 || number == 0 || number == -1;
    case kWhole:
      *label = static_cast<float>(number);
      return std::trunc(number) == number && std::fabs(number) <= kMaxLabel;
    case kNumber:
      return ToFloat(number, label);
    case kClasses:
      break;
  }
  const auto found =
      std::lower_bound(classes_.begin(), classes_.end(), number,
                       [](const std::pair<double, float>& a, double b) { return a.first < b; });
  if (found == classes_.end() || found->first != number) return false;
  *label = found->second;
  return true;
}

Status LabelRule::Unexpected(std::string_view line, const char* p) const {
  const char* const end = line.data() + line.size();
  std::string expected = "-1, 0 or 1";
  if (kind_ == kWhole) expected = fmt::format("a whole number of at most {}", kMaxLabel);
  if (kind_ == kNumber) expected = "a number";
  if (kind_ == kClasses) expected = fmt::format("one of {}", text_);
  return BadRow(p - line.data() + 1, "label: expected {}, found '{}'{}", expected,
                ShownWord(p, end), kind_ == kNumber ? TooLargeNote(p, end) : "");
}

Status LabelRule::Read(std::string_view line, const char** p, float* label) const {
  const char* const end = line.data() + line.size();
  double number = 0;
  const char* const stop = ScanDouble(*p, end, &number);
  const bool is_number = stop != nullptr && (stop == end || IsBlank(*stop));
  if (!is_number || !Convert(number, label)) return Unexpected(line, *p);
  *p = stop;
  return absl::OkStatus();
}

}  // namespace flotilla
