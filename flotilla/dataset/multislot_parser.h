// Parses MultiSlot text, the format that data generators write: for each slot in the order of the
// model's inputs `<n> v1 .. vn`, separated by blanks. Lines carry no names.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/dataset/parser.h"

namespace flotilla {

struct MultislotOptions {
  // The id slots that have exactly one id in every row; the others may have any number, including
  // none. A batch carries no offsets for these slots, which saves memory and time.
  std::vector<std::string> single_id_slots;
  // All id slots have exactly one id in every row.
  bool all_single = false;
};

// A dense slot has n = width numbers. A label slot has n = 1 whole number of at most 2^24. An id
// slot has n whole numbers below 2^64.
class MultislotParser : public Parser {
 public:
  // InvalidArgument when an option names a slot that is not an id input (with its name), or when
  // there are no inputs.
  static StatusOr<std::unique_ptr<MultislotParser>> Make(std::span<const InputSpec> inputs,
                                                         const MultislotOptions& options = {});

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  explicit MultislotParser(std::span<const InputSpec> inputs);
  // Appends all slots to the fields. On an error some of them may have been appended.
  Status ParseSlots(std::string_view line, Batch* batch) const;

  const std::vector<InputSpec> inputs_;
  std::vector<bool> single_;  // by input: an id slot with one id per row
};

}  // namespace flotilla
