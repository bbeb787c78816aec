#include "flotilla/trainer/skipgram_part.h"

#include <utility>

#include "flotilla/optim/schedule.h"
#include "flotilla/trainer/skipgram_block.h"

namespace flotilla {
namespace {

// Works on the rows in place.
class InPlacePart : public SkipgramPart {
 public:
  InPlacePart(const SkipgramParts& parts, int worker)
      : SkipgramPart(parts, worker), touched_(parts.communicator->spec().tables.size()) {}

  StatusOr<bool> Read(int reader) override { return Next(reader, &batch_); }
  Status Prepare() override {
    parts().sampler->Keep(*parts().epoch, batch_, &kept_);
    return absl::OkStatus();
  }
  Status StartPull() override { return absl::OkStatus(); }

  StatusOr<Gradients*> Compute() override {
    const SkipgramTables& names = parts().tables;
    TablesInPlace& tables = *parts().communicator->tables_in_place();
    FL_ASSIGN_OR_RETURN(TablesInPlace::Work work, tables.Begin(lane().worker));
    const double rate = work.rate * parts().ScheduleFactor();
    const WindowRows rows{.input = work.tables[names.input],
                          .output = work.tables[names.output],
                          .bias = names.bias < 0 ? RowBlock() : work.tables[names.bias],
                          .inputs = kept_.ids,
                          .targets = kept_.ids,
                          .rate = static_cast<float>(rate)};
    const bool wants_touched = tables.wants_touched();
    std::vector<uint32_t>& outputs = touched_[names.output];
    // Every word is an input of its neighbours' windows and the target of its own.
    if (wants_touched) touched_[names.input] = outputs = kept_.ids;
    windows().HogwildRun(kept_, rows, loss(), wants_touched ? &outputs : nullptr);
    if (wants_touched && names.bias >= 0) touched_[names.bias] = outputs;
    FL_RETURN_IF_ERROR(tables.End(lane().worker, std::move(work), touched_));
    Count(batch_, kept_, rate);
    return nullptr;
  }

 private:
  IdBatch batch_;
  KeptWords kept_;
  std::vector<std::vector<uint32_t>> touched_;  // by table
};

// Works on rows that are pulled.
class BlockPart : public SkipgramPart {
 public:
  BlockPart(const SkipgramParts& parts, int worker)
      : SkipgramPart(parts, worker),
        block_(&parts.communicator->spec(), parts.tables, parts.sampler) {}

  StatusOr<bool> Read(int reader) override { return Next(reader, &block_.batch()); }
  Status Prepare() override {
    lane().pull.reset();
    block_.Prepare(*parts().epoch);
    return absl::OkStatus();
  }
  Status StartPull() override {
    FL_ASSIGN_OR_RETURN(lane().pull, parts().communicator->StartPull(
                                         lane().worker, Missing::kCreate, block_.rows()));
    return absl::OkStatus();
  }

  StatusOr<Gradients*> Compute() override {
    if (!lane().pull) FL_RETURN_IF_ERROR(StartPull());
    FL_RETURN_IF_ERROR(std::exchange(lane().pull, std::nullopt)->Wait());
    const double server_rate = parts().communicator->learning_rate();
    const double rate = server_rate * parts().ScheduleFactor();
    windows().HogwildRun(block_.kept(), block_.Open(rate), loss(), nullptr);
    block_.TakeGradients(server_rate / parts().push_scale, &gradients_);
    Count(block_.batch(), block_.kept(), rate);
    return &gradients_;
  }

 private:
  SkipgramBlock block_;
  Gradients gradients_;
};

}  // namespace

double SkipgramParts::ScheduleFactor() const {
  return schedule ? LearningRate(*schedule, earlier_steps + communicator->global_step()) : 1;
}

SkipgramPart::SkipgramPart(const SkipgramParts& parts, int worker)
    : parts_(parts),
      lane_{.worker = worker, .communicator = parts.communicator, .clock = parts.clock},
      windows_(parts.sampler, parts.cbow, parts.tables.bias >= 0) {}

void SkipgramPart::Count(const IdBatch& batch, const KeptWords& kept, double rate) {
  counts_.words += batch.words;
  counts_.kept += static_cast<int64_t>(kept.size());
  ++counts_.batches;
  const WindowLoss& loss = counts_.loss;
  result_ = {.rows = batch.words,
             .loss = loss.pairs == 0 ? 0 : loss.loss / static_cast<double>(loss.pairs),
             .rate = rate};
}

StatusOr<bool> SkipgramPart::Next(int reader, IdBatch* batch) {
  const int64_t start = parts_.clock->NowNanos();
  StatusOr<bool> more = parts_.next(reader, batch);
  lane_.times.read += parts_.clock->NowNanos() - start;
  return more;
}

std::unique_ptr<SkipgramPart> MakeSkipgramPart(const SkipgramParts& parts, int worker) {
  if (parts.communicator->tables_in_place() != nullptr) {
    return std::make_unique<InPlacePart>(parts, worker);
  }
  return std::make_unique<BlockPart>(parts, worker);
}

}  // namespace flotilla
