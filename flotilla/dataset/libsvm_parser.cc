#include "flotilla/dataset/libsvm_parser.h"

#include <algorithm>
#include <string_view>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

constexpr uint64_t kMaxPositions = 1 << 16;

}  // namespace

StatusOr<std::unique_ptr<LibsvmParser>> LibsvmParser::Make(std::span<const InputSpec> inputs,
                                                           const LibsvmOptions& options) {
  if (options.positions > kMaxPositions) {
    return InvalidArgument("libsvm: positions: {} is more than {}", options.positions,
                           kMaxPositions);
  }
  std::unique_ptr<LibsvmParser> parser(new LibsvmParser(inputs, options));
  for (size_t i = 0; i < inputs.size(); ++i) {
    int* const field = parser->FieldOf(inputs[i]);
    if (field == nullptr) {
      return InvalidArgument("libsvm: input {} is not one of label, F0 .. F{}", inputs[i].name,
                             options.positions - 1);
    }
    if (*field >= 0) {
      return InvalidArgument("libsvm: inputs {} and {} are of one kind, a line fills only one",
                             inputs[*field].name, inputs[i].name);
    }
    *field = static_cast<int>(i);
  }
  FL_RETURN_IF_ERROR(Annotate(parser->CheckInputs(), "libsvm"));
  return parser;
}

LibsvmParser::LibsvmParser(std::span<const InputSpec> inputs, const LibsvmOptions& options)
    : inputs_(inputs.begin(), inputs.end()),
      options_(options),
      position_fields_(options.positions, -1) {}

int* LibsvmParser::FieldOf(const InputSpec& input) {
  if (input.kind == InputKind::kLabel) return &label_field_;
  const bool is_ids = input.kind == InputKind::kIds;
  if (is_ids && input.name == options_.group) return &group_field_;
  if (position_fields_.empty()) return is_ids ? &ids_field_ : &dense_field_;
  for (size_t i = 0; i < position_fields_.size(); ++i) {
    if (is_ids && input.name == fmt::format("F{}", i)) return &position_fields_[i];
  }
  return nullptr;
}

Status LibsvmParser::CheckInputs() const {
  const auto absent = std::find(position_fields_.begin(), position_fields_.end(), -1);
  if (absent != position_fields_.end()) {
    return InvalidArgument("positions: the model has no id input F{}",
                           absent - position_fields_.begin());
  }
  const bool has_features = ids_field_ >= 0 || dense_field_ >= 0 || !position_fields_.empty();
  if (label_field_ < 0 || !has_features) {
    return InvalidArgument("the model must have a label and an id or a dense input");
  }
  if (!options_.group.empty() && group_field_ < 0) {
    return InvalidArgument("group: the model has no id input {}", options_.group);
  }
  return absl::OkStatus();
}

std::string LibsvmParser::identity() const {
  // Without positions it is the text of earlier releases.
  return fmt::format(
      "libsvm/2 labels={} first_index={} group={}{}", options_.labels.text(), options_.first_index,
      options_.group,
      options_.positions > 0 ? fmt::format(" positions={}", options_.positions) : "");
}

// Used in this file only; `inline` lets the compiler inline it even in position-independent code.
inline Status LibsvmParser::AddFeature(size_t column, uint64_t index, float value,
                                       Batch* batch) const {
  if (value == 0) return absl::OkStatus();
  if (ids_field_ >= 0) PushWeighted(index, value, &batch->fields[ids_field_].ids);
  if (dense_field_ < 0) return absl::OkStatus();
  const uint64_t width = static_cast<uint64_t>(inputs_[dense_field_].width);
  const uint64_t element = index - options_.first_index;  // wraps to a too large value when below
  if (element >= width) {
    return BadRow(column, "expected an index from {} to {}, found {}", options_.first_index,
                  options_.first_index + width - 1, index);
  }
  float& target = *(batch->fields[dense_field_].values.end() - inputs_[dense_field_].width +
                    static_cast<ptrdiff_t>(element));
  if (target != 0) return BadRow(column, "duplicate feature {}", index);
  target = value;
  return absl::OkStatus();
}

