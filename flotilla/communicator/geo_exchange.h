// The exchange of GEO: what this trainer has learned since the last one goes to the servers, what
// the others have learned comes back, while the workers of this trainer go on.
//
// x is a parameter as this trainer has it (the tables of a LocalCommunicator), y what it knows of
// the servers' value, s the servers' value now. For what others have changed
//
//   x += s - y;  y = s
//
// and then, for what was touched here
//
//   delta = (x - y) / divisor;  y += delta;  the servers add delta
//
// so x - y is always what was learned here and is not at the servers yet. With the divisor kTouched
// the rest of x - y is given up, so that dense parameters become the mean of what the trainers have
// learned. x changes under the exchange, element by element (Hogwild); nothing of it is lost
// but what falls into the same instant.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/reused.h"
#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/id_set.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/communicator/touched_rows.h"
#include "flotilla/table/sparse_table.h"

namespace flotilla {

// What a difference is divided by before it is sent.
enum class GeoDivisor {
  // By how many trainers change it. Dense parameters are averaged over the trainers with data:
  // their
  // sum overshoots. A row is divided by the root of the number of trainers that have touched it
  // since its last exchange: the mean learns too slowly, the sum overshoots when there are many
  // trainers. Only whether anybody else has is known; how many is estimated from how often this
  // trainer did.
  kTouched,
  kTrainers,  // the tutorials' rule: a row that one trainer alone touches learns at 1/N of its
              // speed
  kNone,      // what was learned here counts in full: steps of N trainers in one direction add up
};

// "touched", "trainers", "none".
const char* GeoDivisorName(GeoDivisor divisor);

// Not thread-safe; runs beside pulls and pushes of the local communicator.
class GeoExchange {
 public:
  // `divisor` of what has gradients; statistics are averaged over the trainers in any case. The
  // client and the local communicator must outlive it; the latter has the client's model. A part
  // of the rows is one push, of which `pushes` may be under way at once.
  static StatusOr<std::unique_ptr<GeoExchange>> Make(PsClient* client, LocalCommunicator* local,
                                                     GeoDivisor divisor, int pushes = 1);

  // How many trainers learn beside each other from now on, this one included or not; divisors
  // follow. All trainers of the job until then. REQUIRES: trainers >= 1.
  void SetTrainers(int trainers);

  // Makes x and y what the servers have, for parameters that are not fresh any more: a model that
  // was loaded, a job that is under way. REQUIRES: nobody trains here.
  Status TakeAll();
  // Rows of y that are made from now on start as in the model with this seed.
  void SetSeed(uint64_t seed);

  // Brings what others have sent since the last call.
  Status TakeDirty();

  // Sends what was learned here: all dense parameters and, of table t, the rows touched[t].
  // `batches` is how many batches it comes from. What others have changed is what TakeDirty brought
  // last.
  Status SendDeltas(const std::vector<TouchedIds>& touched, int64_t batches);

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

  GeoExchange(PsClient* client, LocalCommunicator* local, GeoDivisor divisor, int pushes);

  // The deltas of rows that were touched so often.
  Status MakeDelta(int table, std::span<const uint8_t> counts, SparseRows* rows);
  // 1 / divisor of a row that others have changed or not, and of a dense parameter.
  float RowScale(bool changed, uint8_t touches) const;
  float DenseScale(int parameter) const;
  void MakeDenseDelta(AlignedVector<float>* delta);
  void HogwildDenseDelta(DenseRange range, float scale, AlignedVector<float>* delta);
  std::unique_ptr<PendingCalls> StartPush(std::shared_ptr<const Deltas> deltas, int64_t batches);
  Status TakeRows(int table, const SparseRows& fresh);
  void TakeDense(DenseRange range, const float* fresh);
  // One row of x and y: makes its delta; takes over the servers' value.
  static void HogwildRowDelta(int64_t dim, float scale, bool gives_up, float* live, float* known,
                              float* delta);
  static void HogwildTake(int64_t dim, const float* fresh, float* live, float* known);

  PsClient* const client_;
  LocalCommunicator* const local_;
  const GeoDivisor divisor_;
  const int pushes_;
  int trainers_ = 1;                                 // that learn
  std::vector<std::unique_ptr<SparseTable>> known_;  // y of the tables, without optimizer state
  AlignedVector<float> known_dense_;                 // y of the dense block
  std::array<float, 256> row_scales_;                // of rows that others have changed, by touches
  Reused<Deltas> deltas_;
  DirtyValues dirty_;
  std::vector<IdSet> changed_rows_;  // per table, of what TakeDirty brought last
};

}  // namespace flotilla
