// From what a run is told about its rows to the dataset that gives them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/row_exchange.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// The format that rows of a model are read in: the one of the options, else the model's own, else
// raw Criteo text if the inputs fit it, else MultiSlot text. The pipe command is that of the
// options.
ParserSpec FormatOf(const ParserSpec& own, std::span<const InputSpec> inputs,
                    const DataOptions& options);
ParserSpec FormatOf(const Model& model, const DataOptions& options);

// The parser of that format for the model's inputs. Errors name --format.
StatusOr<std::shared_ptr<const Parser>> MakeModelParser(const ParserSpec& own,
                                                        std::span<const InputSpec> inputs,
                                                        const DataOptions& options);
StatusOr<std::shared_ptr<const Parser>> MakeModelParser(const Model& model,
                                                        const DataOptions& options);

// Whether rows that are read as `given` says mean what those of a saved model did: the same format,
// parameters and pipe command, else the same ids would stand for other things. InvalidArgument
// names the first difference, both values and what to do, --ignore_format included. Ok where
// `trained` does not tell how its rows were made (pipe_command is not set), as in models of earlier
// versions.
Status CheckSameRows(const ParserSpec& trained, const ParserSpec& given,
                     std::span<const InputSpec> inputs);

// The files that paths of a flag ("--data") name. Errors name the flag.
StatusOr<std::vector<std::string>> FindFiles(std::string_view flag,
                                             std::span<const std::string> paths,
                                             const DataOptions& options);

struct OpenedData {
  std::unique_ptr<Dataset> dataset;
  int64_t rows = 0;         // of an epoch; 0: not known before it has ended
  double load_seconds = 0;  // reading and parsing into memory
};

struct OpenDataOptions {
  std::string_view flag;  // that named the files, for messages: "--data"
  std::vector<std::string> files;
  bool for_training = true;  // otherwise in the order of the files, and the whole last batch
  int64_t batch_size = 1000;
  int threads = 1;
  uint64_t seed = 0;
  // One of several trainers: it may have no file, and its epochs no row.
  bool may_be_empty = false;
  // Not null, and rows in memory: how the rows of all trainers are spread over them.
  RowExchange* exchange = nullptr;
  // Ends every wait for rows with its cause; null: nothing does. Must outlive the dataset.
  const Interrupt* interrupt = nullptr;
};

// Reads the rows, if they are to be in memory. Errors name the flag and the file. `log` is told
// what a user should know. With an exchange it is collective. REQUIRES: clock outlives the call;
// there are files, or there may be none.
StatusOr<OpenedData> OpenData(const OpenDataOptions& what, const DataOptions& options,
                              std::shared_ptr<const Parser> parser, const Clock& clock,
                              const LogLine& log);

}  // namespace flotilla
