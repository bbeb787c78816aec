#include "flotilla/run/open_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "flotilla/base/pipe_command.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/parser_spec_io.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

StreamOptions StreamOf(const OpenDataOptions& what, const DataOptions& options,
                       const LogLine& log) {
  StreamOptions stream{.batch = what.batch,
                       .name = std::string(what.flag),
                       .max_bad_rows = options.max_bad_rows,
                       .readers = options.readers,
                       .cache = options.cache,
                       .threads = what.threads,
                       .log = log};
  stream.reader.source = SourceOf(options);
  stream.reader.source.interrupt = what.interrupt;
  if (what.for_training) {
    stream.batch.drop_last = options.drop_last;
    stream.batch.shuffle_rows = !options.in_memory ? options.shuffle_rows
                                : options.shuffle  ? kWholeEpoch
                                                   : 0;
  }
  return stream;
}

void LogFiles(const OpenDataOptions& what, const LogLine& log) {
  if (what.quiet) return;
  if (what.files.empty()) {
    log(fmt::format("{}: no file for this trainer: there are fewer files than trainers",
                    what.flag));
    return;
  }
  const bool whole =
      std::all_of(what.files.begin(), what.files.end(), [](const auto& f) { return f.whole(); });
  const char* const noun = whole ? "file" : "slice";
  log(fmt::format("{}: {} {}{}, first {}", what.flag, what.files.size(), noun,
                  what.files.size() == 1 ? "" : "s", ToString(what.files[0])));
}

StatusOr<std::unique_ptr<InMemoryDataset>> LoadFiles(const OpenDataOptions& what,
                                                     const StreamOptions& options,
                                                     std::shared_ptr<const Parser> parser,
                                                     const Clock& clock, double* seconds) {
  const int64_t start = clock.NowNanos();
  FL_ASSIGN_OR_RETURN(auto dataset, InMemoryDataset::Load(what.files, parser, options));
  *seconds = static_cast<double>(clock.NowNanos() - start) * 1e-9;
  if (!what.quiet) {
    options.log(fmt::format("{}: read {} rows in {:.2f} s, {} bad rows skipped", what.flag,
                            dataset->rows(), *seconds, dataset->skipped()));
  }
  if (const std::string note = parser->TakeNote(); !note.empty()) {
    options.log(fmt::format("{}: {}", what.flag, note));
  }
  return dataset;
}

Status LoadInMemory(const OpenDataOptions& what, const StreamOptions& options,
                    std::shared_ptr<const Parser> parser, const Clock& clock, OpenedData* data) {
  FL_ASSIGN_OR_RETURN(auto dataset,
                      LoadFiles(what, options, std::move(parser), clock, &data->load_seconds));
  if (what.exchange != nullptr) {
    FL_RETURN_IF_ERROR(Annotate(dataset->GlobalShuffle(0, what.exchange), "--global_shuffle"));
    options.log(fmt::format("{}: {} rows after the global shuffle", what.flag, dataset->rows()));
  }
  data->rows = dataset->rows();
  data->memory_bytes = dataset->memory_bytes();
  data->dataset = std::move(dataset);
  return absl::OkStatus();
}

// A parameter, and the parameter that names a file with its text, are equivalent.
std::string TwinOf(const std::string& param) {
  constexpr std::string_view kFile = "_file";
  return param.ends_with(kFile) ? param.substr(0, param.size() - kFile.size())
                                : param + std::string(kFile);
}

// Schemas and statistics are long: a message shows only that their texts differ.
std::string ParamText(const std::map<std::string, std::string>& params, const std::string& name) {
  constexpr size_t kLong = 60;
  const auto found = params.find(name);
  if (found == params.end()) return "not set";
  return found->second.size() <= kLong ? found->second
                                       : fmt::format("a text of {} bytes", found->second.size());
}

