#include "flotilla/rpc/shared_memory.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

namespace flotilla {
namespace {

// "FSHM"; no other message begins with it.
constexpr uint32_t kSharedMagic = 0x4d485346;
constexpr uint64_t kInline = ~uint64_t{0};  // the offset of bytes that follow in the message
constexpr uint32_t kMaxParts = 4096;
// Limit of one message. Parts may overlap, so the size of an area is not a bound.
constexpr uint64_t kMaxSharedBytes = uint64_t{1} << 30;

// The prefix of a message.
struct SharedPrefix {
  uint32_t magic = kSharedMagic;
  uint32_t share = 0;  // 1: the sender has read from the receiver's area, or could
  SharedName area;     // the sender's area
  uint32_t parts = 0;
  uint32_t unused = 0;
  // In requests: the trainer's calls to this server are numbered, and all below `ended` have ended:
  // parts of their answers that it has not claimed will never be claimed.
  uint64_t call = 0;
  uint64_t ended = 0;
};
static_assert(sizeof(SharedPrefix) == 48);

struct WirePart {
  uint64_t offset = kInline;
  uint64_t size = 0;
  uint32_t slot = 0;
  uint32_t generation = 0;
};
static_assert(sizeof(WirePart) == 24);

// Reads the slices of a payload from front to back, without copying them.
class SliceCutter {
 public:
  explicit SliceCutter(const Payload& payload) : payload_(payload), left_(payload.size()) {}

  size_t left() const { return left_; }
  // Moves the next bytes to `out`. Returns false if fewer are left.
  bool Cut(size_t size, Payload* out) {
    if (size > left_) return false;
    left_ -= size;
    while (size > 0) {
      const ByteSlice& slice = payload_.slices()[slice_];
      const size_t take = std::min(size, slice.size - at_);
      out->Add({slice.data + at_, take, slice.owner});
      size -= take;
      at_ += take;
      if (at_ < slice.size) continue;
      ++slice_;
      at_ = 0;
    }
    return true;
  }
  // Copies the next bytes. Returns false if fewer are left.
  bool Copy(void* to, size_t size) {
    Payload bytes;
    return Cut(size, &bytes) && PayloadReader(std::move(bytes)).Read(to, size);
  }

 private:
  const Payload& payload_;
  size_t slice_ = 0;
  size_t at_ = 0;  // in that slice
  size_t left_ = 0;
};

// If prefix.share, large slices are copied to the area as long as there is room, and recorded in
// *put. The prefix contains everything that the area and the parts do not.
Payload Wrap(SharedArea* area, uint64_t reader, const Payload& message, SharedPrefix prefix,
             const SharedMemoryOptions& options, std::vector<SharedPart>* put) {
  const bool share = prefix.share != 0;
  std::vector<WirePart> parts;
  Payload inline_bytes;
  for (const ByteSlice& slice : message.slices()) {
    std::optional<SharedPart> shared;
    if (share && slice.size >= options.min_slice_bytes && parts.size() < kMaxParts - 1) {
      shared = area->Put({slice.data, slice.size}, reader, prefix.call);
    }
    if (shared.has_value()) {
      put->push_back(*shared);
      parts.push_back({.offset = shared->offset,
                       .size = shared->size,
                       .slot = shared->slot,
                       .generation = shared->generation});
      continue;
    }
    if (parts.empty() || parts.back().offset != kInline) parts.push_back({});
    parts.back().size += slice.size;
    inline_bytes.Add(slice);
  }
  prefix.area = area->name();
  prefix.parts = static_cast<uint32_t>(parts.size());
  Payload wrapped;
  wrapped.AddCopy(&prefix, sizeof(prefix));
  wrapped.AddCopy(parts.data(), parts.size() * sizeof(WirePart));
  wrapped.Add(std::move(inline_bytes));
  return wrapped;
}

bool IsWrapped(const Payload& message) {
  uint32_t magic = 0;
  return SliceCutter(message).Copy(&magic, sizeof(magic)) && magic == kSharedMagic;
}

StatusOr<SharedPrefix> ReadPrefix(SliceCutter* bytes) {
  SharedPrefix prefix;
  if (!bytes->Copy(&prefix, sizeof(prefix)) || prefix.magic != kSharedMagic ||
      prefix.parts > kMaxParts) {
    return InvalidArgument("shared memory: a message of {} bytes without its beginning",
                           bytes->left());
  }
  return prefix;
}

// Decodes the data after the prefix. Every part of the area is released, even if one is invalid.
// `view` may be null if the message has no such part.
StatusOr<Payload> ReadParts(const SharedPrefix& prefix, SliceCutter* bytes, SharedView* view) {
  std::vector<WirePart> parts(prefix.parts);
  if (!bytes->Copy(parts.data(), parts.size() * sizeof(WirePart))) {
    return InvalidArgument("shared memory: a message of {} parts is cut off", prefix.parts);
  }
  Payload message;
  Status status;
  uint64_t shared = 0;
  for (const WirePart& part : parts) {
    if (part.offset == kInline) {
      if (!bytes->Cut(part.size, &message)) {
        status =
            InvalidArgument("shared memory: {} bytes announced, {} left", part.size, bytes->left());
      }
      continue;
    }
    if (view == nullptr) return InvalidArgument("shared memory: a part of an area that is closed");
    shared += std::min(part.size, kMaxSharedBytes);
    auto slice = view->Read({.offset = part.offset,
                             .size = part.size,
                             .slot = part.slot,
                             .generation = part.generation});
    if (slice.ok()) {
      message.Add(*std::move(slice));
    } else {
      status = slice.status();
    }
  }
  if (status.ok() && shared > kMaxSharedBytes) {
    status = ResourceExhausted("shared memory: a message of more than {} bytes", kMaxSharedBytes);
  }
  if (!status.ok()) return status;
  return message;
}

class SharingTransport : public Transport {
 public:
  SharingTransport(std::unique_ptr<Transport> transport, std::unique_ptr<SharedArea> area,
                   const SharedMemoryOptions& options)
      : transport_(std::move(transport)),
        area_(std::move(area)),
        options_(options),
        peers_(transport_->servers()) {}
  ~SharingTransport() override { Close(); }

