// The rows that `flotilla infer` scores: which columns of a schema they lack, which are written
// beside the scores, and the dataset that all models share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/csv_parser.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/terminal.h"

namespace flotilla {

struct InferRowsOptions {
  std::vector<std::string> files;  // of --data
  DataOptions data;
  int64_t batch_size = 1000;
  int threads = 1;
  bool with_kept = false;  // columns with the role `keep` are wanted
};

// The rows for one model.
struct InferredRows {
  Dataset* dataset = nullptr;  // owned by InferRows, until its next call
  double load_seconds = 0;     // that the call spent reading rows into memory
  // Inputs of the model that the rows do not have: labels, the weight, the group.
  std::vector<std::string> absent;
  // Columns to write beside the scores, with their texts; none and null without such columns.
  std::vector<std::string> kept_columns;
  std::shared_ptr<KeptTexts> kept;
};

// The names of the columns of a prediction, if they are the probabilities of classes: as the
// training files write the classes, else their numbers. Empty for a click or a number.
std::vector<std::string> ClassColumns(const Predictor& predictor);

// The rows of --data, opened once for all models that parse them the same way.
class InferRows {
 public:
  explicit InferRows(InferRowsOptions options) : options_(std::move(options)) {}

  // Opens the rows for the model unless they are already open, and leaves out of the model what
  // they do not have: the columns of labels, the weight and the group that the headers of the files
  // lack. The log says so once. Standard input and pipes must have all columns, since their headers
  // cannot be read in advance. Errors: rows of another format than in training, files of which only
  // some have these columns, and those of OpenData.
  StatusOr<InferredRows> For(Predictor& predictor, Terminal& terminal);

  // After the rows were read: what the parser has to tell of them; empty: nothing.
  std::string TakeNote() const { return parser_ == nullptr ? std::string() : parser_->TakeNote(); }

 private:
  Status CheckFormat(const Predictor& predictor) const;
  StatusOr<std::shared_ptr<const Parser>> MakeRowParser(const Predictor& predictor,
                                                        InferredRows* rows);
  StatusOr<std::vector<std::string>> FindAbsent(const Schema& schema);
  Status ReadHeaders();
  Status LeaveOut(const std::vector<std::string>& absent, Predictor* predictor, Terminal& terminal);

  const InferRowsOptions options_;
  // The first lines of the files, as far as they can be read; empty: unknown.
  std::optional<std::vector<std::string>> headers_;
  bool told_ = false;  // the log has named the absent inputs
  OpenedData opened_;
  std::shared_ptr<const Parser> parser_;  // of the opened rows
  std::string identity_;                  // of the parser
  std::vector<InputSpec> inputs_;
};

}  // namespace flotilla
