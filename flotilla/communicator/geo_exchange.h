// The exchange of GEO: what this trainer has learned since the last one goes to the servers, what
// the others have learned comes back, while the workers of this trainer go on.
//
// x is a parameter as this trainer has it (the tables of a LocalCommunicator), y what it knows of
// the servers' value, s the servers' value now. For what was touched here
//
//   delta = (x - y) / divisor;  y += delta;  the servers add delta
//
// and for what others have changed
//
//   x += s - y;  y = s
//
// so x - y is always what was learned here and is not at the servers yet. x changes under the
// exchange, element by element (Hogwild); nothing of it is lost but what falls into the same
// instant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/table/sparse_table.h"

namespace flotilla {

// Not thread-safe; runs beside pulls and pushes of the local communicator.
class GeoExchange {
 public:
  // `divisor` of gradients' parameters; statistics are averaged over the trainers in any case. The
  // client and the local communicator must outlive it; the latter has the client's model.
  static StatusOr<std::unique_ptr<GeoExchange>> Make(PsClient* client, LocalCommunicator* local,
                                                     double divisor);

  // Makes x and y what the servers have, for parameters that are not fresh any more: a model that
  // was loaded, a job that is under way. REQUIRES: nobody trains here.
  Status TakeAll();
  // Rows of y that are made from now on start as in the model with this seed.
  void SetSeed(uint64_t seed);

  // Sends what was learned here: all dense parameters and, of table t, the rows touched[t].
  // `batches` is how many batches it comes from.
  Status SendDeltas(std::vector<std::vector<uint64_t>> touched, int64_t batches);

  // Brings what others have sent since the last call.
  Status TakeDirty();

  // Sets parameters here and in the servers' image, as WriteRows and WriteParameter have set them
  // at the servers.
  Status WriteRows(int table, const SparseRows& rows);
  void WriteParameter(int parameter, std::span<const float> values);

 private:
  // What one push carries.
  struct Deltas {
    AlignedVector<float> dense;
    std::vector<SparseRows> sparse;
  };

  GeoExchange(PsClient* client, LocalCommunicator* local, double divisor);

  Status MakeDelta(int table, SparseRows* rows);
  void HogwildDenseDelta(AlignedVector<float>* delta);
  Status PushDeltas(std::shared_ptr<const Deltas> deltas, int64_t batches);
  Status TakeRows(int table, const SparseRows& fresh);
  void TakeDense(const DirtyValues& dirty);
  static void HogwildAdd(const SparseRows& difference, size_t first, std::span<float* const> rows);

  PsClient* const client_;
  LocalCommunicator* const local_;
  const float scale_;                                // 1 / divisor
  std::vector<std::unique_ptr<SparseTable>> known_;  // y of the tables, without optimizer state
  AlignedVector<float> known_dense_;                 // y of the dense block
  std::vector<float> difference_;
};

}  // namespace flotilla
