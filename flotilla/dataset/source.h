// Opens one entry of a file list as a byte stream: the file itself, standard input or a command for
// a remote path; decompressed; and passed through the user's pipe command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/dataset/file_list.h"

namespace flotilla {

// The byte-order mark that some programs write at the start of UTF-8 text. It is not part of the
// first line.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct SourceOptions {
  // A shell command that turns each file (its standard input) into the lines that are parsed (its
  // standard output). Empty: the file is parsed directly.
  std::string pipe_command;
  // A command that writes nothing for this long counts as hung, which is an error.
  int64_t idle_timeout_ms = 60'000;
  SchemeCommands scheme_commands = {{"hdfs", "hadoop fs -cat"}};
  // Ends every wait for bytes at once, and reading soon after, with its cause. Null: not
  // interruptible. Must outlive the opened stream.
  const Interrupt* interrupt = nullptr;
};

// .gz and .zst are decompressed before the pipe command. Errors of opening and reading name the
// file, and the command if a command caused them.
StatusOr<std::unique_ptr<ByteStream>> OpenSource(const std::string& name,
                                                 const SourceOptions& options);

}  // namespace flotilla
