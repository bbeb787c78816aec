// Exchange of tensors between processes of one machine through shared memory (shared_area.h): a
// pair of wrappers around any transport and the service at its other end. Messages use the
// transport, but their large slices are references to shared memory.
//
// A trainer offers its area with the first request to each server. A server that cannot open it,
// because it runs elsewhere, says so, and from then on messages to it are not wrapped.
// docs/wire_protocol.md specifies the bytes.
#pragma once

#include <memory>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/shared_area.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct SharedMemoryOptions {
  // Size of the area of a process; the area of a server is shared by all trainers. Slices that do
  // not fit are sent through the transport. Pages are allocated as used.
  size_t area_bytes = size_t{256} << 20;
  // Slices of at least this size are shared: smaller ones are faster to copy than to share.
  size_t min_slice_bytes = size_t{16} << 10;
};

// The trainer side. Returns the transport itself if this machine has no shared memory.
std::unique_ptr<Transport> ShareMemory(std::unique_ptr<Transport> transport,
                                       const SharedMemoryOptions& options);

// The server side. Also serves trainers that do not share memory.
class SharedMemoryService : public Service {
 public:
  // REQUIRES: `service` outlives it.
  SharedMemoryService(Service* service, const SharedMemoryOptions& options);
  ~SharedMemoryService() override;

  void Handle(Payload request, ReplyCallback reply) override;

  // Number of trainers that share memory with this process, as far as known.
  int peers();

 private:
  struct Peer;

  // The peer that owns this area; registers it at its first request.
  StatusOr<std::shared_ptr<Peer>> PeerOf(const SharedName& name);
  // Forgets peers that have ended.
  void ForgetGone() FL_REQUIRES(mutex_);

  Service* const service_;
  const SharedMemoryOptions options_;
  const std::shared_ptr<SharedArea> area_;  // of all answers; null: there is no shared memory

  Mutex mutex_;
  std::vector<std::shared_ptr<Peer>> peers_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