Status CheckSamePipe(const std::string& trained, const std::string& given) {
  if (trained == given) return absl::OkStatus();
  if (given.empty()) {
    return InvalidArgument(
        "the model was trained on rows that came through a pipe command: add --pipe_command {}, or "
        "--ignore_format if these rows are its output",
        ShellQuoted(trained));
  }
  if (trained.empty()) {
    return InvalidArgument(
        "the model was trained on rows that came through no pipe command: leave out --pipe_command "
        "{}, or add --ignore_format if it gives the same kind of rows",
        ShellQuoted(given));
  }
  return InvalidArgument(
      "the model was trained on rows of the pipe command {}, --pipe_command is {}: give the same, "
      "or add --ignore_format if both give the same kind of rows",
      ShellQuoted(trained), ShellQuoted(given));
}

// Whether it is a file on this machine that begins and ends as Parquet files do.
bool IsParquet(const std::string& file) {
  constexpr std::string_view kMark = "PAR1";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  std::ifstream stream(file, std::ios::binary);
  char mark[kMark.size()] = {};
  const auto read = [&] {
    return stream.read(mark, kMark.size()) && kMark == std::string_view(mark, kMark.size());
  };
  return read() && stream.seekg(-static_cast<std::streamoff>(kMark.size()), std::ios::end) &&
         read();
}

}  // namespace

SourceOptions SourceOf(const DataOptions& options) {
  SourceOptions source;
  source.pipe_command = options.pipe_command;
  source.idle_timeout_ms = options.pipe_timeout_seconds * 1000;
  source.scheme_commands = options.schemes;
  return source;
}

ParserSpec FormatOf(const ParserSpec& own, std::span<const InputSpec> inputs,
                    const DataOptions& options) {
  ParserSpec spec = own;
  if (!options.format.format.empty() && options.format.format != spec.format) {
    spec = {.format = options.format.format};
  }
  if (spec.format.empty()) {
    const ParserSpec criteo{.format = "criteo", .params = options.format.params};
    const bool fits = MakeParser(criteo, inputs).ok();
    spec.format = fits ? "criteo" : "multislot";
  }
  for (const auto& [key, value] : options.format.params) {
    spec.params.erase(TwinOf(key));
    spec.params[key] = value;
  }
  spec.pipe_command = options.pipe_command;
  return spec;
}

ParserSpec FormatOf(const Model& model, const DataOptions& options) {
  return FormatOf(model.format, model.graph.def().inputs, options);
}

StatusOr<std::shared_ptr<const Parser>> MakeModelParser(const ParserSpec& own,
                                                        std::span<const InputSpec> inputs,
                                                        const DataOptions& options) {
  auto parser = MakeParser(FormatOf(own, inputs, options), inputs);
  if (!parser.ok()) return Annotate(parser.status(), "--format");
  return std::shared_ptr<const Parser>(*std::move(parser));
}

StatusOr<std::shared_ptr<const Parser>> MakeModelParser(const Model& model,
                                                        const DataOptions& options) {
  return MakeModelParser(model.format, model.graph.def().inputs, options);
}