  int servers() const override { return transport_->servers(); }
  const std::string& address(int server) const override { return transport_->address(server); }
  void Close() override { transport_->Close(); }

  void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) override {
    const Friendship now = peers_[server].friendship.load(std::memory_order_acquire);
    if (now == Friendship::kNone) {
      return transport_->Call(server, std::move(request), timeout_ms, std::move(done));
    }
    SharedPrefix prefix{.share = now == Friendship::kClose ? 1u : 0u};
    BeginCall(&peers_[server], &prefix);
    std::vector<SharedPart> put;
    Payload wrapped = Wrap(area_.get(), 0, request, prefix, options_, &put);
    transport_->Call(
        server, std::move(wrapped), timeout_ms,
        [this, server, request = std::move(request), timeout_ms, call = prefix.call,
         put = std::move(put), done = std::move(done)](StatusOr<Payload> reply) mutable {
          // The call has ended: a server that has not read its parts no longer needs them.
          for (const SharedPart& part : put) area_->TakeBack(part);
          Answered(server, call, std::move(request), timeout_ms, std::move(done), std::move(reply));
        });
  }

 private:
  enum class Friendship {
    kOffered,  // the server is unknown, or may have been replaced
    kClose,    // both have opened each other's area
    kNone,     // memory cannot be shared
  };
  struct Server {
    std::atomic<Friendship> friendship = Friendship::kOffered;
    Mutex mutex;
    SharedName area FL_GUARDED_BY(mutex);
    std::shared_ptr<SharedView> view FL_GUARDED_BY(mutex);  // of that area
    uint64_t next_call FL_GUARDED_BY(mutex) = 1;
    std::set<uint64_t> under_way FL_GUARDED_BY(mutex);  // calls
  };

  static void BeginCall(Server* peer, SharedPrefix* prefix) {
    MutexLock lock(peer->mutex);
    prefix->call = peer->next_call++;
    peer->under_way.insert(prefix->call);
    prefix->ended = *peer->under_way.begin();
  }
  static void EndCall(Server* peer, uint64_t call) {
    MutexLock lock(peer->mutex);
    peer->under_way.erase(call);
  }

  void Answered(int server, uint64_t call, Payload request, int64_t timeout_ms, ReplyCallback done,
                StatusOr<Payload> reply) {
    Server& peer = peers_[server];
    StatusOr<Payload> message = Read(server, reply);
    EndCall(&peer, call);
    // Rejected before the request was handled: send it again unchanged.
    if (absl::IsUnimplemented(reply.status())) {
      return transport_->Call(server, std::move(request), timeout_ms, std::move(done));
    }
    done(std::move(message));
  }

