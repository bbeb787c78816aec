// Training modes: one record each. Other code reads the properties of a mode from its record and
// never compares names. docs/add_mode.md explains how to add a mode.
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

inline constexpr char kLocalMode[] = "local";  // default of a process without servers
inline constexpr char kJobMode[] = "async";    // default of a process in a job with servers

// The mode, and the options of all modes.
struct ModeOptions {
  std::string mode = kLocalMode;
  // Each mode reads only its own options.
  LocalOptions local;
  AsyncOptions async;
  GeoOptions geo;
};

struct Mode {
  std::string name;
  // False: parameters live in this process, and the members below have no meaning.
  bool has_servers = true;
  UpdatePolicy policy = UpdatePolicy::kOnArrival;
  // The same seed gives the same bits, for any number of servers.
  bool repeats = false;
  // Gradients go to servers, which run the optimizer and keep its state.
  bool sends_gradients = true;
  // Trainers run the optimizer on their own copy, keep its state, and exchange differences of
  // weights through servers (GeoOptions).
  bool exchanges = false;
  // A round of all trainers is one global step. False: every batch of every trainer is one.
  bool counts_rounds = false;
  // The workers of a trainer push their batches of a round together, as one step.
  bool joins_workers = false;
  // Gradients wait in a queue for threads that merge and send them (AsyncOptions).
  bool queues = false;
  // A background thread talks to servers, with a configurable number of pushes in flight.
  bool sends_in_background = false;

  StatusOr<std::unique_ptr<Communicator>> (*make)(const ModelSpec& spec, const ModeOptions& options,
                                                  PsClient* client, const Clock* clock) = nullptr;
};

std::span<const Mode> Modes();
// The names of all modes, or of those that have the trait: ModeNames(&Mode::queues).
std::vector<std::string> ModeNames(bool Mode::*trait = nullptr);

// Ok, or an error that suggests the nearest known name.
Status CheckMode(const std::string& name);
// REQUIRES: CheckMode(name).ok().
const Mode& GetMode(const std::string& name);

// `client` is null in local mode; in the others it is connected to its servers, whose policy is
// that of the mode, has the same model, and outlives the communicator, as does the clock. Errors:
// an unknown mode, invalid options or an invalid spec, a server that failed.
StatusOr<std::unique_ptr<Communicator>> MakeCommunicator(const ModelSpec& spec,
                                                         const ModeOptions& options,
                                                         PsClient* client, const Clock* clock);

}  // namespace flotilla
