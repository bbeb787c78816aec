// A tiny text format for the tests of datasets: "<label> <id> <id> .." with any number of ids, so
// that a row is easy to write and to recognise. For test programs only.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

// A line that does not start with a digit is a bad row at column 1.
class NumberParser : public Parser {
 public:
  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override { return "number/1"; }

  Status Parse(std::string_view line, Batch* batch) const override {
    const std::string text(line);
    if (text.empty() || text[0] < '0' || text[0] > '9') {
      return BadRow(1, "expected a digit, found '{}'", text);
    }
    char* p = nullptr;
    batch->fields[0].values.push_back(std::strtof(text.c_str(), &p));
    RaggedIds& ids = batch->fields[1].ids;
    if (ids.offsets.empty()) ids.offsets.push_back(0);
    while (*p != '\0') ids.ids.push_back(std::strtoull(p, &p, 10));
    ids.offsets.push_back(static_cast<uint32_t>(ids.ids.size()));
    ++batch->rows;
    return absl::OkStatus();
  }

 private:
  const std::vector<InputSpec> inputs_ = {{"label", InputKind::kLabel, 1},
                                          {"ids", InputKind::kIds, 1}};
};

// Lines "<i> <10 i> <10 i + 1> .." with i % 3 ids each, for i in [begin, end).
inline std::string NumberLines(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) {
    text += fmt::format("{}", i);
    for (int k = 0; k < i % 3; ++k) text += fmt::format(" {}", 10 * i + k);
    text += "\n";
  }
  return text;
}

// The labels of a batch of such lines; also checks that each row has its own ids.
inline std::vector<int> NumbersOf(const Batch& batch, bool* ids_match) {
  std::vector<int> numbers;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int i = static_cast<int>(batch.fields[0].values[row]);
    const std::span<const uint64_t> ids = batch.fields[1].ids.row(row);
    *ids_match = *ids_match && static_cast<int>(ids.size()) == i % 3;
    for (size_t k = 0; k < ids.size(); ++k) *ids_match = *ids_match && ids[k] == 10u * i + k;
    numbers.push_back(i);
  }
  return numbers;
}

}  // namespace flotilla
