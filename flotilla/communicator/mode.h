// Training modes: one record each. What others need to know of a mode they read off its record;
// nobody compares names. docs/add_mode.md tells how to add one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/async_communicator.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/geo_communicator.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/tensor/update_policy.h"

namespace flotilla {

inline constexpr char kLocalMode[] = "local";  // what a process does that has no servers
inline constexpr char kJobMode[] = "async";    // .. and one that has, where nothing else is said

// Which mode, and all that modes can be told.
struct ModeOptions {
  std::string mode = kLocalMode;
  // Each mode reads its own.
  LocalOptions local;
  AsyncOptions async;
  GeoOptions geo;
};

struct Mode {
  std::string name;
  // False: parameters live in this process, and what follows says nothing.
  bool has_servers = true;
  UpdatePolicy policy = UpdatePolicy::kOnArrival;
  // The same seed gives the same bits, for any number of servers.
  bool repeats = false;
  // Gradients go to servers, which run the optimizer and keep its state.
  bool sends_gradients = true;
  // Trainers run the optimizer on a copy of their own, keep its state, and exchange differences of
  // weights through servers (GeoOptions).
  bool exchanges = false;
  // A round of all trainers is one global step. False: every batch of every trainer is one.
  bool counts_rounds = false;
  // Gradients wait in a queue for threads that merge and send them (AsyncOptions).
  bool queues = false;
  // A thread of its own talks to servers, with so many pushes under way as it is told.
  bool sends_in_background = false;

  StatusOr<std::unique_ptr<Communicator>> (*make)(const ModelSpec& spec, const ModeOptions& options,
                                                  PsClient* client, const Clock* clock) = nullptr;
};

std::span<const Mode> Modes();
// The names of all modes, or of those that have the trait: ModeNames(&Mode::queues).
std::vector<std::string> ModeNames(bool Mode::*trait = nullptr);

// Ok, or an error with the name that was probably meant.
Status CheckMode(const std::string& name);
// REQUIRES: CheckMode(name).ok().
const Mode& GetMode(const std::string& name);

// `client` is null in local mode; in the others it has met its servers, whose policy is the mode's,
// has the same model, and outlives the communicator, as does the clock.
// Errors: an unknown mode, options or a spec that make no sense, a server that failed.
StatusOr<std::unique_ptr<Communicator>> MakeCommunicator(const ModelSpec& spec,
                                                         const ModeOptions& options,
                                                         PsClient* client, const Clock* clock);

}  // namespace flotilla