  // The content of an answer, or the error that it carries. Claims its parts.
  StatusOr<Payload> Read(int server, const StatusOr<Payload>& reply) {
    Server& peer = peers_[server];
    if (!reply.ok()) {
      const bool refused = absl::IsUnimplemented(reply.status());
      peer.friendship = refused ? Friendship::kNone : Friendship::kOffered;
      return reply;
    }
    if (!IsWrapped(*reply)) return reply;
    SliceCutter bytes(*reply);
    FL_ASSIGN_OR_RETURN(const SharedPrefix prefix, ReadPrefix(&bytes));
    const std::shared_ptr<SharedView> view = ViewOf(peer, prefix.area);
    // Answers to offers have no shared parts: the view is not needed for this one.
    peer.friendship = view != nullptr ? Friendship::kClose : Friendship::kNone;
    if (view == nullptr && prefix.share != 0) {
      return absl::UnavailableError(address(server) + ": its memory cannot be read any more");
    }
    return ReadParts(prefix, &bytes, view.get());
  }

  // Null if it cannot be opened.
  static std::shared_ptr<SharedView> ViewOf(Server& peer, const SharedName& area) {
    MutexLock lock(peer.mutex);
    if (peer.view != nullptr && peer.area == area) return peer.view;
    auto view = SharedView::Open(area);
    if (!view.ok()) return nullptr;
    peer.area = area;
    peer.view = *std::move(view);
    return peer.view;
  }

  const std::unique_ptr<Transport> transport_;
  const std::unique_ptr<SharedArea> area_;
  const SharedMemoryOptions options_;
  std::vector<Server> peers_;
};

}  // namespace

std::unique_ptr<Transport> ShareMemory(std::unique_ptr<Transport> transport,
                                       const SharedMemoryOptions& options) {
  auto area = SharedArea::Make(options.area_bytes);
  if (!area.ok()) return transport;
  return std::make_unique<SharingTransport>(std::move(transport), *std::move(area), options);
}

// A trainer's area.
struct SharedMemoryService::Peer {
  SharedName name;
  std::shared_ptr<SharedView> view;
  std::atomic<uint64_t> ended = 0;  // calls below it have ended
};

SharedMemoryService::SharedMemoryService(Service* service, const SharedMemoryOptions& options)
    : service_(service),
      options_(options),
      area_(SharedArea::Make(options.area_bytes).value_or(nullptr)) {}

SharedMemoryService::~SharedMemoryService() = default;

int SharedMemoryService::peers() {
  MutexLock lock(mutex_);
  return static_cast<int>(peers_.size());
}

StatusOr<std::shared_ptr<SharedMemoryService::Peer>> SharedMemoryService::PeerOf(
    const SharedName& name) {
  MutexLock lock(mutex_);
  for (const std::shared_ptr<Peer>& peer : peers_) {
    if (peer->name == name) return peer;
  }
  if (area_ == nullptr) return absl::UnavailableError("shared memory: none here");
  auto peer = std::make_shared<Peer>();
  peer->name = name;
  FL_ASSIGN_OR_RETURN(peer->view, SharedView::Open(name));
  ForgetGone();  // the new peer may replace one that has ended
  peers_.push_back(peer);
  return peer;
}

void SharedMemoryService::ForgetGone() {
  std::erase_if(peers_, [this](const std::shared_ptr<Peer>& peer) {
    if (!absl::IsNotFound(SharedView::Open(peer->name).status())) return false;
    // A process that only closed its area may still read answers, and releases them itself.
    const bool ended = kill(static_cast<pid_t>(peer->name.process), 0) != 0 && errno == ESRCH;
    if (ended) area_->Forget(peer->name.token);
    return true;
  });
}

void SharedMemoryService::Handle(Payload request, ReplyCallback reply) {
  if (!IsWrapped(request)) return service_->Handle(std::move(request), std::move(reply));
  SliceCutter bytes(request);
  const StatusOr<SharedPrefix> prefix = ReadPrefix(&bytes);
  if (!prefix.ok()) return reply(prefix.status());
  const StatusOr<std::shared_ptr<Peer>> peer = PeerOf(prefix->area);
  if (!peer.ok()) return reply(absl::UnimplementedError(std::string(Message(peer.status()))));
  // Lost answers: they will never be read.
  if ((*peer)->ended.exchange(prefix->ended) < prefix->ended) {
    area_->TakeBack(prefix->area.token, prefix->ended);
  }
  StatusOr<Payload> message = ReadParts(*prefix, &bytes, (*peer)->view.get());
  if (!message.ok()) return reply(message.status());
  service_->Handle(*std::move(message),
                   [area = area_, reader = prefix->area.token,
                    head = SharedPrefix{.share = prefix->share, .call = prefix->call},
                    options = options_, reply = std::move(reply)](StatusOr<Payload> answer) {
                     if (!answer.ok()) return reply(std::move(answer));
                     std::vector<SharedPart> put;
                     reply(Wrap(area.get(), reader, *answer, head, options, &put));
                   });
}

}  // namespace flotilla
