// A corpus of ids: each line is a sentence, whole numbers separated by blanks. Tools that build a
// vocabulary write it; skip-gram reads it. A blank line is no row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/dataset/parser.h"

namespace flotilla {

struct CorpusOptions {
  // Ids must be below: the size of the vocabulary. 0: any 64-bit id.
  uint64_t vocabulary = 0;
};

// The words of a line are one bag, in their order.
class CorpusParser : public Parser {
 public:
  // The model has one input, of ids, by any name. InvalidArgument otherwise.
  static StatusOr<std::unique_ptr<CorpusParser>> Make(std::span<const InputSpec> inputs,
                                                      const CorpusOptions& options = {});

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  CorpusParser(std::span<const InputSpec> inputs, const CorpusOptions& options);

  const std::vector<InputSpec> inputs_;
  const CorpusOptions options_;
};

}  // namespace flotilla