template <bool kByPosition>
Status LibsvmParser::ParseFeatures(std::string_view line, const char* p, Batch* batch) const {
  const char* const end = line.data() + line.size();
  size_t count = 0;  // kByPosition: of the features that have a value
  while (!AtEndOrComment(p, end)) {
    uint64_t index = 0;
    float value = 0;
    const char* const colon = ScanUint64(p, end, &index);
    const char* stop = nullptr;
    if (colon != nullptr && colon < end && *colon == ':') stop = ScanFloat(colon + 1, end, &value);
    if (stop == nullptr || (stop < end && !IsBlank(*stop))) {
      const bool number = colon != nullptr && colon < end && *colon == ':';
      return BadRow(p - line.data() + 1, "expected <index>:<number>, found '{}'{}",
                    ShownWord(p, end), number ? TooLargeNote(colon + 1, end) : "");
    }
    if constexpr (!kByPosition) {
      FL_RETURN_IF_ERROR(AddFeature(p - line.data() + 1, index, value, batch));
    } else if (value != 0) {
      if (count < position_fields_.size()) {
        PushWeighted(index, value, &batch->fields[position_fields_[count]].ids);
      }
      ++count;
    }
    p = SkipBlanks(stop, end);
  }
  if (!kByPosition || count == position_fields_.size()) return absl::OkStatus();
  return BadRow(line.size() + 1, "expected {} features, as in every row of training, found {}",
                position_fields_.size(), count);
}

Status LibsvmParser::ParseGroup(std::string_view line, const char** p, Batch* batch) const {
  constexpr std::string_view kGroup = "qid:";
  const char* const end = line.data() + line.size();
  const bool has_group = std::string_view(*p, end - *p).starts_with(kGroup);
  const size_t column = *p - line.data() + 1;
  if (has_group && group_field_ < 0) {
    return BadRow(column,
                  "expected <index>:<number>, found '{}': the format parameter group names "
                  "the input that takes it",
                  ShownWord(*p, end));
  }
  if (group_field_ < 0) return absl::OkStatus();
  uint64_t group = 0;
  const char* const stop = has_group ? ScanUint64(*p + kGroup.size(), end, &group) : nullptr;
  if (stop == nullptr || (stop < end && !IsBlank(*stop))) {
    return BadRow(column, "expected qid:<number>, found '{}'", ShownWord(*p, end));
  }
  batch->fields[group_field_].ids.ids.push_back(group);
  *p = SkipBlanks(stop, end);
  return absl::OkStatus();
}

Status LibsvmParser::Parse(std::string_view line, Batch* batch) const {
  const char* const end = line.data() + line.size();
  const char* p = SkipBlanks(line.data(), end);
  if (AtEndOrComment(p, end)) return absl::OkStatus();
  float label = 0;
  FL_RETURN_IF_ERROR(options_.labels.Read(line, &p, &label));
  batch->fields[label_field_].values.push_back(label);
  if (ids_field_ >= 0) BeginBag(&batch->fields[ids_field_].ids);
  if (dense_field_ >= 0) {
    AlignedVector<float>& values = batch->fields[dense_field_].values;
    values.resize(values.size() + static_cast<size_t>(inputs_[dense_field_].width));
  }
  p = SkipBlanks(p, end);
  Status status = ParseGroup(line, &p, batch);
  if (status.ok()) {
    status = position_fields_.empty() ? ParseFeatures<false>(line, p, batch)
                                      : ParseFeatures<true>(line, p, batch);
  }
  if (status.ok() && ids_field_ >= 0) status = EndBag(line, &batch->fields[ids_field_].ids);
  return EndRow(inputs_, std::move(status), batch);
}

}  // namespace flotilla
