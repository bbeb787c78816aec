#include "flotilla/dataset/libffm_parser.h"

#include <algorithm>
#include <string_view>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

constexpr int kLeftOut = -1;
constexpr int kUnknown = -2;
constexpr uint64_t kMaxFields = 1 << 16;

// Reads `<number>:` at `p`; null when there is none.
const char* ScanPrefix(const char* p, const char* end, uint64_t* value) {
  const char* const stop = ScanUint64(p, end, value);
  return stop != nullptr && stop < end && *stop == ':' ? stop + 1 : nullptr;
}

// Reads a feature at `p`; returns where it ends, null when there is none.
inline const char* ScanFeature(const char* p, const char* end, LibffmFeature* feature) {
  const char* stop = ScanPrefix(p, end, &feature->field);
  if (stop != nullptr) stop = ScanPrefix(stop, end, &feature->index);
  if (stop != nullptr) stop = ScanFloat(stop, end, &feature->value);
  return stop != nullptr && (stop == end || IsBlank(*stop)) ? stop : nullptr;
}

// The error for a word at `p` that is not a feature.
Status BadFeature(std::string_view line, const char* p) {
  const char* const end = line.data() + line.size();
  LibffmFeature feature;
  const char* number = ScanPrefix(p, end, &feature.field);
  if (number != nullptr) number = ScanPrefix(number, end, &feature.index);
  return BadRow(p - line.data() + 1, "expected <field>:<index>:<number>, found '{}'{}",
                ShownWord(p, end), number != nullptr ? TooLargeNote(number, end) : "");
}

}  // namespace

Status ReadLibffmFeature(std::string_view line, const char** p, LibffmFeature* feature) {
  const char* const end = line.data() + line.size();
  const char* const stop = ScanFeature(*p, end, feature);
  if (stop == nullptr) return BadFeature(line, *p);
  *p = SkipBlanks(stop, end);
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<LibffmParser>> LibffmParser::Make(std::span<const InputSpec> inputs,
                                                           const LibffmOptions& options) {
  std::unique_ptr<LibffmParser> parser(new LibffmParser(inputs, options));
  FL_RETURN_IF_ERROR(Annotate(parser->FindInputs(), "libffm"));
  FL_RETURN_IF_ERROR(Annotate(parser->FindLeftOut(), "libffm"));
  return parser;
}

LibffmParser::LibffmParser(std::span<const InputSpec> inputs, const LibffmOptions& options)
    : inputs_(inputs.begin(), inputs.end()), options_(options) {}

Status LibffmParser::SetField(uint64_t field, size_t input) {
  if (field >= kMaxFields) return InvalidArgument("field {} is not below {}", field, kMaxFields);
  if (field >= input_of_.size()) input_of_.resize(field + 1, kUnknown);
  if (input_of_[field] != kUnknown) {
    return InvalidArgument("field {} has two inputs, {} and {}", field,
                           inputs_[input_of_[field]].name, inputs_[input].name);
  }
  input_of_[field] = static_cast<int>(input);
  return absl::OkStatus();
}

StatusOr<uint64_t> LibffmParser::FieldOf(const InputSpec& input) const {
  if (input.kind == InputKind::kDense && input.width != 1) {
    return InvalidArgument("input {} has width {}: a field has one value", input.name, input.width);
  }
  const std::vector<std::string>& names = options_.fields;
  if (!names.empty()) {
    const auto name = std::find(names.begin(), names.end(), input.name);
    if (name == names.end()) {
      return InvalidArgument("input {} is not in the list of fields", input.name);
    }
    return name - names.begin();
  }
  uint64_t field = 0;
  const char* const end = input.name.data() + input.name.size();
  if (!input.name.starts_with('F') || ScanUint64(input.name.data() + 1, end, &field) != end) {
    return InvalidArgument(
        "input {} is not a field: without a list of fields it must be named F<number>", input.name);
  }
  return field;
}

Status LibffmParser::FindInputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].kind == InputKind::kLabel) {
      if (label_field_ >= 0) return InvalidArgument("input {} is a second label", inputs_[i].name);
      label_field_ = static_cast<int>(i);
      continue;
    }
    FL_ASSIGN_OR_RETURN(const uint64_t field, FieldOf(inputs_[i]));
    FL_RETURN_IF_ERROR(SetField(field, i));
  }
  if (label_field_ < 0) return InvalidArgument("the model has no label");
  if (input_of_.empty()) return InvalidArgument("the model has no input but the label");
  return absl::OkStatus();
}

