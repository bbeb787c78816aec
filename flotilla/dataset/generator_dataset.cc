#include "flotilla/dataset/generator_dataset.h"

#include <algorithm>
#include <utility>

#include "flotilla/dataset/batched_dataset.h"
#include "flotilla/dataset/prefetch_dataset.h"

namespace flotilla {
namespace {

class GeneratorSource : public RowSource {
 public:
  GeneratorSource(std::vector<InputSpec> inputs, MakeRowGenerator make, const Interrupt* interrupt)
      : inputs_(std::move(inputs)), make_generator_(std::move(make)), interrupt_(interrupt) {}

  Status Start(int64_t epoch) override {
    StatusOr<RowGenerator> generator = make_generator_(epoch);
    if (!generator.ok()) return Annotate(generator.status(), "generator");
    generator_ = *std::move(generator);
    pending_.fields.resize(inputs_.size());
    pending_.Clear();
    pending_begin_ = row_ = 0;
    ended_ = false;
    error_ = absl::OkStatus();
    return absl::OkStatus();
  }

  Status Seek(int64_t epoch, const Place& place) override {
    FL_RETURN_IF_ERROR(Start(epoch));
    while (row_ < place.line) {
      FL_RETURN_IF_ERROR(Generate());
      if (ended_) {
        return FailedPrecondition("the generator produced {} rows, cannot resume after {}", row_,
                                  place.line);
      }
      const int64_t skipped = std::min(place.line - row_, pending_.rows);
      pending_begin_ += skipped;
      row_ += skipped;
    }
    return absl::OkStatus();
  }

  Place place() const override { return {.line = row_}; }

  std::unique_ptr<RowChunk> MakeChunk() const override {
    return std::make_unique<PackedChunk>(inputs_);
  }

  StatusOr<Taken> Take(int64_t count, EpochLedger* /*ledger*/, RowChunk* chunk) override {
    PackedRows& rows = static_cast<PackedChunk*>(chunk)->rows;
    rows.Clear();
    while (true) {
      const int64_t end = std::min(pending_begin_ + count - rows.rows(), pending_.rows);
      FL_RETURN_IF_ERROR(rows.Add(pending_, pending_begin_, end));
      pending_begin_ = end;
      if (rows.rows() == count || ended_) break;
      FL_RETURN_IF_ERROR(Generate());
    }
    const Taken taken{rows.rows(), place()};
    row_ += taken.rows;
    return taken;
  }

 private:
  // Replaces the pending rows with the next ones, or sets ended_. After an error there are none,
  // and other workers get the same error: the generator is not called again.
  Status Generate() {
    if (error_.ok()) error_ = GenerateOnce();
    if (!error_.ok()) pending_.Clear();
    return error_;
  }

  Status GenerateOnce() {
    pending_.Clear();
    pending_begin_ = 0;
    if (interrupt_ != nullptr) FL_RETURN_IF_ERROR(interrupt_->status());
    const StatusOr<bool> more = generator_(&pending_);
    if (!more.ok()) return Annotate(more.status(), "generator");
    ended_ = !*more;
    if (ended_) pending_.Clear();
    FL_RETURN_IF_ERROR(Annotate(pending_.Check(inputs_), "generator"));
    if (*more && pending_.rows == 0) {
      return InvalidArgument("generator: returned true but added no rows");
    }
    return absl::OkStatus();
  }

  const std::vector<InputSpec> inputs_;
  const MakeRowGenerator make_generator_;
  const Interrupt* const interrupt_;

  RowGenerator generator_;
  // Generated rows that were not taken yet: from pending_begin_ on.
  Batch pending_;
  int64_t pending_begin_ = 0;
  int64_t row_ = 0;  // rows that were taken or skipped
  bool ended_ = false;
  Status error_;  // the first of this epoch
};

}  // namespace

StatusOr<std::unique_ptr<Dataset>> MakeGeneratorDataset(std::vector<InputSpec> inputs,
                                                        MakeRowGenerator make_generator,
                                                        const GeneratorOptions& options) {
  FL_RETURN_IF_ERROR(options.batch.Check());
  SourceHash hash("generator");
  hash.Add(inputs);
  hash.Add(options.batch);
  BatchedRows rows{.inputs = inputs,
                   .identity = [source = hash.value()] { return source; },
                   .what = "the output of the generator",
                   .places_are_rows = true};
  rows.readers.push_back(std::make_unique<GeneratorSource>(
      std::move(inputs), std::move(make_generator), options.interrupt));
  auto dataset = std::make_unique<BatchedDataset>(std::move(rows), options.batch);
  if (options.prefetch_batches == 0) return dataset;
  return PrefetchDataset::Make(std::move(dataset), options.prefetch_batches, options.interrupt);
}

}  // namespace flotilla
