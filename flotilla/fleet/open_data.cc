#include "flotilla/fleet/open_data.h"

#include <fmt/format.h>

#include <utility>

#include "flotilla/dataset/empty_dataset.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

LineReaderOptions ReaderOf(const DataOptions& options, const Interrupt* interrupt) {
  LineReaderOptions reader;
  reader.source.pipe_command = options.pipe_command;
  reader.source.idle_timeout_ms = options.pipe_timeout_seconds * 1000;
  reader.source.scheme_commands = options.schemes;
  reader.source.interrupt = interrupt;
  return reader;
}

Status LoadRows(const OpenDataOptions& what, const DataOptions& options,
                std::shared_ptr<const Parser> parser, const Clock& clock, const LogLine& log,
                OpenedData* data) {
  const int64_t start = clock.NowNanos();
  const InMemoryOptions in_memory{.batch_size = what.batch_size,
                                  .drop_last = what.for_training && options.drop_last,
                                  .shuffle = what.for_training && options.shuffle,
                                  .seed = what.seed,
                                  .may_be_empty = what.may_be_empty,
                                  .max_bad_rows = options.max_bad_rows,
                                  .threads = what.threads,
                                  .reader = ReaderOf(options, what.interrupt),
                                  .readers = options.readers,
                                  .cache = {.dir = options.cache, .threads = what.threads},
                                  .log = log};
  FL_ASSIGN_OR_RETURN(auto dataset,
                      InMemoryDataset::Load(what.files, std::move(parser), in_memory));
  data->load_seconds = static_cast<double>(clock.NowNanos() - start) * 1e-9;
  log(fmt::format("{}: read {} rows in {:.2f} s, {} bad rows skipped", what.flag,
                  dataset->rows().rows, data->load_seconds, dataset->skipped()));
  if (what.exchange != nullptr) {
    FL_RETURN_IF_ERROR(Annotate(dataset->GlobalShuffle(0, what.exchange), "--global_shuffle"));
    log(fmt::format("{}: {} rows after the global shuffle", what.flag, dataset->rows().rows));
  }
  data->rows = dataset->rows().rows;
  data->dataset = std::move(dataset);
  return absl::OkStatus();
}

Status OpenStream(const OpenDataOptions& what, const DataOptions& options,
                  std::shared_ptr<const Parser> parser, const LogLine& log, OpenedData* data) {
  const QueueDatasetOptions queue{.batch_size = what.batch_size,
                                  .drop_last = what.for_training && options.drop_last,
                                  .max_bad_rows = options.max_bad_rows,
                                  .reader = ReaderOf(options, what.interrupt),
                                  .shuffle_rows = what.for_training ? options.shuffle_rows : 0,
                                  .seed = what.seed,
                                  .readers = options.readers,
                                  .log = log};
  FL_ASSIGN_OR_RETURN(Stream stream, MakeStream(what.files, std::move(parser), queue,
                                                {.dir = options.cache, .threads = what.threads}));
  data->dataset = std::move(stream.dataset);
  return absl::OkStatus();
}

}  // namespace

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
  for (const auto& [key, value] : options.format.params) spec.params[key] = value;
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

StatusOr<std::vector<std::string>> FindFiles(std::string_view flag,
                                             std::span<const std::string> paths,
                                             const DataOptions& options) {
  StatusOr<std::vector<std::string>> files = ExpandFiles(paths, options.schemes);
  if (!files.ok()) return Annotate(files.status(), std::string(flag));
  return files;
}

StatusOr<OpenedData> OpenData(const OpenDataOptions& what, const DataOptions& options,
                              std::shared_ptr<const Parser> parser, const Clock& clock,
                              const LogLine& log) {
  OpenedData data;
  if (what.files.empty()) {
    log(fmt::format("{}: no file for this trainer: there are fewer files than trainers",
                    what.flag));
  } else {
    log(fmt::format("{}: {} {}, first {}", what.flag, what.files.size(),
                    what.files.size() == 1 ? "file" : "files", what.files[0]));
  }
  if (options.in_memory) {
    FL_RETURN_IF_ERROR(LoadRows(what, options, std::move(parser), clock, log, &data));
  } else if (what.files.empty()) {
    const std::span<const InputSpec> inputs = parser->inputs();
    data.dataset =
        std::make_unique<EmptyDataset>(std::vector<InputSpec>(inputs.begin(), inputs.end()));
  } else {
    FL_RETURN_IF_ERROR(OpenStream(what, options, std::move(parser), log, &data));
  }
  return data;
}

}  // namespace flotilla
