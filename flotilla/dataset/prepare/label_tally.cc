#include "flotilla/dataset/prepare/label_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "flotilla/base/scan_number.h"
#include "flotilla/schema/schema_words.h"
#include "flotilla/schema/value.h"

namespace flotilla {
std::string StemOfLabel(std::string_view word) {
  std::string stem;
  for (const char c : word) {
    stem += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (!stem.empty() && std::string_view(" .,;:!").find(stem.back()) != std::string_view::npos) {
    stem.pop_back();
  }
  return stem;
}

void LabelTally::AddText(std::string_view text) {
  ++count_;
  double number = 0;
  const char* const end = text.data() + text.size();
  if (ScanDouble(text.data(), end, &number) == end) {
    moments_.Add(number);
    const auto found = numbers_.find(number);
    if (found != numbers_.end()) {
      ++found->second;
    } else if (numbers_.size() <= kMaxClasses) {
      numbers_.emplace(number, 1);
    }
    return;
  }
  const auto found = words_.find(text);
  if (found != words_.end()) {
    ++found->second;
  } else if (words_.size() <= kMaxClasses) {
    words_.emplace(text, 1);
  }
}

void LabelTally::AddClass(int64_t k) {
  ++count_;
  ++classes_[k];
}

void LabelTally::Merge(const LabelTally& later) {
  count_ += later.count_;
  moments_.Merge(later.moments_);
  for (const auto& [number, count] : later.numbers_) {
    if (numbers_.size() <= kMaxClasses || numbers_.contains(number)) numbers_[number] += count;
  }
  for (const auto& [word, count] : later.words_) {
    if (words_.size() <= kMaxClasses || words_.contains(word)) words_[word] += count;
  }
  for (const auto& [k, count] : later.classes_) classes_[k] += count;
}

Status LabelTally::DecideWords(LabelStatistics* label) const {
  if (words_.size() > kMaxClasses) {
    return InvalidArgument("it has more than {} different words, such as '{}': is it the label?",
                           kMaxClasses, words_.begin()->first);
  }
  std::map<std::string, std::string> stems;
  for (const auto& [word, count] : words_) {
    const auto [same, added] = stems.emplace(StemOfLabel(word), word);
    if (!added) {
      return InvalidArgument(
          "'{}' and '{}' look like two spellings of one class: list the classes in the schema, as "
          "label({}|{},..)",
          same->second, word, QuotedWord(same->second), QuotedWord(word));
    }
    label->classes.push_back(word);
  }
  label->mean = static_cast<double>(words_.rbegin()->second) / static_cast<double>(count_);
  return absl::OkStatus();
}

Status LabelTally::DecideNumbers(LabelStatistics* label) const {
  label->numeric = true;
  if (label->task == LabelTask::kRegression) {
    label->mean = moments_.mean;
    label->deviation = moments_.deviation();
    return absl::OkStatus();
  }
  if (numbers_.size() > kMaxClasses) {
    return InvalidArgument("it has more than {} different numbers, which are not classes",
                           kMaxClasses);
  }
  for (const auto& [number, count] : numbers_) label->classes.push_back(CanonicalText(number));
  label->mean = static_cast<double>(numbers_.rbegin()->second) / static_cast<double>(count_);
  return absl::OkStatus();
}

std::string LabelTally::RareValues(const Column& column) const {
  constexpr size_t kFewValues = 20, kShown = 4;
  std::vector<std::pair<int64_t, std::string>> rare;
  const auto add = [&](std::string_view text, int64_t rows) {
    if (IsRare(rows, count_)) rare.emplace_back(rows, text);
  };
  // Many numbers are a regression, where each has few rows.
  if (numbers_.size() <= kFewValues) {
    for (const auto& [number, rows] : numbers_) add(CanonicalText(number), rows);
  }
  for (const auto& [word, rows] : words_) add(word, rows);
  for (const auto& [k, rows] : classes_) add(column.classes[k][0], rows);
  std::sort(rare.begin(), rare.end());
  std::string text;
  for (size_t i = 0; i < std::min(rare.size(), kShown); ++i) {
    const auto& [rows, value] = rare[i];
    text += fmt::format("{}'{}' has {} of {} rows", i == 0 ? "" : ", ", value, rows, count_);
  }
  return text + (rare.size() > kShown ? ", .." : "");
}

StatusOr<LabelStatistics> LabelTally::Decide(const Column& column) const {
  LabelStatistics label;
  label.count = count_;
  if (!words_.empty() && !numbers_.empty()) {
    return InvalidArgument(
        "it has numbers ({}) and words ('{}'): list its classes in the schema, as label({},{})",
        CanonicalText(numbers_.begin()->first), words_.begin()->first,
        CanonicalText(numbers_.begin()->first), QuotedWord(words_.begin()->first));
  }
  const bool listed = !column.classes.empty();
  const size_t values = listed ? classes_.size() : words_.size() + numbers_.size();
  if (values < 2) {
    std::string only;
    if (!words_.empty()) only = words_.begin()->first;
    if (!numbers_.empty()) only = CanonicalText(numbers_.begin()->first);
    if (!classes_.empty()) only = column.classes[classes_.begin()->first][0];
    return InvalidArgument(
        "every row has the same value, '{}': there is nothing to learn; is it the label, and are "
        "these all training files?",
        only);
  }
  const size_t kinds = listed ? column.classes.size() : values;
  label.task = kinds == 2                  ? LabelTask::kClick
               : listed || !words_.empty() ? LabelTask::kClasses
                                           : LabelTask::kRegression;
  if (column.task) label.task = *column.task;
  if (label.task == LabelTask::kClick && kinds > 2) {
    return InvalidArgument("a click has two values, and it has {}{}", kinds,
                           kinds > kMaxClasses ? " or more" : "");
  }
  if (label.task == LabelTask::kRegression && !words_.empty()) {
    return InvalidArgument("a regression needs numbers, and it has words such as '{}'",
                           words_.begin()->first);
  }
  if (listed) {
    const auto ones = classes_.find(1);
    if (label.task == LabelTask::kClick && ones != classes_.end()) {
      label.mean = static_cast<double>(ones->second) / static_cast<double>(count_);
    }
    return label;
  }
  FL_RETURN_IF_ERROR(words_.empty() ? DecideNumbers(&label) : DecideWords(&label));
  if (label.task == LabelTask::kClasses) label.mean = 0;
  return label;
}

}  // namespace flotilla
