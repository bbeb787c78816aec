// What the trainers of a job do together beside training: wait for each other, add up figures, hand
// each other values. Behind an interface, so that one process is a group of one and nobody asks.
//
// Calls are collective: every trainer makes the same ones, with the same names, in the same order,
// and each returns when all have made it. A trainer that is waited for in vain, or lost, is an
// error that names it.
//
// Thread safety: one call at a time.
#pragma once

#include <memory>
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

  // The number of this trainer, in [0, trainers()).
  virtual int trainer() const = 0;
  virtual int trainers() const = 0;

  virtual Status Barrier(std::string_view name) = 0;
  // values[i] becomes the sum over the trainers: the same bits for all.
  // REQUIRES: as many values in every trainer.
  virtual Status Sum(std::string_view name, std::span<double> values) = 0;
  // What trainer 0, 1, .. gave.
  virtual StatusOr<std::vector<std::string>> Gather(std::string_view name,
                                                    std::string_view blob) = 0;
  // What trainer `root` gave; the others' blobs are ignored. REQUIRES: 0 <= root < trainers().
  virtual StatusOr<std::string> Broadcast(std::string_view name, std::string_view blob,
                                          int root) = 0;
  // Gives outgoing[t] to trainer t and returns what trainer 0, 1, .. gave to this one.
  // REQUIRES: outgoing.size() == trainers().
  virtual StatusOr<std::vector<std::string>> Exchange(std::string_view name,
                                                      std::vector<std::string> outgoing) = 0;
};

// The trainers of the client's job, through its servers. The client must outlive it.
std::unique_ptr<Group> MakeClientGroup(PsClient* client);

// One process: everything is done already.
std::unique_ptr<Group> MakeSoloGroup();

}  // namespace flotilla
