// Training modes by name: the one place that knows them all.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/async_communicator.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/geo_communicator.h"
#include "flotilla/communicator/local_communicator.h"

namespace flotilla {

struct ModeOptions {
  // local, sync, half-async, async or geo.
  std::string mode = "local";
  // Each mode reads its own.
  LocalOptions local;
  AsyncOptions async;
  GeoOptions geo;
};

// The names of all modes.
std::span<const std::string> ModeNames();

// Ok, or an error with the name that was probably meant.
Status CheckMode(const std::string& mode);
// Whether the mode has servers. REQUIRES: CheckMode(mode).ok().
bool HasServers(const std::string& mode);

// `client` is null in local mode; in the others it has met its servers, whose policy is the mode's,
// has the same model, and outlives the communicator, as does the clock.
// Errors: an unknown mode, options or a spec that make no sense, a server that failed.
StatusOr<std::unique_ptr<Communicator>> MakeCommunicator(const ModelSpec& spec,
                                                         const ModeOptions& options,
                                                         PsClient* client, const Clock* clock);

}  // namespace flotilla
