// The exchange of GEO: sends the changes of this trainer since the last exchange to the servers and
// takes over the changes of the others, while the workers of this trainer continue.
//
// x is a parameter of this trainer (in the tables of a LocalCommunicator), y the last known value
// of the servers, s the current value of the servers. For parameters that others have changed
//
//   x += s - y;  y = s
//
// and then, for parameters that were touched here
//
//   delta = (x - y) / divisor;  y += delta;  the servers add delta
//
// so x - y is always the change made here that the servers do not have yet. With the divisor
// kTouched the rest of x - y is dropped, so that dense parameters become the mean over the
// trainers. Workers change x during the exchange, element by element (Hogwild); only updates of the
// same element at the same instant can be lost.
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

// The divisor of a difference before it is sent.
enum class GeoDivisor {
  // By the number of trainers that change it. Dense parameters are averaged over the trainers with
  // data: their sum overshoots. A row is divided by the square root of the number of trainers that
  // have touched it since its last exchange: the mean learns too slowly, the sum overshoots if
  // there
  // are many trainers. It is only known whether other trainers have touched it; their number is
  // estimated from how often this trainer did.
  kTouched,
  kTrainers,  // the tutorials' rule: a row that only one trainer touches learns at 1/N of its
              // speed
  kNone,      // differences count in full: steps of N trainers in one direction add up
};

// "touched", "trainers", "none".
const char* GeoDivisorName(GeoDivisor divisor);

// Not thread-safe; may run concurrently with pulls and pushes of the local communicator.
class GeoExchange {
 public:
  // `divisor` applies to parameters with gradients; statistics are always averaged over the
  // trainers. The client and the local communicator must outlive it; both have the same model. Rows
  // are sent in several pushes, of which up to `pushes` may be in flight.
  static StatusOr<std::unique_ptr<GeoExchange>> Make(PsClient* client, LocalCommunicator* local,
                                                     GeoDivisor divisor, int pushes = 1);

  // Sets the number of trainers that train from now on, whether or not this one is among them;
  // divisors follow. Until the first call: all trainers of the job. REQUIRES: trainers >= 1.
  void SetTrainers(int trainers);

  // Sets x and y to the values of the servers, for parameters that are not in their initial state:
  // a model was loaded, or the job is already running. REQUIRES: no worker trains in this process.
  Status TakeAll();
  // New rows of y start, from now on, as in the model with this seed.
  void SetSeed(uint64_t seed);

  // Takes over the changes that others have sent since the last call.
  Status TakeDirty();

  // Sends the changes of this trainer: all dense parameters and, for table t, the rows touched[t].
  // `batches` is the number of batches that made the changes. Rows that the last TakeDirty brought
  // count as changed by others.
  Status SendDeltas(const std::vector<TouchedIds>& touched, int64_t batches);

  // Sets parameters in x and y, as WriteRows and WriteParameter have set them at the servers.
  Status WriteRows(int table, const SparseRows& rows);
  void WriteParameter(int parameter, std::span<const float> values);

 private:
  // The content of one push.
  struct Deltas {
    AlignedVector<float> dense;
    std::vector<SparseRows> sparse;
  };

  GeoExchange(PsClient* client, LocalCommunicator* local, GeoDivisor divisor, int pushes);

  // Computes the deltas of rows, given how often each was touched.
  Status MakeDelta(int table, std::span<const uint8_t> counts, SparseRows* rows);
  // 1 / divisor, of a row (whether or not others have changed it) and of a dense parameter.
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
  int trainers_ = 1;                                 // number of trainers that train
  std::vector<std::unique_ptr<SparseTable>> known_;  // y of the tables, without optimizer state
  AlignedVector<float> known_dense_;                 // y of the dense block
  std::array<float, 256> row_scales_;                // of rows that others have changed, by touches
  Reused<Deltas> deltas_;
  DirtyValues dirty_;
  std::vector<IdSet> changed_rows_;  // per table, of what TakeDirty brought last
};

}  // namespace flotilla
