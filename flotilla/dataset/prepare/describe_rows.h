// The rows of a format that needs no schema (libsvm, libffm, criteo), as features of a model: what
// collect_statistics.h and a schema are for CSV. Models build their graphs from the features; the
// format, saved with a model, makes the parser that fills them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/prepare/line_pass.h"
#include "flotilla/schema/features.h"

namespace flotilla {

struct DescribedRows {
  ParserSpec format;  // with the parameters that the files decide
  Features features;
};

struct DescribeRowsOptions {
  int threads = 1;
  // Number of bad rows to skip; one more is an error. They are rows that training skips, too.
  int64_t max_bad_rows = 0;
  LineReaderOptions reader;  // its log is overwritten
  LogLine log;
  // What the label asks of a model; not set: the training rows decide.
  std::optional<LabelTask> task;
  // libsvm: whether rows that all have the same number of features have an input for each position.
  // Models that do not distinguish fields need no positions, and accept rows of any length.
  bool positions = true;
  std::function<void(const PassProgress&)> on_progress;
};

// `format.format` is libsvm, libffm or criteo. Parameters that are given are kept; the files decide
// the others. One parallel pass over the training files, whose result does not depend on the number
// of threads; none for criteo, where the mean of the label is 0.
//
// libsvm: one bag "features"; or, where all rows have the same number of features, from 2 to 64,
//   the inputs F0, F1, .. by position (`positions=N`). The group is "group" where rows have a qid.
// libffm: a bag F<k> for each field k; with one feature of every field in every row, one id each
//   (`single=yes`).
// Both: indexes are their own ids, in one space that all features share. id_rows is 0: the rows to
//   be scored may have larger indexes than the training rows, which a table of fixed size refuses.
//   A feature is weighted if one of its values is not 1; a single id with weights is a bag.
// criteo: the inputs of CriteoInputs().
// Labels: "label", decided as LabelTally does and written to the parameter `labels`.
//
// Errors: those of reading, more bad rows than allowed (the message has file, line and column), no
// row, rows without features, rows of which only some have a qid, a label with one value only or
// whose values contradict the task or the given parameter.
StatusOr<DescribedRows> DescribeRows(const ParserSpec& format,
                                     const std::vector<std::string>& files,
                                     const DescribeRowsOptions& options);

}  // namespace flotilla
