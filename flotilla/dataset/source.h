// How the bytes of one name in a file list are reached: the file itself, standard input or a
// command for a remote path; decompressed; and passed through the user's pipe command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/dataset/file_list.h"

namespace flotilla {

// What some programs write in front of a text in UTF-8. It is no part of the first line.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct SourceOptions {
  // A shell command that turns each file (its standard input) into the lines that are parsed (its
  // standard output). Empty: the file is parsed as it is.
  std::string pipe_command;
  // A command that writes nothing for so long has hung, and that is an error.
  int64_t idle_timeout_ms = 60'000;
  SchemeCommands scheme_commands = {{"hdfs", "hadoop fs -cat"}};
  // Ends every wait for bytes, and reading soon, with its cause. Null: nothing does. Must outlive
  // what is opened.
  const Interrupt* interrupt = nullptr;
};

// .gz and .zst are decompressed before the pipe command. Errors of opening and of reading name the
// file, and the command if it is one's fault.
StatusOr<std::unique_ptr<ByteStream>> OpenSource(const std::string& name,
                                                 const SourceOptions& options);

}  // namespace flotilla
