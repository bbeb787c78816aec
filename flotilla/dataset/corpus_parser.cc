#include "flotilla/dataset/corpus_parser.h"

#include <string_view>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {

StatusOr<std::unique_ptr<CorpusParser>> CorpusParser::Make(std::span<const InputSpec> inputs,
                                                           const CorpusOptions& options) {
  if (inputs.size() != 1 || inputs[0].kind != InputKind::kIds) {
    return InvalidArgument("corpus: the model must have one input, of ids, and it has {} inputs",
                           inputs.size());
  }
  return std::unique_ptr<CorpusParser>(new CorpusParser(inputs, options));
}

CorpusParser::CorpusParser(std::span<const InputSpec> inputs, const CorpusOptions& options)
    : inputs_(inputs.begin(), inputs.end()), options_(options) {}

std::string CorpusParser::identity() const {
  return fmt::format("corpus/1 vocabulary={}", options_.vocabulary);
}

Status CorpusParser::Parse(std::string_view line, Batch* batch) const {
  const char* const end = line.data() + line.size();
  const char* p = SkipBlanks(line.data(), end);
  if (p == end) return absl::OkStatus();
  const uint64_t max_id = options_.vocabulary - 1;  // vocabulary 0 wraps to the largest id
  RaggedIds& words = batch->fields[0].ids;
  BeginBag(&words);
  while (p < end) {
    uint64_t id = 0;
    const char* const stop = ScanUint64(p, end, &id);
    if (stop == nullptr || (stop < end && !IsBlank(*stop)) || id > max_id) {
      return EndRow(inputs_,
                    BadRow(p - line.data() + 1, "expected an id of at most {}, found '{}'", max_id,
                           ShownWord(p, end)),
                    batch);
    }
    words.ids.push_back(id);
    p = SkipBlanks(stop, end);
  }
  return EndRow(inputs_, EndBag(line, &words), batch);
}

}  // namespace flotilla
