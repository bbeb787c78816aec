#include "flotilla/dataset/multislot_parser.h"

#include <algorithm>
#include <string_view>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

// Iterates over the words of a line. The read functions return false and leave `at` on the
// unexpected word, for the error message.
struct Words {
  const char* const begin;
  const char* const end;
  const char* at;

  explicit Words(std::string_view line)
      : begin(line.data()), end(begin + line.size()), at(SkipBlanks(begin, end)) {}

  bool MoveTo(const char* stop) {
    if (stop == nullptr || (stop < end && !IsBlank(*stop))) return false;
    at = SkipBlanks(stop, end);
    return true;
  }
  bool ReadUint64(uint64_t* value) { return MoveTo(ScanUint64(at, end, value)); }
  bool ReadFloat(float* value) { return MoveTo(ScanFloat(at, end, value)); }
};

Status Unexpected(const Words& words, const InputSpec& slot, std::string_view expected,
                  std::string_view note = {}) {
  const std::string found = words.at == words.end
                                ? "the line ends"
                                : fmt::format("found '{}'{}", ShownWord(words.at, words.end), note);
  return BadRow(words.at - words.begin + 1, "slot {}: expected {}, {}", slot.name, expected, found);
}

Status BadValue(const Words& words, const InputSpec& slot, uint64_t index, uint64_t count,
                std::string_view what, std::string_view note = {}) {
  return Unexpected(words, slot, fmt::format("value {} of {}, {}", index + 1, count, what), note);
}

// Reads the number of values, which must be `expected`.
Status ReadFixedCount(const InputSpec& slot, uint64_t expected, Words* words) {
  const Words before = *words;
  uint64_t count = 0;
  if (words->ReadUint64(&count) && count == expected) return absl::OkStatus();
  return Unexpected(before, slot, fmt::format("the number of values, {}", expected));
}

Status ReadDense(const InputSpec& slot, Words* words, AlignedVector<float>* values) {
  const uint64_t width = static_cast<uint64_t>(slot.width);
  FL_RETURN_IF_ERROR(ReadFixedCount(slot, width, words));
  for (uint64_t i = 0; i < width; ++i) {
    float value = 0;
    if (!words->ReadFloat(&value)) {
      return BadValue(*words, slot, i, width, "a finite number",
                      TooLargeNote(words->at, words->end));
    }
    values->push_back(value);
  }
  return absl::OkStatus();
}

Status ReadLabel(const InputSpec& slot, Words* words, AlignedVector<float>* values) {
  FL_RETURN_IF_ERROR(ReadFixedCount(slot, 1, words));
  const Words before = *words;
  uint64_t label = 0;
  if (!words->ReadUint64(&label) || label > kMaxLabel) {
    return Unexpected(before, slot, fmt::format("a whole number of at most {}", kMaxLabel));
  }
  values->push_back(static_cast<float>(label));
  return absl::OkStatus();
}

Status ReadIds(const InputSpec& slot, uint64_t count, Words* words, std::vector<uint64_t>* ids) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t id = 0;
    if (!words->ReadUint64(&id)) {
      return BadValue(*words, slot, i, count, "a whole number below 2^64");
    }
    ids->push_back(id);
  }
  return absl::OkStatus();
}

Status ReadSingleId(const InputSpec& slot, Words* words, RaggedIds* ids) {
  FL_RETURN_IF_ERROR(ReadFixedCount(slot, 1, words));
  return ReadIds(slot, 1, words, &ids->ids);
}

Status ReadBag(const InputSpec& slot, Words* words, RaggedIds* ids) {
  uint64_t count = 0;
  if (!words->ReadUint64(&count)) return Unexpected(*words, slot, "the number of values");
  BeginBag(ids);
  FL_RETURN_IF_ERROR(ReadIds(slot, count, words, &ids->ids));
  if (!EndBag(ids)) return Unexpected(*words, slot, "fewer than 2^32 ids in a batch");
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<MultislotParser>> MultislotParser::Make(std::span<const InputSpec> inputs,
                                                                 const MultislotOptions& options) {
  if (inputs.empty()) return InvalidArgument("multislot: no inputs");
  std::unique_ptr<MultislotParser> parser(new MultislotParser(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    parser->single_[i] = options.all_single && inputs[i].kind == InputKind::kIds;
  }
  for (const std::string& name : options.single_id_slots) {
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const InputSpec& each) { return each.name == name; });
    if (input == inputs.end() || input->kind != InputKind::kIds) {
      return InvalidArgument("multislot: single: {} is not an id input of the model", name);
    }
    parser->single_[input - inputs.begin()] = true;
  }
  return parser;
}

MultislotParser::MultislotParser(std::span<const InputSpec> inputs)
    : inputs_(inputs.begin(), inputs.end()), single_(inputs.size()) {}

std::string MultislotParser::identity() const {
  std::string text = "multislot/1 single=";
  for (const bool single : single_) text += single ? '1' : '0';
  return text;
}

Status MultislotParser::ParseSlots(std::string_view line, Batch* batch) const {
  Words words(line);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSpec& slot = inputs_[i];
    Field& field = batch->fields[i];
    switch (slot.kind) {
      case InputKind::kDense:
        FL_RETURN_IF_ERROR(ReadDense(slot, &words, &field.values));
        break;
      case InputKind::kLabel:
        FL_RETURN_IF_ERROR(ReadLabel(slot, &words, &field.values));
        break;
      case InputKind::kIds:
        FL_RETURN_IF_ERROR(single_[i] ? ReadSingleId(slot, &words, &field.ids)
                                      : ReadBag(slot, &words, &field.ids));
        break;
    }
  }
  if (words.at == words.end) return absl::OkStatus();
  return BadRow(words.at - words.begin + 1,
                "expected the end of the line after {} slots, found '{}'", inputs_.size(),
                ShownWord(words.at, words.end));
}

Status MultislotParser::Parse(std::string_view line, Batch* batch) const {
  return EndRow(inputs_, ParseSlots(line, batch), batch);
}

}  // namespace flotilla
