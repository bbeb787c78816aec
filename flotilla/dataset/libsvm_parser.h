// LIBSVM text, also known as SVMlight and libFM: `<label> <index>:<value> ..`, separated by blanks.
// What follows a '#' is a comment; a line without a label is no row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/dataset/label_rule.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

struct LibsvmOptions {
  LabelRule labels = LabelRule::kBinary;
  // The index that is element 0 of the dense input. Ids are indices as they are written.
  uint64_t first_index = 1;
};

// Features become, as the model declares, the ids of an id input, the elements of a dense input, or
// both. Rows of a table have no weight, so with an id input every value must be 1; a value of 0 is
// the same as leaving the feature out. Ids keep the order of the line.
class LibsvmParser : public Parser {
 public:
  // The model has one label and one id input or one dense input or both, by any names.
  // InvalidArgument otherwise.
  static StatusOr<std::unique_ptr<LibsvmParser>> Make(std::span<const InputSpec> inputs,
                                                      const LibsvmOptions& options = {});

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  LibsvmParser(std::span<const InputSpec> inputs, const LibsvmOptions& options);
  // Appends the features that begin at `p` to the fields. On an error part may be appended.
  Status ParseFeatures(std::string_view line, const char* p, Batch* batch) const;
  // One feature; its index stands at `column` and its value is [value_begin, value_end).
  Status AddFeature(size_t column, uint64_t index, float value, std::string_view value_text,
                    Batch* batch) const;

  const std::vector<InputSpec> inputs_;
  const LibsvmOptions options_;
  int label_field_ = -1;
  int ids_field_ = -1;    // -1: the model has no id input
  int dense_field_ = -1;  // -1: the model has no dense input
};

}  // namespace flotilla
