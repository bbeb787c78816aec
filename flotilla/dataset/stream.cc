#include "flotilla/dataset/stream.h"

#include <algorithm>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/cache_source.h"
#include "flotilla/dataset/file_list.h"

namespace flotilla {
namespace {

// The lines of some files, one after another: taking them costs little more than finding the line
// ends. A line that the parser rejects, or that is longer than the reader allows, is a bad row.
class TextSource : public RowSource {
 public:
  TextSource(std::vector<FileSlice> files, std::shared_ptr<const Parser> parser,
             const LineReaderOptions& options)
      : parser_(std::move(parser)),
        max_line_bytes_(options.max_line_bytes),
        header_lines_(options.header_lines),
        reader_(std::move(files), options),
        first_lines_(reader_.files().size()) {}

  Status Start(int64_t epoch) override { return Seek(epoch, {}); }

  Status Seek(int64_t /*epoch*/, const Place& place) override {
    const std::vector<FileSlice>& files = reader_.files();
    const bool standard_input = std::any_of(files.begin(), files.end(),
                                            [](const FileSlice& file) { return file.path == "-"; });
    if (standard_input && std::exchange(standard_input_used_, true)) {
      return FailedPrecondition(
          "-: standard input can be read only once; keep the rows in memory for more epochs");
    }
    return reader_.Seek({.file = place.file, .line = place.line, .offset = place.offset});
  }

  Place place() const override {
    const LinePosition position = reader_.position();
    return {.file = position.file, .line = position.line, .offset = position.offset};
  }

  NameRows name_rows() const override {
    return NamesInFiles(reader_.files(), {.first = 1 + header_lines_});
  }

  std::unique_ptr<RowChunk> MakeChunk() const override { return std::make_unique<Chunk>(); }

  StatusOr<Taken> Take(int64_t count, EpochLedger* /*ledger*/, RowChunk* chunk) override {
    static_cast<Chunk*>(chunk)->source = this;
    TextLines& lines = static_cast<Chunk*>(chunk)->lines;
    Taken taken{.begin = place()};
    FL_ASSIGN_OR_RETURN(taken.rows, reader_.Take(count, &lines));
    if (taken.rows == 0) return taken;
    const TextLines::Part& first = lines.parts.front();
    const TextLines::Part& last = lines.parts.back();
    taken.first = {first.file, first.line};
    taken.end = {last.file, reader_.position().line};
    if (reader_.position().file != last.file) {  // its last lines: at the end of the files
      const std::string_view rest = std::string_view(lines.text).substr(last.begin);
      taken.end.line = last.line + std::count(rest.begin(), rest.end(), '\n');
    }
    return taken;
  }

 private:
  // Where a line is.
  struct Line {
    size_t begin;  // in the text
    size_t bytes;  // without the line end
    int64_t number;
    int file;
    bool too_long;
  };

  struct Chunk : public RowChunk {
    Status AppendAll(EpochLedger* ledger, Batch* batch) override {
      FL_RETURN_IF_ERROR(Index());
      for (const Line& line : index) {
        FL_RETURN_IF_ERROR(source->Parse(line, lines.text, ledger, batch));
      }
      return absl::OkStatus();
    }
    Status Index() override {
      index.clear();
      LineCursor cursor(lines);
      for (std::string_view line; cursor.Next(&line);) {
        index.push_back({static_cast<size_t>(line.data() - lines.text.data()), line.size(),
                         cursor.line_number(), cursor.file(), cursor.too_long()});
      }
      return absl::OkStatus();
    }
    Status AppendRows(std::span<const uint32_t> rows, EpochLedger* ledger,
                      Batch* batch) const override {
      for (const uint32_t row : rows) {
        FL_RETURN_IF_ERROR(source->Parse(index[row], lines.text, ledger, batch));
      }
      return absl::OkStatus();
    }

    const TextSource* source = nullptr;  // that the lines come from
    TextLines lines;
    std::vector<Line> index;
  };

  Status Parse(const Line& line, std::string_view text, EpochLedger* ledger, Batch* batch) const {
    const Status status = line.too_long
                              ? LineTooLong(max_line_bytes_)
                              : parser_->Parse(text.substr(line.begin, line.bytes), batch);
    if (status.ok()) return status;
    return ledger->SkipBadRow(fmt::format("{}:{}:{}", reader_.files()[line.file].path,
                                          NumberInFile(line), Message(status)));
  }

