#include "flotilla/base/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace flotilla {
namespace {

// Buffer of compressed bytes that the decompressor has not consumed yet.
class PackedInput {
 public:
  PackedInput(std::string_view name, std::unique_ptr<ByteStream> packed)
      : name_(name), packed_(std::move(packed)), buffer_(128 << 10) {}

  const std::string& name() const { return name_; }
  // The bytes to decompress next; empty only before the first Fill and at the end of the stream.
  std::span<char> bytes() { return std::span(buffer_).subspan(begin_, end_ - begin_); }
  void Consume(size_t bytes) { begin_ += bytes; }
  // Whether the stream had any byte at all.
  bool seen_bytes() const { return seen_bytes_; }

  // REQUIRES: bytes() is empty.
  Status Fill() {
    FL_ASSIGN_OR_RETURN(end_, packed_->Read(buffer_));
    begin_ = 0;
    seen_bytes_ = seen_bytes_ || end_ > 0;
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const std::unique_ptr<ByteStream> packed_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool seen_bytes_ = false;
};

class GzipStream : public ByteStream {
 public:
  GzipStream(std::string_view name, std::unique_ptr<ByteStream> packed)
      : input_(name, std::move(packed)) {
    // 16: accept only a gzip header.
    usable_ = inflateInit2(&state_, MAX_WBITS + 16) == Z_OK;
  }
  ~GzipStream() override { inflateEnd(&state_); }

  const std::string& name() const override { return input_.name(); }

  StatusOr<size_t> Read(std::span<char> out) override {
    if (!usable_) return ResourceExhausted("{}: gzip: no memory", name());
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), 1 << 30));
    const size_t room = state_.avail_out;
    while (state_.avail_out == room) {
      if (input_.bytes().empty()) FL_RETURN_IF_ERROR(input_.Fill());
      const bool no_input = input_.bytes().empty();
      if (no_input && between_members_) return End();
      // Without input it returns the data that it buffered while the output was full.
      FL_RETURN_IF_ERROR(Inflate());
      if (no_input && !between_members_ && state_.avail_out == room) {
        return InvalidArgument("{}: truncated gzip stream", name());
      }
    }
    return room - state_.avail_out;
  }

 private:
  Status Inflate() {
    if (between_members_) inflateReset(&state_);
    const std::span<char> bytes = input_.bytes();
    state_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    state_.avail_in = static_cast<uInt>(bytes.size());
    const int result = inflate(&state_, Z_NO_FLUSH);
    input_.Consume(bytes.size() - state_.avail_in);
    between_members_ = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return absl::OkStatus();
    return InvalidArgument("{}: damaged gzip stream: {}", name(),
                           state_.msg != nullptr ? state_.msg : zError(result));
  }

  StatusOr<size_t> End() const {
    if (input_.seen_bytes()) return 0;
    return InvalidArgument("{}: empty, expected a gzip stream", name());
  }

  PackedInput input_;
  z_stream state_{};
  bool usable_ = false;
  bool between_members_ = true;  // the file may end only here
};

class ZstdStream : public ByteStream {
 public:
  ZstdStream(std::string_view name, std::unique_ptr<ByteStream> packed)
      : input_(name, std::move(packed)), context_(ZSTD_createDCtx()) {}
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }

  const std::string& name() const override { return input_.name(); }

  StatusOr<size_t> Read(std::span<char> out) override {
    if (context_ == nullptr) return ResourceExhausted("{}: zstd: no memory", input_.name());
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      if (input_.bytes().empty()) FL_RETURN_IF_ERROR(input_.Fill());
      const std::span<char> bytes = input_.bytes();
      if (bytes.empty() && frame_left_ == 0) {
        if (input_.seen_bytes()) return 0;
        return InvalidArgument("{}: empty, expected a zstd stream", input_.name());
      }
      ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
      // Without input it returns the data that it buffered while the output was full.
      frame_left_ = ZSTD_decompressStream(context_, &output, &input);
      if (ZSTD_isError(frame_left_)) {
        return InvalidArgument("{}: damaged zstd stream: {}", input_.name(),
                               ZSTD_getErrorName(frame_left_));
      }
      input_.Consume(input.pos);
      if (bytes.empty() && output.pos == 0) {
        return InvalidArgument("{}: truncated zstd stream", input_.name());
      }
    }
    return output.pos;
  }

 private:
  PackedInput input_;
  ZSTD_DCtx* const context_;
  // The last return value of the decompressor: 0 between frames, where the file may end.
  size_t frame_left_ = 0;
};

}  // namespace

bool IsCompressed(std::string_view name) { return name.ends_with(".gz") || name.ends_with(".zst"); }

std::unique_ptr<ByteStream> Decompress(std::string_view name, std::unique_ptr<ByteStream> packed) {
  if (name.ends_with(".gz")) return std::make_unique<GzipStream>(name, std::move(packed));
  if (name.ends_with(".zst")) return std::make_unique<ZstdStream>(name, std::move(packed));
  return packed;
}

}  // namespace flotilla
