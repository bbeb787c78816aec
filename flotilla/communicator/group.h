// Collective operations of the trainers of a job: barrier, sum, exchange of values. An interface,
// so that a single process is simply a group of one.
//
// Calls are collective: every trainer makes the same ones, with the same names, in the same order,
// and each returns when all have made it. If a trainer does not arrive or is lost, the error names
// it.
//
// Thread safety: one call at a time, unless said otherwise.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"

namespace flotilla {

class Group {
 public:
  virtual ~Group() = default;

  // The index of this trainer, in [0, trainers()).
  virtual int trainer() const = 0;
  virtual int trainers() const = 0;

  virtual Status Barrier(std::string_view name) = 0;
  // values[i] becomes the sum over the trainers: the same bits for all.
  // REQUIRES: the same number of values in every trainer.
  virtual Status Sum(std::string_view name, std::span<double> values) = 0;
  // Returns the blobs of trainer 0, 1, ..
  virtual StatusOr<std::vector<std::string>> Gather(std::string_view name,
                                                    std::string_view blob) = 0;
  // Returns the blob of trainer `root`; the blobs of the others are ignored. REQUIRES: 0 <= root <
  // trainers().
  virtual StatusOr<std::string> Broadcast(std::string_view name, std::string_view blob,
                                          int root) = 0;
  // Sends outgoing[t] to trainer t and returns the blobs that trainer 0, 1, .. sent to this one.
  // REQUIRES: outgoing.size() == trainers().
  virtual StatusOr<std::vector<std::string>> Exchange(std::string_view name,
                                                      std::vector<std::string> outgoing) = 0;

  // Makes the shares 0 .. count - 1 of an epoch's rows free to take, except for those that trainers
  // name as taken. REQUIRES: the same count in every trainer; no call of TakeShare is in progress.
  virtual Status DealShares(std::string_view name, int count, std::span<const int> taken) = 0;
  // Takes a share (base/share_pool.h); no value: none is free. Not collective; thread-safe, also
  // beside a collective call.
  virtual StatusOr<std::optional<int>> TakeShare(std::span<const int> wanted, bool any) = 0;
};

// The trainers of the client's job, through its servers. The client must outlive it.
std::unique_ptr<Group> MakeClientGroup(PsClient* client);

// A group of one process: all calls return at once.
std::unique_ptr<Group> MakeSoloGroup();

}  // namespace flotilla
