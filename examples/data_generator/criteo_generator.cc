// A data generator for use as the pipe command of a dataset: reads raw Criteo lines from standard
// input and writes MultiSlot lines to standard output. To try it by itself:
//
//   head -3 train.txt | build/release/criteo_generator
#include <flotilla/base/hash.h>
#include <flotilla/dataset/data_generator.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace fl = flotilla;

constexpr int kNumbers = 13, kCategories = 26;
constexpr float kMin[kNumbers] = {0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr float kDiff[kNumbers] = {20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50};

std::vector<std::string_view> SplitAtTabs(std::string_view line) {
  std::vector<std::string_view> columns;
  while (true) {
    const size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

// False when `text` is not a whole number.
bool ReadNumber(std::string_view text, long* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

void Generate(std::string_view line, fl::MultiSlotOutput& out) {
  const std::vector<std::string_view> columns = SplitAtTabs(line);
  if (columns.size() != 1 + kNumbers + kCategories) {
    return out.Fail(std::to_string(columns.size()).append(" columns, expected 40"));
  }
  std::vector<float> dense(kNumbers);
  for (int i = 0; i < kNumbers; ++i) {
    long number = 0;
    if (columns[1 + i].empty()) continue;  // a missing number is 0
    if (!ReadNumber(columns[1 + i], &number)) return out.Fail("a number is not a number");
    dense[i] = (static_cast<float>(number) - kMin[i]) / kDiff[i];
  }
  out.Floats("dense_input", dense);
  for (int i = 0; i < kCategories; ++i) {
    const int column = 1 + kNumbers + i;
    const std::string key = std::to_string(column).append(columns[column]);
    out.Ids(std::string("C").append(std::to_string(i + 1)), {fl::HashBytes(key) % 1000001});
  }
  long label = 0;
  if (!ReadNumber(columns[0], &label) || label < 0) return out.Fail("the label is not a number");
  out.Ids("label", {static_cast<uint64_t>(label)});
}

int main() { return fl::RunDataGenerator(Generate); }
