#include "flotilla/dataset/input_text.h"

#include <algorithm>
#include <optional>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

constexpr uint64_t kMaxWidth = 1 << 24;
constexpr uint64_t kMaxRange = 100'000;

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

std::optional<uint64_t> WholeNumber(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (ScanUint64(text.data(), end, &value) != end) return std::nullopt;
  return value;
}

// "C1..C3" -> C1, C2, C3; any other name is returned unchanged; empty when the range is invalid.
std::vector<std::string> NamesOf(std::string_view word) {
  const size_t dots = word.find("..");
  if (dots == std::string_view::npos) return {std::string(word)};
  const std::string_view first = word.substr(0, dots), last = word.substr(dots + 2);
  const size_t stem = first.find_last_not_of("0123456789") + 1;
  const auto low = WholeNumber(first.substr(stem));
  if (!low || !last.starts_with(first.substr(0, stem))) return {};
  const auto high = WholeNumber(last.substr(stem));
  if (!high || *high < *low || *high - *low >= kMaxRange) return {};
  std::vector<std::string> names;
  for (uint64_t i = *low; i <= *high; ++i) {
    names.push_back(fmt::format("{}{}", first.substr(0, stem), i));
  }
  return names;
}

Status ReadWord(std::string_view word, InputText* result) {
  const std::vector<std::string_view> parts = SplitAt(word, ":");
  InputSpec input;
  bool single = false;
  bool good = parts.size() == 2 || (parts.size() == 3 && parts[1] == "dense");
  const std::string_view kind = good ? parts[1] : "";
  if (kind == "dense") {
    input.kind = InputKind::kDense;
    const auto width = parts.size() == 3 ? WholeNumber(parts[2]) : 1;
    good = width && *width >= 1 && *width <= kMaxWidth;
    if (good) input.width = static_cast<int64_t>(*width);
  } else if (kind == "ids" || kind == "id") {
    input.kind = InputKind::kIds;
    single = kind == "id";
  } else {
    input.kind = InputKind::kLabel;
    good = kind == "label";
  }
  const std::vector<std::string> names = good ? NamesOf(parts[0]) : std::vector<std::string>();
  if (names.empty() || names[0].empty()) {
    return InvalidArgument(
        "'{}' is not NAME:dense:WIDTH, NAME:ids, NAME:id or NAME:label, where NAME may be C1..C26",
        word);
  }
  for (const std::string& name : names) {
    input.name = name;
    for (const InputSpec& other : result->inputs) {
      if (other.name == name) return InvalidArgument("'{}': duplicate input {}", word, name);
    }
    result->inputs.push_back(input);
    if (single) result->single.push_back(name);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<InputText> InputsFromText(std::string_view text) {
  InputText result;
  for (const std::string_view word : SplitAt(text, ", \t\n")) {
    if (!word.empty()) FL_RETURN_IF_ERROR(ReadWord(word, &result));
  }
  if (result.inputs.empty()) return InvalidArgument("no inputs in '{}'", text);
  return result;
}

}  // namespace flotilla
