// Decompression as a stream that wraps another stream: gzip (.gz) and zstd (.zst), chosen by file
// name extension.
#pragma once

#include <memory>
#include <string_view>

#include "flotilla/base/byte_stream.h"

namespace flotilla {

// Whether the extension of `name` marks a compressed file.
bool IsCompressed(std::string_view name);

// Returns the decompressed content of `packed`, which is a gzip or zstd stream when `name` ends
// with .gz or .zst; otherwise returns `packed` unchanged. Concatenated members (gzip) or frames
// (zstd) are read as one text. For a damaged, truncated or empty compressed stream Read returns an
// error that starts with `name`.
std::unique_ptr<ByteStream> Decompress(std::string_view name, std::unique_ptr<ByteStream> packed);

}  // namespace flotilla
