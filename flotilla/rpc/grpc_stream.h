// Code shared by both ends of a gRPC connection: conversion between payloads and the messages of a
// stream, the settings of a connection, events of completion queues. Included only by
// grpc_transport.cc and grpc_listener.cc.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/payload.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace flotilla::grpc_stream {

// For objects that are passed to gRPC and come back in another thread. ThreadSanitizer cannot see
// this synchronization, because the library is built without it.
inline void HandOver([[maybe_unused]] void* what) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(what);
#endif
}
inline void TakeOver([[maybe_unused]] void* what) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(what);
#endif
}

inline constexpr char kMethod[] = "/flotilla.Ps/Call";
// Copying a slice of this size is cheaper than keeping its owner.
inline constexpr size_t kCopyBytes = 256;
// Flow control: bytes that a stream and a connection may have in flight.
inline constexpr int kWindowBytes = 64 << 20;

inline Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

inline grpc::Status ToGrpc(const Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(Message(status)));
}

// Uses the steady clock, so that changes of the wall clock have no effect.
inline gpr_timespec DeadlineIn(int64_t ms) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

// The settings of both ends of a connection. `set(name, value)` sets a gRPC channel argument.
template <typename Set>
void SetCommonArguments(const GrpcOptions& options, Set set) {
  set(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(options.keepalive_ms));
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(options.keepalive_timeout_ms));
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(4 * options.chunk_bytes + 64));
  set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1);
  // Large frames, large reads and no slow start of the window: loopback and data centres.
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE,
      static_cast<int>(std::clamp<size_t>(options.chunk_bytes, 16384, 16777215)));
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  set(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 4 << 20);
  set("grpc.experimental.tcp_read_chunk_size", 1 << 20);
  set("grpc.experimental.tcp_min_read_chunk_size", 256 << 10);
  set("grpc.experimental.tcp_max_read_chunk_size", 4 << 20);
}

// Bytes that gRPC refers to until it has sent them.
inline grpc::Slice ToGrpc(const ByteSlice& slice, size_t begin, size_t size) {
  if (size <= kCopyBytes) return grpc::Slice(slice.data + begin, size);
  auto* owner = new std::shared_ptr<const void>(slice.owner);
  HandOver(owner);
  const auto release = [](void* held) {
    TakeOver(held);
    delete static_cast<std::shared_ptr<const void>*>(held);
  };
  return grpc::Slice(const_cast<std::byte*>(slice.data + begin), size, release, owner);
}

// Splits a payload into the messages of a stream.
class ChunkWriter {
 public:
  ChunkWriter(Payload payload, size_t chunk_bytes)
      : payload_(std::move(payload)), chunk_bytes_(chunk_bytes) {}

  bool done() const { return started_ && left_ == 0; }

  grpc::ByteBuffer Next() {
    std::vector<grpc::Slice> slices;
    size_t room = chunk_bytes_;
    if (!started_) {
      started_ = true;
      left_ = payload_.size();
      const uint64_t total = left_;
      slices.emplace_back(&total, sizeof(total));
    }
    while (room > 0 && left_ > 0) {
      const ByteSlice& slice = payload_.slices()[slice_];
      const size_t size = std::min(room, slice.size - at_);
      slices.push_back(ToGrpc(slice, at_, size));
      room -= size;
      left_ -= size;
      at_ += size;
      if (at_ == slice.size) {
        ++slice_;
        at_ = 0;
      }
    }
    return grpc::ByteBuffer(slices.data(), slices.size());
  }

 private:
  const Payload payload_;
  const size_t chunk_bytes_;
  bool started_ = false;
  size_t slice_ = 0;
  size_t at_ = 0;  // in that slice
  size_t left_ = 0;
};

// Assembles a payload from the messages of a stream, without copying.
class ChunkReader {
 public:
  explicit ChunkReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  // An error if the message exceeds the announced size, or announces too much.
  Status Add(const grpc::ByteBuffer& message) {
    std::vector<grpc::Slice> slices;
    if (!message.Dump(&slices).ok()) return InvalidArgument("a message that cannot be read");
    for (grpc::Slice& slice : slices) {
      // The bytes of a small slice are inside the object itself, so take their address after the
      // move.
      auto owner = std::make_shared<const grpc::Slice>(std::move(slice));
      ByteSlice bytes{reinterpret_cast<const std::byte*>(owner->begin()), owner->size(), owner};
      TakeTotal(&bytes);
      if (total_bytes_ == sizeof(total_) && total_ > max_bytes_) {
        return ResourceExhausted("a message of {} bytes, at most {} are accepted", total_,
                                 max_bytes_);
      }
      payload_.Add(std::move(bytes));
    }
    if (total_bytes_ < sizeof(total_) || payload_.size() > total_) {
      return InvalidArgument("a stream of {} bytes that announced {}", payload_.size(), total_);
    }
    return absl::OkStatus();
  }

  bool done() const { return total_bytes_ == sizeof(total_) && payload_.size() == total_; }
  Payload TakePayload() { return std::move(payload_); }

 private:
  // The first bytes of a stream are the size of the payload.
  void TakeTotal(ByteSlice* bytes) {
    const size_t take = std::min(sizeof(total_) - total_bytes_, bytes->size);
    std::memcpy(reinterpret_cast<std::byte*>(&total_) + total_bytes_, bytes->data, take);
    total_bytes_ += take;
    bytes->data += take;
    bytes->size -= take;
  }

  const size_t max_bytes_;
  uint64_t total_ = 0;
  size_t total_bytes_ = 0;  // bytes of total_ itself that have arrived
  Payload payload_;
};

// The tag that a completion queue returns: a callback.
class Event {
 public:
  virtual ~Event() = default;
  virtual void Happened(bool ok) = 0;
};

// The tag of an operation that ends with this event.
inline void* TagOf(Event* event) {
  HandOver(event);
  return event;
}

// An event that is a member function of its owner.
template <typename Owner, void (Owner::*kMember)(bool)>
class MemberEvent : public Event {
 public:
  explicit MemberEvent(Owner* owner) : owner_(owner) {}
  void Happened(bool ok) override { (owner_->*kMember)(ok); }

 private:
  Owner* const owner_;
};

inline void RunEvents(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  for (bool ok = false; queue->Next(&tag, &ok);) {
    TakeOver(tag);
    static_cast<Event*>(tag)->Happened(ok);
  }
}

// Ok, or which option cannot be used.
inline Status CheckOptions(const GrpcOptions& options) {
  if (options.chunk_bytes < 1024 || options.chunk_bytes > size_t{256} << 20) {
    return InvalidArgument("chunk_bytes {} is not in [1 KB, 256 MB]", options.chunk_bytes);
  }
  return absl::OkStatus();
}

}  // namespace flotilla::grpc_stream
