// Access to the parameters of the servers by name: implements ReadParameter, WriteParameter and
// WriteRows for all modes with servers.
#pragma once

#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

// Contracts: the methods of Communicator with these names. Thread-safe.
StatusOr<Tensor> ReadServerParameter(PsClient& client, const std::string& name);
Status WriteServerParameter(PsClient& client, const std::string& name,
                            std::span<const float> values);
Status WriteServerRows(PsClient& client, const std::string& table, const SparseRows& rows);

}  // namespace flotilla
