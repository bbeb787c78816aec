// The dense parameters of a model: one flat block of weights that steps read, and the state of the
// rules that update it.
//
// It is divided into pieces of at most kPieceFloats, each a range of one parameter with one rule
// and its state: whole rows of the parameter, or a part of one. Two pushes never work on the same
// piece at once: the second continues with another piece and comes back, so that workers do not
// contend for cache lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/optim/update_rule.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradient_source.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// A snapshot of all weights and state, for a save.
struct DenseCut {
  AlignedVector<float> weights;            // laid out by DenseTable::layout()
  std::vector<std::vector<float>> states;  // per parameter, as returned by DenseTable::State
};

// Thread safety: Push and Add may run in several threads, and concurrently with readers of data(),
// which then see some elements before and some after the update (Hogwild, a documented race in
// HogwildApply and HogwildAdd). Cut may run concurrently with them: every piece in it is a state
// between two updates. Everything else requires exclusive access to the table.
class DenseTable {
 public:
  // Creates all parameters of the spec with their initial values. Parameters are updated by the
  // spec's optimizer, statistics by their moving average; those that are not trainable or have no
  // gradient do not change. An error contains the parameter and the problem.
  static StatusOr<std::unique_ptr<DenseTable>> Make(const ModelSpec& spec);

  const DenseLayout& layout() const { return layout_; }
  // The weights, laid out by layout(). The address never changes.
  std::span<float> data() { return data_; }
  std::span<const float> data() const { return data_; }
  // The weights of one parameter, and a copy of its rule's state: arrays of the parameter's length,
  // one after the other; none if it is not trainable.
  std::span<float> weights(int parameter);
  std::vector<float> State(int parameter) const;
  // Number of arrays in that state.
  int states(int parameter) const;

  // A copy of the weights, and with `state` of the state.
  DenseCut Cut(bool state) const;

  // One update of all parameters. `rate` is that of the schedule; each parameter's factor is
  // applied here. Error when gradient.size() != layout().size(); nothing changes in that case.
  // REQUIRES: step >= 1.
  Status Push(std::span<const float> gradient, double rate, int64_t step);

  // Like Push for one parameter, piece by piece, up to the first that the source withholds; the
  // memory of each piece is passed to the source as `soon`.
  void PushParameter(int parameter, GradientSource gradient, double rate, int64_t step);

  // data()[begin + i] += delta[i] for trained parameters; no concurrent push is lost.
  // REQUIRES: 0 <= begin, begin + delta.size() <= layout().size().
  void Add(int64_t begin, std::span<const float> delta);

  // Sets new weights of a parameter and reinitialises its state.
  // REQUIRES: values.size() == layout().length(parameter).
  void Write(int parameter, std::span<const float> values);
  // Restores weights and state as returned by Cut; without state the same as Write.
  // REQUIRES: values as above; state.size() == states(parameter) * layout().length(parameter), or
  // 0.
  void Restore(int parameter, std::span<const float> values, std::span<const float> state);

 private:
  static constexpr int64_t kPieceFloats = 16384;

  struct Piece {
    int parameter = 0;
    int64_t begin = 0;  // offset in data_
    int64_t length = 0;
    int64_t state_begin = 0;  // offset in state_
    const UpdateRule* rule = nullptr;
    bool has_gradient = true;
    double rate_factor = 1;
    kernels::DecayTerms decay;
  };

  explicit DenseTable(const ModelSpec& spec);

  Status AddParameter(const ModelSpec& spec, int parameter);
  void AddPiece(Piece piece);
  // The index of the piece, of `count`, that a push should start with.
  size_t NextStart(size_t count);
  void HogwildApply(const Piece& piece, double rate, int64_t step, const float* gradient);
  void CopyState(const Piece& piece, std::vector<float>* state) const;
  static void HogwildAdd(std::span<const float> delta, float* weights);

  const DenseLayout layout_;
  std::unique_ptr<const UpdateRule> optimizer_;
  std::vector<std::unique_ptr<const UpdateRule>> averages_;
  std::vector<Piece> pieces_;        // of trained parameters, in the order of parameters
  std::vector<size_t> first_piece_;  // per parameter, and the end of the last one
  // One per piece: held by the writer of its weights and state.
  std::unique_ptr<Mutex[]> mutexes_;
  std::atomic<uint64_t> pushes_ = 0;  // started so far
  AlignedVector<float> data_;
  AlignedVector<float> state_;
};

}  // namespace flotilla