Status LibffmParser::FindLeftOut() {
  const std::vector<std::string>& names = options_.fields;
  if (names.size() > kMaxFields) return InvalidArgument("more than {} fields", kMaxFields);
  input_of_.resize(std::max(input_of_.size(), names.size()), kUnknown);
  for (size_t field = 0; field < names.size(); ++field) {
    if (input_of_[field] != kUnknown) continue;
    if (names[field] != "-") {
      return InvalidArgument("field {}: {} is not an input of the model, or is listed twice", field,
                             names[field]);
    }
    input_of_[field] = kLeftOut;
  }
  return absl::OkStatus();
}

std::string LibffmParser::identity() const {
  std::string fields;
  for (const int input : input_of_) fields += fmt::format("{},", input);
  return fmt::format("libffm/2 labels={} single={} fields={}", options_.labels.text(),
                     options_.single, fields);
}

void LibffmParser::BeginRow(float label, Batch* batch) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Field& field = batch->fields[i];
    if (inputs_[i].kind != InputKind::kIds) {
      field.values.push_back(static_cast<int>(i) == label_field_ ? label : 0.0f);
    } else if (!options_.single) {
      BeginBag(&field.ids);
    }
  }
}

Status LibffmParser::AddFeature(size_t column, const LibffmFeature& feature, Batch* batch) const {
  const int input = feature.field < input_of_.size() ? input_of_[feature.field] : kUnknown;
  if (input == kUnknown) {
    return BadRow(column, "field {} has no input in the model", feature.field);
  }
  if (input == kLeftOut || feature.value == 0) return absl::OkStatus();
  Field& field = batch->fields[input];
  if (inputs_[input].kind == InputKind::kDense) {
    if (field.values.back() != 0) return BadRow(column, "duplicate field {}", feature.field);
    field.values.back() = feature.value;
    return absl::OkStatus();
  }
  if (options_.single && field.ids.ids.size() > static_cast<size_t>(batch->rows)) {
    return BadRow(column, "duplicate field {}", feature.field);
  }
  PushWeighted(feature.index, feature.value, &field.ids);
  return absl::OkStatus();
}

Status LibffmParser::ParseFeatures(std::string_view line, const char* p, Batch* batch) const {
  const char* const end = line.data() + line.size();
  while (!AtEndOrComment(p, end)) {
    LibffmFeature feature;
    const char* const stop = ScanFeature(p, end, &feature);
    if (stop == nullptr) return BadFeature(line, p);
    FL_RETURN_IF_ERROR(AddFeature(p - line.data() + 1, feature, batch));
    p = SkipBlanks(stop, end);
  }
  return EndInputs(line, batch);
}

Status LibffmParser::EndInputs(std::string_view line, Batch* batch) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].kind != InputKind::kIds) continue;
    RaggedIds& ids = batch->fields[i].ids;
    if (!options_.single) {
      FL_RETURN_IF_ERROR(EndBag(line, &ids));
    } else if (ids.ids.size() == static_cast<size_t>(batch->rows)) {
      return BadRow(line.size() + 1, "expected one feature for input {}, the line ends",
                    inputs_[i].name);
    }
  }
  return absl::OkStatus();
}

Status LibffmParser::Parse(std::string_view line, Batch* batch) const {
  const char* const end = line.data() + line.size();
  const char* p = SkipBlanks(line.data(), end);
  if (AtEndOrComment(p, end)) return absl::OkStatus();
  float label = 0;
  FL_RETURN_IF_ERROR(options_.labels.Read(line, &p, &label));
  BeginRow(label, batch);
  return EndRow(inputs_, ParseFeatures(line, SkipBlanks(p, end), batch), batch);
}

}  // namespace flotilla