  // The lines before a slice are counted only when one of its lines is bad.
  int64_t NumberInFile(const Line& line) const {
    const FileSlice& slice = reader_.files()[line.file];
    if (slice.begin == 0) return line.number;
    MutexLock lock(first_lines_mutex_);
    int64_t& first = first_lines_[line.file];
    // A file that cannot be read again has other errors; lines then count from the slice's first.
    if (first == 0) first = FirstLineOf(slice, header_lines_).value_or(header_lines_ + 1);
    return first + line.number - (header_lines_ + 1);
  }

  // Constant after construction, as are the reader's files.
  const std::shared_ptr<const Parser> parser_;
  const size_t max_line_bytes_;
  const int header_lines_;

  LineReader reader_;
  mutable Mutex first_lines_mutex_;
  // Per slice, the number of its first line in the file; 0: not known yet.
  mutable std::vector<int64_t> first_lines_ FL_GUARDED_BY(first_lines_mutex_);
  bool standard_input_used_ = false;
};

uint64_t IdentityOf(const std::vector<FileSlice>& files, const Parser& parser,
                    const StreamOptions& options, int readers) {
  if (files.empty()) return 0;
  SourceHash hash(options.cache.empty() ? "text" : "cache");
  for (const FileSlice& file : files) {
    hash.Add(file.path);
    if (file.whole()) continue;
    hash.Add(file.begin);
    hash.Add(file.end);
  }
  hash.Add(parser.identity());
  hash.Add(parser.inputs());
  hash.Add(options.reader.source.pipe_command);
  hash.Add(options.batch);
  if (options.cache.empty()) hash.Add(readers);
  return hash.value();
}

std::string Described(const std::vector<FileSlice>& files, const StreamOptions& options) {
  const std::string& command = options.reader.source.pipe_command;
  const std::string name = options.name.empty() ? "" : options.name + ", ";
  if (files.empty()) return name + "no files";
  return fmt::format("{}{} file(s), first {}{}", name, files.size(), ToString(files[0]),
                     command.empty() ? "" : fmt::format(" (through the command `{}`)", command));
}

}  // namespace

LineReaderOptions ReaderOptionsFor(const Parser& parser, LineReaderOptions options, LogLine log) {
  options.header_lines = parser.header_lines();
  options.check_header = [&parser, log](std::string_view line) {
    const Status status = parser.CheckHeader(line);
    const std::string note = parser.TakeNote();
    if (!note.empty() && log) log(note);
    return status;
  };
  options.log = std::move(log);
  return options;
}

StatusOr<std::unique_ptr<BatchedDataset>> MakeStream(std::vector<FileSlice> files,
                                                     std::shared_ptr<const Parser> parser,
                                                     const StreamOptions& options) {
  FL_RETURN_IF_ERROR(options.batch.Check());
  if (files.empty() && !options.batch.allow_empty)
    return InvalidArgument("dataset: no files given");
  if (options.readers < 1) {
    return InvalidArgument("dataset: readers {} is less than 1", options.readers);
  }
  const std::span<const InputSpec> inputs = parser->inputs();
  BatchedRows rows{.inputs = {inputs.begin(), inputs.end()},
                   .what = Described(files, options),
                   .max_bad_rows = options.max_bad_rows};
  const int readers = options.cache.empty() ? std::min<int>(options.readers, files.size()) : 1;
  const uint64_t identity = IdentityOf(files, *parser, options, readers);
  rows.identity = [identity] { return identity; };
  if (options.cache.empty()) {
    const LineReaderOptions reader = ReaderOptionsFor(*parser, options.reader, options.log);
    for (int r = 0; r < readers; ++r) {
      rows.readers.push_back(
          std::make_unique<TextSource>(SplitFiles(files, readers, r), parser, reader));
    }
  } else if (!files.empty()) {
    std::vector<std::string> paths;
    for (const FileSlice& file : files) {
      if (!file.whole()) {
        return InvalidArgument("dataset: a cache is of whole files, not of {}", ToString(file));
      }
      paths.push_back(file.path);
    }
    FL_ASSIGN_OR_RETURN(std::unique_ptr<CacheStore> store,
                        CacheStore::Make(std::move(paths), parser, options));
    rows.readers.push_back(MakeCacheSource(std::move(store), rows.inputs));
  }
  return std::make_unique<BatchedDataset>(std::move(rows), options.batch);
}

}  // namespace flotilla