Status CheckSameRows(const ParserSpec& trained, const ParserSpec& given,
                     std::span<const InputSpec> inputs) {
  if (!trained.pipe_command) return absl::OkStatus();
  FL_RETURN_IF_ERROR(CheckSamePipe(*trained.pipe_command, given.pipe_command.value_or("")));
  if (trained.format.empty()) return absl::OkStatus();
  if (trained.format != given.format) {
    return InvalidArgument(
        "the model was trained on rows of the format {}, --format is {}: leave it out, or add "
        "--ignore_format if the ids mean the same",
        trained.format, given.format);
  }
  const auto parser_then = MakeParser(trained, inputs), parser_now = MakeParser(given, inputs);
  if (parser_then.ok() && parser_now.ok() &&
      (*parser_then)->identity() == (*parser_now)->identity()) {
    return absl::OkStatus();
  }
  // Parameters that name files are replaced by the texts of the files, which can be compared.
  FL_ASSIGN_OR_RETURN(const std::string text, ParserSpecToJson(given));
  FL_ASSIGN_OR_RETURN(const ParserSpec now, ParserSpecFromJson(text));
  const ParserSpec then = WithDefaults(trained);
  std::map<std::string, std::string> names = then.params;
  names.insert(now.params.begin(), now.params.end());
  for (const auto& [name, value] : names) {
    const auto is = now.params.find(name), was = then.params.find(name);
    if (is != now.params.end() && was != then.params.end() && is->second == was->second) continue;
    return InvalidArgument(
        "the model was trained on {} rows with {} {}, here it is {}: give the same, or add "
        "--ignore_format if the ids mean the same",
        trained.format, name, ParamText(then.params, name), ParamText(now.params, name));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<std::string>> FindFiles(std::string_view flag,
                                             std::span<const std::string> paths,
                                             const DataOptions& options) {
  StatusOr<std::vector<std::string>> files = ExpandFiles(paths, options.schemes);
  if (!files.ok()) return Annotate(files.status(), std::string(flag));
  // A command may read what this program does not.
  if (!options.pipe_command.empty()) return files;
  for (const std::string& file : *files) {
    if (!IsParquet(file)) continue;
    return InvalidArgument(
        "{}: {}: a Parquet file, and rows are read from text: in Python, Dataset.from_arrow takes "
        "its rows (docs/python.md); or convert it to CSV",
        flag, file);
  }
  return files;
}

Status CheckNotRead(std::string_view flag, const std::string& output,
                    std::span<const std::string> files) {
  for (const std::string& file : files) {
    std::error_code error;
    if (!std::filesystem::equivalent(file, output, error) || error) continue;
    return InvalidArgument("{} {}: this file is read, give the output another name", flag, output);
  }
  return absl::OkStatus();
}

StatusOr<OpenedData> OpenData(const OpenDataOptions& what, const DataOptions& options,
                              std::shared_ptr<const Parser> parser, const Clock& clock,
                              const LogLine& log) {
  OpenedData data;
  LogFiles(what, log);
  const StreamOptions stream = StreamOf(what, options, log);
  if (options.in_memory) {
    FL_RETURN_IF_ERROR(LoadInMemory(what, stream, std::move(parser), clock, &data));
  } else {
    FL_ASSIGN_OR_RETURN(data.dataset, MakeStream(what.files, std::move(parser), stream));
  }
  return data;
}

GivenRows ViewsOf(LoadedRows* rows) {
  const auto view_of = [](InMemoryDataset* dataset) -> OpenRows {
    return [dataset](const BatchOptions& batch, const Interrupt*) { return dataset->View(batch); };
  };
  GivenRows given{.train = view_of(rows->train.get()),
                  .train_rows = rows->train->rows(),
                  .seconds = rows->seconds};
  if (rows->test != nullptr) given.test = view_of(rows->test.get());
  return given;
}

BatchOptions TrainBatches(const TrainOptions& options, int64_t batch_size) {
  const DataOptions& data = options.data;
  const int64_t whole = data.shuffle ? kWholeEpoch : 0;
  return {.batch_size = batch_size,
          .drop_last = data.drop_last,
          .shuffle_rows = data.in_memory ? whole : data.shuffle_rows,
          .seed = options.seed};
}

StatusOr<LoadedRows> LoadRows(const TrainOptions& options,
                              const std::shared_ptr<const Parser>& parser,
                              const Interrupt* interrupt, const Clock& clock, const LogLine& log) {
  LoadedRows rows;
  const auto load = [&](std::string_view flag, const std::vector<std::string>& paths,
                        double* seconds) -> StatusOr<std::unique_ptr<InMemoryDataset>> {
    OpenDataOptions what{.flag = flag, .threads = options.threads, .interrupt = interrupt};
    FL_ASSIGN_OR_RETURN(const auto files, FindFiles(flag, paths, options.data));
    what.files = WholeFiles(files);
    LogFiles(what, log);
    return LoadFiles(what, StreamOf(what, options.data, log), parser, clock, seconds);
  };
  FL_ASSIGN_OR_RETURN(rows.train, load("--data", options.data.train, &rows.seconds));
  if (options.data.test.empty()) return rows;
  double test_seconds = 0;
  FL_ASSIGN_OR_RETURN(rows.test, load("--test", options.data.test, &test_seconds));
  return rows;
}

}  // namespace flotilla
