#include "flotilla/dataset/prepare/generate_files.h"

#include <algorithm>

#include "flotilla/base/mutex.h"
#include "flotilla/base/output_file.h"
#include "flotilla/base/parallel_for.h"
#include "flotilla/base/staged_dir.h"
#include "flotilla/dataset/prepare/part_writer.h"

namespace flotilla {
namespace {

constexpr size_t kBufferBytes = 1 << 18;

// Runs the command on one file.
StatusOr<Generated> RunOn(const std::string& file, const GenerateSink& sink,
                          const GenerateOptions& options) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenSource(file, options.source));
  Generated result{.files = 1};
  std::vector<char> buffer(kBufferBytes);
  char last = '\n';
  auto give = [&](std::string_view text) {
    const int64_t lines = std::count(text.begin(), text.end(), '\n');
    result.lines += lines;
    result.bytes += static_cast<int64_t>(text.size());
    if (options.on_lines) options.on_lines(lines);
    return sink(text);
  };
  while (true) {
    FL_ASSIGN_OR_RETURN(const size_t got, stream->Read(buffer));
    if (got == 0) break;
    last = buffer[got - 1];
    FL_RETURN_IF_ERROR(give({buffer.data(), got}));
  }
  if (last != '\n') FL_RETURN_IF_ERROR(give("\n"));
  if (result.bytes == 0 && options.log) {
    options.log(fmt::format("{}: command `{}` wrote nothing", file, options.source.pipe_command));
  }
  return result;
}

void Add(const Generated& other, Generated* result) {
  result->files += other.files;
  result->lines += other.lines;
  result->bytes += other.bytes;
}

Status CheckFiles(const std::vector<std::string>& files, const GenerateOptions& options) {
  if (files.empty()) return InvalidArgument("no files given");
  if (options.source.pipe_command.empty()) return InvalidArgument("no command given");
  if (options.threads < 1) return InvalidArgument("threads {} is below 1", options.threads);
  return absl::OkStatus();
}

StatusOr<Generated> NotNothing(const Generated& result, const GenerateOptions& options) {
  if (result.bytes > 0) return result;
  return InvalidArgument("command `{}` wrote nothing for any of {} file(s)",
                         options.source.pipe_command, result.files);
}

StatusOr<Generated> RunInto(const std::string& file, std::string path,
                            const GenerateOptions& options) {
  FL_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(std::move(path)));
  FL_ASSIGN_OR_RETURN(const Generated result,
                      RunOn(
                          file, [&](std::string_view text) { return out.Write(text); }, options));
  FL_RETURN_IF_ERROR(out.Finish());
  return result;
}

}  // namespace

StatusOr<Generated> GenerateStream(const std::vector<std::string>& files, const GenerateSink& sink,
                                   const GenerateOptions& options) {
  FL_RETURN_IF_ERROR(CheckFiles(files, options));
  Generated all;
  for (const std::string& file : files) {
    FL_ASSIGN_OR_RETURN(const Generated one, RunOn(file, sink, options));
    Add(one, &all);
  }
  return NotNothing(all, options);
}

StatusOr<Generated> GenerateFiles(const std::vector<std::string>& files,
                                  const std::string& directory, const GenerateOptions& options) {
  FL_RETURN_IF_ERROR(CheckFiles(files, options));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<StagedDir> staged, StagedDir::Make(directory));
  Mutex mutex;
  Generated all;  // guarded by mutex
  FL_RETURN_IF_ERROR(ParallelFor(options.threads, files.size(), [&](uint64_t i) -> Status {
    const std::string path = staged->path() + "/" + PartName(static_cast<int64_t>(i));
    FL_ASSIGN_OR_RETURN(const Generated one, RunInto(files[i], path, options));
    MutexLock lock(mutex);
    Add(one, &all);
    return absl::OkStatus();
  }));
  FL_ASSIGN_OR_RETURN(const Generated result, NotNothing(all, options));
  FL_RETURN_IF_ERROR(staged->Publish());
  return result;
}

}  // namespace flotilla
