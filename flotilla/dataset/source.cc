#include "flotilla/dataset/source.h"

#include <utility>

#include "flotilla/base/decompress.h"
#include "flotilla/base/pipe_command.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

PipeCommandOptions CommandOptions(const SourceOptions& options) {
  return {.idle_timeout_ms = options.idle_timeout_ms, .interrupt = options.interrupt};
}

StatusOr<std::unique_ptr<ByteStream>> OpenBytes(const std::string& name,
                                                const SourceOptions& options) {
  const auto scheme = options.scheme_commands.find(SchemeOf(name));
  if (scheme == options.scheme_commands.end()) {
    return RawFile::Open(name, options.interrupt);
  }
  return PipeCommand::Start(scheme->second + " " + ShellQuoted(name), name, nullptr,
                            CommandOptions(options));
}

}  // namespace

StatusOr<std::unique_ptr<ByteStream>> OpenSource(const std::string& name,
                                                 const SourceOptions& options) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> bytes, OpenBytes(name, options));
  std::unique_ptr<ByteStream> text = Decompress(name, std::move(bytes));
  if (options.pipe_command.empty()) return text;
  return PipeCommand::Start(options.pipe_command, name, std::move(text), CommandOptions(options));
}

}  // namespace flotilla
