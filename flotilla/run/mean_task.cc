#include "flotilla/run/mean_task.h"

#include <utility>

#include "flotilla/infer/model_sections.h"
#include "flotilla/run/run_state.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {
namespace {

// Rows that are copied together.
constexpr size_t kCopyTableRows = 4096;

Status CopyTable(const SparseTable& from, const std::string& to_name, Keeper* to) {
  SparseRows rows{.dim = from.spec().dim};
  Status status;
  const auto write = [&] {
    if (status.ok() && rows.size() > 0) status = to->WriteRows(to_name, rows);
    rows.ids.clear();
    rows.values.clear();
  };
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    from.ForEachRow(shard, RowOrder::kStorage, [&](const RowView& row) {
      rows.ids.push_back(row.id);
      rows.values.insert(rows.values.end(), row.weights.begin(), row.weights.end());
      if (rows.size() == kCopyTableRows) write();
    });
  }
  write();
  return status;
}

}  // namespace

Status CopyParameters(LocalCommunicator& from, const std::string& prefix, Keeper* to) {
  for (const ParameterSpec& spec : from.spec().parameters) {
    FL_ASSIGN_OR_RETURN(const Tensor tensor, from.ReadParameter(spec.name));
    FL_RETURN_IF_ERROR(to->WriteParameter(prefix + spec.name, tensor.data));
  }
  for (size_t t = 0; t < from.spec().tables.size(); ++t) {
    FL_RETURN_IF_ERROR(
        CopyTable(from.table(static_cast<int>(t)), prefix + from.spec().tables[t].name, to));
  }
  return absl::OkStatus();
}

MeanTask::MeanTask(TrainOptions options, Model mean, std::vector<MeanMember> members,
                   LoadedRows* rows)
    : options_(std::move(options)), mean_(std::move(mean)), rows_(*rows) {
  int64_t epochs = 0;
  for (MeanMember& member : members) {
    trainings_.push_back({.member = std::move(member), .first_epoch = epochs});
    epochs += trainings_.back().member.epochs;
  }
  FL_CHECK(epochs == options_.epochs);
  now_ = &trainings_.front();
}

MeanTask::~MeanTask() = default;

Status MeanTask::Start(const TaskRun* run) {
  run_ = run;
  const Clock* const clock = &run->terminal->clock;
  for (Training& training : trainings_) {
    const Model& model = training.member.model;
    FL_ASSIGN_OR_RETURN(
        training.parameters,
        LocalCommunicator::Make(SpecOf(model, options_.seed), {.joined = options_.deterministic}));
    TrainerOptions trainer{.workers = options_.threads, .seed = options_.seed};
    trainer.progress_batches = 1;
    trainer.on_progress = [this](Progress progress) {
      progress.epoch += now_->first_epoch;  // of the run
      run_->on_progress(progress);
    };
    trainer.max_bad_batches = options_.max_bad_batches;
    trainer.on_bad_batch = run->on_bad_batch;
    trainer.stop = run->stop;
    trainer.cancelled = run->cancelled;
    FL_ASSIGN_OR_RETURN(training.trainer, Trainer::Make(&model, training.parameters.get(), clock,
                                                        std::move(trainer)));
  }
  FL_ASSIGN_OR_RETURN(mean_trainer_, Trainer::Make(&mean_, run->job->communicator.get(), clock,
                                                   {.workers = options_.threads,
                                                    .seed = options_.seed,
                                                    .cancelled = run->cancelled}));
  return absl::OkStatus();
}

Status MeanTask::OpenData() {
  for (Training& training : trainings_) {
    FL_ASSIGN_OR_RETURN(training.dataset,
                        rows_.train->View(TrainBatches(options_, training.member.batch_size)));
  }
  if (rows_.test == nullptr) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(test_, rows_.test->View({.batch_size = options_.batch_size}));
  return absl::OkStatus();
}

StatusOr<Report> MeanTask::TrainEpoch(int64_t epoch,
                                      const std::optional<DatasetPosition>& /*position*/,
                                      const Report& /*before*/) {
  for (Training& training : trainings_) {
    if (epoch >= training.first_epoch) now_ = &training;
  }
  // The order of a member's rows is that of its own epochs, as when it is trained alone.
  FL_ASSIGN_OR_RETURN(Report report,
                      now_->trainer->TrainEpoch(*now_->dataset, epoch - now_->first_epoch));
  if (!report.stopped && epoch + 1 == options_.epochs) FL_RETURN_IF_ERROR(Combine());
  report.step = 0;
  for (const Training& training : trainings_) report.step += training.parameters->global_step();
  return report;
}

Status MeanTask::Combine() {
  LocalCommunicator* const to = run_->job->local;
  FL_CHECK(to != nullptr);
  int64_t steps = 0;
  for (const Training& training : trainings_) {
    FL_RETURN_IF_ERROR(CopyParameters(*training.parameters, training.member.scope, to));
    steps += training.parameters->global_step();
  }
  to->StartFrom(steps, options_.seed);
  complete_ = true;
  return absl::OkStatus();
}

StatusOr<Sections> MeanTask::sections() const {
  FL_ASSIGN_OR_RETURN(Sections sections,
                      ToSections(DescribeModel(mean_, FormatOf(mean_, options_.data))));
  if (!options_.model_name.empty()) sections[kModelNameSection] = options_.model_name;
  return sections;
}

}  // namespace flotilla
