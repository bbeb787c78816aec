// Decompression as a stream around a stream: gzip (.gz) and zstd (.zst), chosen by name.
#pragma once

#include <memory>
#include <string_view>

#include "flotilla/base/byte_stream.h"

namespace flotilla {

// Whether the name says that the bytes are compressed.
bool IsCompressed(std::string_view name);

// The text of `packed`, which is a gzip or zstd stream when `name` ends with .gz or .zst and is
// given back as it is otherwise. Members (gzip) or frames (zstd) one after another are one text. A
// damaged or truncated stream, and one without any bytes, is an error of Read that starts with
// `name`.
std::unique_ptr<ByteStream> Decompress(std::string_view name, std::unique_ptr<ByteStream> packed);

}  // namespace flotilla
