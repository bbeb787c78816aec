// Parses LIBSVM text, also known as SVMlight and libFM: `<label> [qid:<group>] <index>:<value> ..`,
// separated by blanks. Text after a '#' is a comment; a line without a label is not a row.
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
  // The index that maps to element 0 of the dense input. Ids are the indices as written.
  uint64_t first_index = 1;
  // The id input that takes the number of qid:<number>, which every row must then have. Empty: rows
  // have none.
  std::string group = {};
  // If not 0, every row has this many features, and feature number i of a row, counted from 0, is
  // the one id of the input F<i>.
  uint64_t positions = 0;
};

// Depending on the inputs of the model, features become the ids of an id input, the elements of a
// dense input, or both, or the ids of one input per position. The values are the weights of the
// ids; a value of 0 is the same as omitting the feature. Ids keep the order of the line.
class LibsvmParser : public Parser {
 public:
  // The model must have one label and one id input or one dense input or both, with any names, and
  // the group's input if the options name one. With positions it must have the id inputs F0, F1, ..
  // and no dense one instead. InvalidArgument otherwise.
  static StatusOr<std::unique_ptr<LibsvmParser>> Make(std::span<const InputSpec> inputs,
                                                      const LibsvmOptions& options = {});

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  LibsvmParser(std::span<const InputSpec> inputs, const LibsvmOptions& options);
  // The member that holds the index of this input; null when no line fills it.
  int* FieldOf(const InputSpec& input);
  Status CheckInputs() const;
  // Appends the features that begin at `p` to the fields. On an error some of them may have been
  // appended.
  template <bool kByPosition>
  Status ParseFeatures(std::string_view line, const char* p, Batch* batch) const;
  // Appends one feature, whose index begins at `column`.
  Status AddFeature(size_t column, uint64_t index, float value, Batch* batch) const;
  // Reads the group at *p, if rows have one, and advances *p behind it.
  Status ParseGroup(std::string_view line, const char** p, Batch* batch) const;

  const std::vector<InputSpec> inputs_;
  const LibsvmOptions options_;
  int label_field_ = -1;
  int ids_field_ = -1;                // -1: the model has no id input
  int dense_field_ = -1;              // -1: the model has no dense input
  int group_field_ = -1;              // -1: rows have no group
  std::vector<int> position_fields_;  // by position; empty: features have none
};

}  // namespace flotilla
