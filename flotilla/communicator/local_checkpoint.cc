// LocalCommunicator: saving and loading a model directory.
#include <algorithm>
#include <thread>
#include <utility>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/communicator/match_model.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {
namespace {

class LocalSave : public PendingSave {
 public:
  // Initially without tables: each is added when its cut has begun.
  LocalSave(const ModelSpec& spec, const DenseLayout& layout, CheckpointInfo info,
            std::vector<int> parameters, DenseCut dense, WriterOptions options)
      : spec_(spec),
        layout_(layout),
        info_(std::move(info)),
        parameters_(std::move(parameters)),
        dense_(std::move(dense)),
        options_(options) {}
  ~LocalSave() override {
    for (SparseTable* table : tables_) table->EndCut();
  }

  Status BeginCut(SparseTable* table) {
    FL_RETURN_IF_ERROR(Annotate(table->BeginCut(), "save"));
    tables_.push_back(table);
    return absl::OkStatus();
  }

  int64_t global_step() const override { return info_.step; }

  Status Write(const std::string& dir, const Sections& sections) override {
    return Annotate(WriteAll(dir, sections), fmt::format("save {}", dir));
  }

 private:
  Status WriteAll(const std::string& dir, const Sections& sections) {
    FL_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Begin(dir, options_));
    PartWriter part(writer->temporary(), "part-0", options_);
    FL_RETURN_IF_ERROR(
        part.WriteParameters(ValuesOf(spec_, layout_, parameters_, dense_.weights, dense_.states)));
    for (SparseTable* table : tables_) {
      FL_RETURN_IF_ERROR(WriteTable(*table, {}, info_.optimizer_state, &part));
    }
    CheckpointInfo info = info_;
    info.sections = sections;
    return writer->Commit(std::move(info), {&part.part(), 1});
  }

  const ModelSpec& spec_;
  const DenseLayout& layout_;
  const CheckpointInfo info_;
  const std::vector<int> parameters_;
  const DenseCut dense_;
  const WriterOptions options_;
  std::vector<SparseTable*> tables_;  // with a cut
};

}  // namespace

StatusOr<std::unique_ptr<PendingSave>> LocalCommunicator::BeginSave(const SaveContents& contents) {
  FL_ASSIGN_OR_RETURN(ChosenParameters chosen, ChooseParameters(spec(), contents));
  CheckpointInfo info{.step = global_step(),
                      .seed = spec().seed,
                      .optimizer_state = contents.optimizer_state,
                      .inference = !contents.optimizer_state,
                      .optimizer = spec().optimizer,
                      .sections = {}};
  auto save =
      std::make_unique<LocalSave>(spec(), layout(), std::move(info), std::move(chosen.parameters),
                                  dense_->Cut(contents.optimizer_state), options_.save);
  for (const int t : chosen.tables) FL_RETURN_IF_ERROR(save->BeginCut(tables_[t].get()));
  return save;
}

StatusOr<LoadedModel> LocalCommunicator::Load(const std::string& dir, const LoadOptions& options) {
  auto loaded = LoadFrom(dir, options);
  if (!loaded.ok()) return Annotate(loaded.status(), fmt::format("load {}", dir));
  return loaded;
}

StatusOr<LoadedModel> LocalCommunicator::LoadFrom(const std::string& dir,
                                                  const LoadOptions& options) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  FL_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(dir, {.threads = threads}));
  const CheckpointInfo& info = reader->manifest().info;
  FL_ASSIGN_OR_RETURN(const ModelMatch match, MatchModel(spec(), reader->manifest(), options));
  LoadTarget target{.tables = {},
                    .shards = {},
                    .dense = dense_.get(),
                    .slices = SlicesOf(layout(), {0, layout().size()}),
                    .interrupt = options.interrupt};
  for (const auto& table : tables_) target.tables.push_back(table.get());
  FL_RETURN_IF_ERROR(LoadModelParts(*reader, spec(), match.Parts(true), threads, target));
  set_seed(info.seed);
  for (const auto& table : tables_) table->SetSeed(info.seed);
  pushes_ = match.optimizer_state ? info.step : 0;
  CountFrom(pushes(), 1);
  return match.Loaded(info);
}

}  // namespace flotilla
