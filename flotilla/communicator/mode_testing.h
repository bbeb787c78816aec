// Utilities for tests of the modes with servers: a model whose updates count, and pushes that are
// counted. A push of Count(..) adds 1 to every dense number and to every row that it names: SGD
// with rate 1 and gradients of -1, exact in float32.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/communicator/mode.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/testing/cluster_testing.h"
#include "flotilla/testing/in_process_cluster.h"

namespace flotilla {

// The dense block is more than one block of a server; everything starts at 0.
inline ModelSpec CountingSpec() {
  ModelSpec spec;
  spec.parameters.push_back({.name = "w", .shape = {5}});
  spec.parameters.push_back({.name = "v", .shape = {150, 200}});
  spec.tables.push_back({.name = "emb", .dim = 3});
  spec.tables.push_back({.name = "bias", .dim = 1});
  spec.optimizer = Sgd(1);
  return spec;
}

inline Gradients Count(const ModelSpec& spec, std::vector<uint64_t> ids) {
  Gradients gradients;
  gradients.dense.assign(static_cast<size_t>(DenseLayout(spec.parameters).size()), -1.0f);
  for (const TableSpec& table : spec.tables) {
    SparseRows& rows = gradients.sparse.emplace_back();
    rows.dim = table.dim;
    rows.ids = ids;
    rows.values.assign(ids.size() * static_cast<size_t>(table.dim), -1.0f);
  }
  gradients.rows = static_cast<int64_t>(ids.size());
  return gradients;
}

// Runs work(trainer, communicator) in every trainer of a job, each with a communicator of the mode.
inline Status RunModes(InProcessCluster& cluster, const ModeOptions& options,
                       const std::function<Status(int trainer, Communicator& communicator)>& work) {
  static const SteadyClock clock;
  return cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    FL_ASSIGN_OR_RETURN(auto made, MakeCommunicator(client.spec(), options, &client, &clock));
    return work(trainer, *made);
  });
}

}  // namespace flotilla
