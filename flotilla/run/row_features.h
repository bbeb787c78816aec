// Finds out what the rows of a run are, so that a model can take its inputs from them: the
// features, and the format that turns a row into them.
//
//   --schema FILE       the schema with its statistics, FILE.stats, which are collected from the
//                       training files and written if there are none
//   --format NAME       libsvm, libffm and criteo describe themselves
//   neither             the first lines of the first file decide: for Criteo rows the built-in
//                       schema, for CSV and TSV one that is inferred from the columns
//
// A run that starts from a saved model takes the format of that model, so that ids keep their
// meaning when the files change.
#pragma once

#include <string>
#include <string_view>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/prepare/describe_rows.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

// Reads the training files if it has to; logs what it decided. `fields`: whether the model
// distinguishes features, so that libsvm rows of equal length have an input for each position.
// Errors name the flag, the file or the column.
StatusOr<DescribedRows> FindRowFeatures(const TrainOptions& options, bool fields,
                                        Terminal& terminal, const Interrupt* interrupt);

// The result as text and back, for the other processes of a job (--rows).
StatusOr<std::string> RowsToText(const DescribedRows& rows);
StatusOr<DescribedRows> RowsFromText(std::string_view text);

}  // namespace flotilla
