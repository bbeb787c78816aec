// Parses libffm text: `<label> <field>:<index>:<value> ..`, separated by blanks. Text after a '#'
// is a comment; a line without a label is not a row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/label_rule.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

// One feature of a line as it is written.
struct LibffmFeature {
  uint64_t field = 0;
  uint64_t index = 0;
  float value = 0;
};

// Reads the feature at *p, which lies in `line`, and advances *p past it and past the blanks behind
// it. On an error, created with BadRow(), *p is unchanged.
Status ReadLibffmFeature(std::string_view line, const char** p, LibffmFeature* feature);

struct LibffmOptions {
  LabelRule labels = LabelRule::kBinary;
  // The inputs that fields 0, 1, .. fill; "-" ignores a field. Empty: input F<k> is field k.
  std::vector<std::string> fields;
  // Every id input has exactly one feature in every row, and a batch carries no offsets for it.
  // Otherwise it may have any number, including none.
  bool single = false;
};

// Field k fills the input that the options name. An id input takes the indices as ids and the
// values as their weights (0 omits the feature). A dense input of width 1 takes the value, 0 when
// the line does not have it, and ignores the index.
class LibffmParser : public Parser {
 public:
  // The model must have one label, with any name, and each other input must belong to one field.
  // InvalidArgument with the name of the input or field otherwise.
  static StatusOr<std::unique_ptr<LibffmParser>> Make(std::span<const InputSpec> inputs,
                                                      const LibffmOptions& options = {});

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  LibffmParser(std::span<const InputSpec> inputs, const LibffmOptions& options);
  StatusOr<uint64_t> FieldOf(const InputSpec& input) const;
  Status SetField(uint64_t field, size_t input);
  Status FindInputs();
  Status FindLeftOut();
  void BeginRow(float label, Batch* batch) const;
  // Appends the features that begin at `p` to the fields. On an error some of them may have been
  // appended.
  Status ParseFeatures(std::string_view line, const char* p, Batch* batch) const;
  Status AddFeature(size_t column, const LibffmFeature& feature, Batch* batch) const;
  Status EndInputs(std::string_view line, Batch* batch) const;

  const std::vector<InputSpec> inputs_;
  const LibffmOptions options_;
  int label_field_ = -1;
  std::vector<int> input_of_;  // by field: index of the input, kLeftOut or kUnknown
};

}  // namespace flotilla
