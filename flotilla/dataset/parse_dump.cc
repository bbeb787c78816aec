// Prints the rows of text files as RowText writes them, one per line, through the same reader and
// parser as training. tests/dataset_reference.py compares the output with its own parser. A test
// program, not installed.
//
//   parse_dump FORMAT INPUTS MAX_ROWS FILE [NAME=VALUE ..]
//
// INPUTS are separated by commas, each NAME:dense:WIDTH, NAME:ids or NAME:label; "criteo" stands
// for the inputs of Criteo rows. MAX_ROWS 0 means all rows. The remaining arguments are parameters
// of the format.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/row_text.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

StatusOr<InputSpec> InputFrom(const std::string& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon), kind = text.substr(colon);
  if (kind == ":ids") return InputSpec{name, InputKind::kIds, 1};
  if (kind == ":label") return InputSpec{name, InputKind::kLabel, 1};
  if (kind.starts_with(":dense:")) {
    return InputSpec{name, InputKind::kDense, std::atoll(kind.c_str() + 7)};
  }
  return InvalidArgument("input {}: not NAME:dense:WIDTH, NAME:ids or NAME:label", text);
}

StatusOr<std::vector<InputSpec>> InputsFrom(const std::string& text) {
  if (text == "criteo") return CriteoInputs();
  std::vector<InputSpec> inputs;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    FL_ASSIGN_OR_RETURN(inputs.emplace_back(), InputFrom(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return inputs;
}

Status Dump(const ParserSpec& spec, const std::string& inputs_text, int64_t max_rows,
            const std::string& file) {
  FL_ASSIGN_OR_RETURN(const std::vector<InputSpec> inputs, InputsFrom(inputs_text));
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const Parser> parser, MakeParser(spec, inputs));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<BatchedDataset> dataset,
                      MakeStream({file}, parser, {}));
  FL_RETURN_IF_ERROR(dataset->StartEpoch(0));
  Batch batch;
  int64_t printed = 0;
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool more, dataset->Next(0, &batch));
    if (!more) return absl::OkStatus();
    FL_RETURN_IF_ERROR(batch.Check(inputs));
    for (int64_t row = 0; row < batch.rows; ++row) {
      if (max_rows > 0 && printed == max_rows) return absl::OkStatus();
      std::puts(RowText(inputs, batch, row).c_str());
      ++printed;
    }
  }
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: parse_dump FORMAT INPUTS MAX_ROWS FILE [NAME=VALUE ..]\n", stderr);
    return 2;
  }
  flotilla::ParserSpec spec{argv[1], {}};
  for (int i = 5; i < argc; ++i) {
    const std::string param = argv[i];
    const size_t equals = std::min(param.find('='), param.size() - 1);
    spec.params[param.substr(0, equals)] = param.substr(equals + 1);
  }
  const flotilla::Status status = flotilla::Dump(spec, argv[2], std::atoll(argv[3]), argv[4]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "parse_dump: %s\n", std::string(flotilla::Message(status)).c_str());
  return 1;
}
