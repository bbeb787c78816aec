// Helper for writing a data generator: a program that reads lines and prints rows as MultiSlot
// text, for use as a dataset's pipe command. The program is one function:
//
//   int main() {
//     return flotilla::RunDataGenerator([](std::string_view line, flotilla::MultiSlotOutput& out) {
//       out.Floats("dense", {0.5f, 1});
//       out.Ids("C1", {42});
//       out.Ids("label", {1});
//     });
//   }
//
// Try it alone with `cat FILE | ./generator`, then configure it as the pipe command of the dataset.
// Needs only the standard library. See examples/data_generator for a complete program.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla {

// What all outputs of a generator have: the rows as text, and the reason of a failure.
class GeneratedText {
 public:
  // Reports that the line cannot be used: the program ends with this reason and a nonzero exit
  // code, which fails the dataset. To skip a line instead, add no slot.
  void Fail(std::string_view reason) {
    if (reason_.empty()) reason_ = reason.empty() ? "failed" : reason;
  }
  bool failed() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }

  // The rows so far, as text; the caller clears it after writing them.
  std::string& text() { return text_; }

 protected:
  // Moves the current row, whose words all end with a blank, to the text.
  void FinishRow() {
    row_.back() = '\n';
    text_ += row_;
    row_.clear();
  }

  std::string row_;

 private:
  std::string text_;
  std::string reason_;
};

// Receives the slots of a row from the generator function, in the order of the model's inputs. A
// row ends with EndRow, which is implied at the end of a line; so a line yields one row, or several
// with EndRow between them, or none when no slot is added.
//
// Checked: every row has the same slots, in the same order and of the same kind; the
// square of every number is a finite float32. A slot without values is legal for ids only.
class MultiSlotOutput : public GeneratedText {
 public:
  // Numbers of a dense input or a label.
  void Floats(std::string_view name, std::span<const float> values) {
    if (!BeginSlot(name, 'f', values.size())) return;
    if (values.empty()) return Fail(Join({"slot ", name, " has no numbers"}));
    for (const float value : values) {
      if (!std::isfinite(value * value)) {
        return Fail(Join({"slot ", name,
                          std::isfinite(value) ? " has a value whose square does not fit float32"
                                               : " has a value that is infinite or not a number"}));
      }
      Append(value);
    }
  }
  void Floats(std::string_view name, std::initializer_list<float> values) {
    Floats(name, std::span<const float>(values.begin(), values.size()));
  }

  // Ids, or a whole number as a label.
  void Ids(std::string_view name, std::span<const uint64_t> ids) {
    if (!BeginSlot(name, 'i', ids.size())) return;
    for (const uint64_t id : ids) Append(id);
  }
  void Ids(std::string_view name, std::initializer_list<uint64_t> ids) {
    Ids(name, std::span<const uint64_t>(ids.begin(), ids.size()));
  }

  // Ends the current row; no effect when it has no slots.
  void EndRow() {
    if (slot_ == 0 || failed()) return;
    if (known_ && slot_ != slots_.size()) {
      return Fail(Join({"a row has ", std::to_string(slot_), " slots, the first had ",
                        std::to_string(slots_.size())}));
    }
    known_ = true;
    slot_ = 0;
    FinishRow();
  }

 private:
  struct Slot {
    std::string name;
    char kind;  // 'f' numbers, 'i' ids
  };

  bool BeginSlot(std::string_view name, char kind, size_t count) {
    if (failed()) return false;
    if (!known_) {
      slots_.push_back({std::string(name), kind});
    } else if (slot_ == slots_.size() || slots_[slot_].name != name || slots_[slot_].kind != kind) {
      const std::string first = slot_ == slots_.size()
                                    ? "the end of the row"
                                    : Described(slots_[slot_].name, slots_[slot_].kind);
      Fail(Join({Described(name, kind), " found where the first row had ", first}));
      return false;
    }
    ++slot_;
    Append(count);
    return true;
  }

  static std::string Join(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
  }
  static std::string Described(std::string_view name, char kind) {
    return Join({"slot ", name, kind == 'f' ? " (numbers)" : " (ids)"});
  }

  template <typename T>
  void Append(T value) {
    char word[32];
    const auto [end, error] = std::to_chars(word, word + sizeof(word), value);
    row_.append(word, end);
    row_ += ' ';
  }

  std::vector<Slot> slots_;  // slots of the first row
  bool known_ = false;       // the first row is complete
  size_t slot_ = 0;          // number of slots of the current row so far
};

// Like MultiSlotOutput without names and checks, for values that are already text.
class MultiSlotStringOutput : public GeneratedText {
 public:
  void Slot(std::span<const std::string_view> values) {
    row_ += std::to_string(values.size());
    row_ += ' ';
    for (const std::string_view value : values) {
      row_ += value;
      row_ += ' ';
    }
  }
  void Slot(std::initializer_list<std::string_view> values) {
    Slot(std::span<const std::string_view>(values.begin(), values.size()));
  }
  void EndRow() {
    if (!row_.empty()) FinishRow();
  }
};

// Calls `generate` for every line of `in` (without its line end) and writes the rows to `out`.
// Returns the exit code of the program: 0, or 1 after writing the number of the failed line and the
// reason to `errors`.
template <typename Output>
int RunDataGenerator(std::istream& in, std::ostream& out, std::ostream& errors,
                     const std::function<void(std::string_view line, Output& output)>& generate) {
  constexpr size_t kWriteBytes = 64 << 10;
  Output output;
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    generate(line, output);
    output.EndRow();
    if (output.failed()) {
      errors << "line " << number << ": " << output.reason() << std::endl;
      return 1;
    }
    if (output.text().size() < kWriteBytes) continue;
    out << output.text();
    output.text().clear();
  }
  out << output.text() << std::flush;
  if (out && !in.bad()) return 0;
  errors << (in.bad() ? "cannot read the input" : "cannot write the output") << std::endl;
  return 1;
}

// Runs the generator on the standard streams.
inline int RunDataGenerator(
    const std::function<void(std::string_view line, MultiSlotOutput& out)>& generate) {
  std::ios::sync_with_stdio(false);
  return RunDataGenerator<MultiSlotOutput>(std::cin, std::cout, std::cerr, generate);
}
inline int RunStringDataGenerator(
    const std::function<void(std::string_view line, MultiSlotStringOutput& out)>& generate) {
  std::ios::sync_with_stdio(false);
  return RunDataGenerator<MultiSlotStringOutput>(std::cin, std::cout, std::cerr, generate);
}

}  // namespace flotilla
