// Parses a corpus of word ids: each line is a sentence of whole numbers separated by blanks.
// Written by the tools that build a vocabulary and read by skip-gram training. A blank line is not
// a row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/dataset/parser.h"

namespace flotilla {

struct CorpusOptions {
  // Vocabulary size: ids must be below it. 0: any 64-bit id.
  uint64_t vocabulary = 0;
};

// The words of a line form one bag, in their order.
class CorpusParser : public Parser {
 public:
  // The model must have exactly one input, of ids, with any name. InvalidArgument otherwise.
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
