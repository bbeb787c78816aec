// Opens the dataset that the data options of a run describe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/batch_options.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/file_slice.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/row_exchange.h"
#include "flotilla/dataset/source.h"
#include "flotilla/run/train_options.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// How readers access the bytes of files.
SourceOptions SourceOf(const DataOptions& options);

// The format of the rows of a model: the one in the options, else the model's own, else raw Criteo
// text if the inputs fit it, else MultiSlot text. The pipe command is that of the options.
ParserSpec FormatOf(const ParserSpec& own, std::span<const InputSpec> inputs,
                    const DataOptions& options);
ParserSpec FormatOf(const Model& model, const DataOptions& options);

// The parser of that format for the model's inputs. Errors name --format.
StatusOr<std::shared_ptr<const Parser>> MakeModelParser(const ParserSpec& own,
                                                        std::span<const InputSpec> inputs,
                                                        const DataOptions& options);
StatusOr<std::shared_ptr<const Parser>> MakeModelParser(const Model& model,
                                                        const DataOptions& options);

// Checks that rows of the format `given` have the same meaning as those that a saved model was
// trained on: the same format, parameters and pipe command; otherwise the same ids would stand for
// different features. InvalidArgument names the first difference, both values and the remedies,
// including --ignore_format. Ok if `trained` does not record how its rows were made (pipe_command
// is not set), as in models of earlier versions.
Status CheckSameRows(const ParserSpec& trained, const ParserSpec& given,
                     std::span<const InputSpec> inputs);

// The files that the paths of a flag ("--data") name. Errors name the flag; one of them is a
// Parquet file, whose bytes would be taken for odd rows.
StatusOr<std::vector<std::string>> FindFiles(std::string_view flag,
                                             std::span<const std::string> paths,
                                             const DataOptions& options);

// InvalidArgument, which names the flag of the output, if `output` is one of the files that are
// read: writing it would destroy them.
Status CheckNotRead(std::string_view flag, const std::string& output,
                    std::span<const std::string> files);

struct OpenedData {
  std::unique_ptr<Dataset> dataset;
  int64_t rows = 0;          // of an epoch; 0: unknown until it has ended
  double load_seconds = 0;   // reading and parsing into memory
  int64_t memory_bytes = 0;  // of the rows in memory
};

struct OpenDataOptions {
  std::string_view flag;  // flag that named the files, for messages: "--data"
  std::vector<FileSlice> files;
  bool quiet = false;        // no messages about what is read
  bool for_training = true;  // otherwise in file order, and the last batch is kept
  // Size, seed and, for one of several trainers, allow_empty; DataOptions has the others.
  BatchOptions batch;
  int threads = 1;
  // If not null, and rows are in memory: redistributes the rows of all trainers among them.
  RowExchange* exchange = nullptr;
  // Interrupts every wait for rows, with its cause; null: none. Must outlive the dataset.
  const Interrupt* interrupt = nullptr;
};

// Opens the dataset, and reads the rows if they are to be in memory. Errors name the flag and the
// file. `log` receives messages for the user. With an exchange the call is collective. REQUIRES:
// clock outlives the call; there are files, unless what.batch.allow_empty.
StatusOr<OpenedData> OpenData(const OpenDataOptions& what, const DataOptions& options,
                              std::shared_ptr<const Parser> parser, const Clock& clock,
                              const LogLine& log);

// The rows of a run in memory, for several tasks that share them through views.
struct LoadedRows {
  std::unique_ptr<InMemoryDataset> train;
  std::unique_ptr<InMemoryDataset> test;  // null: none
  double seconds = 0;                     // reading and parsing the training rows
};

// Reads the files of options.data. Errors name the flag and the file. `interrupt` may be null.
// REQUIRES: options.data.in_memory; clock outlives the call.
StatusOr<LoadedRows> LoadRows(const TrainOptions& options,
                              const std::shared_ptr<const Parser>& parser,
                              const Interrupt* interrupt, const Clock& clock, const LogLine& log);

// A dataset of rows that a program has or makes, in the batches that a run asks for. `interrupt`,
// unless it is null, outlives the dataset and ends its waits.
using OpenRows = std::function<StatusOr<std::unique_ptr<Dataset>>(const BatchOptions& batch,
                                                                  const Interrupt* interrupt)>;

// The rows of a run that come from a program instead of files.
struct GivenRows {
  OpenRows train;
  OpenRows test;           // empty: none
  int64_t train_rows = 0;  // of an epoch; 0: unknown
  double seconds = 0;      // reading and parsing the training rows
};

// Views of rows in memory, which must outlive the result.
GivenRows ViewsOf(LoadedRows* rows);

// How rows that a program gives become batches for training: in memory another order in each epoch,
// otherwise shuffled in windows, as the options say.
BatchOptions TrainBatches(const TrainOptions& options, int64_t batch_size);

}  // namespace flotilla
