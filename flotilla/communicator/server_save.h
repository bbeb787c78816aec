// Saving and loading of a model whose parameters live on servers: each server writes and reads
// its own shards, in parallel, and the calling trainer commits the manifest; or, if they share no
// storage (PsClientOptions::shared_storage), that trainer writes and reads for all. Used by the
// modes with servers.
#pragma once

#include <memory>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/communicator.h"

namespace flotilla {

// Communicator::BeginSave through the servers.
// `has_state`: the servers keep the optimizer's state (not so in GEO). REQUIRES: client outlives
// the result; one trainer saves at a time.
StatusOr<std::unique_ptr<PendingSave>> BeginServerSave(PsClient* client,
                                                       const SaveContents& contents,
                                                       bool has_state);

// Communicator::Load through the servers. `has_state`: they keep the optimizer's state; if they do
// not, LoadOptions::optimizer_state decides whether the global step continues. REQUIRES: no trainer
// pulls or pushes meanwhile.
StatusOr<LoadedModel> LoadIntoServers(PsClient* client, const std::string& dir,
                                      const LoadOptions& options, bool has_state);

}  // namespace flotilla
