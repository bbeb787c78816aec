#include "flotilla/fleet/slot_dataset.h"

#include <array>
#include <utility>

#include "flotilla/base/nearest_name.h"
#include "flotilla/dataset/stream.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/trainer/group_row_exchange.h"

namespace flotilla {

void SlotDataset::Close() {
  dataset_.reset();
  memory_ = nullptr;
}

void SlotDataset::set_use_var(std::span<const Var> vars) {
  std::vector<InputSpec> inputs;
  use_var_status_ = absl::OkStatus();
  for (const Var& var : vars) {
    if (!var.valid() || var.def().input < 0) {
      use_var_status_ = InvalidArgument("set_use_var: {} is not an input of a graph",
                                        var.valid() ? var.name() : "a value that failed to build");
      return;
    }
    inputs.push_back(var.graph()->inputs[var.def().input]);
  }
  Set(&inputs_, std::move(inputs));
}

void SlotDataset::set_pipe_command(std::string command) { Set(&pipe_command_, std::move(command)); }
void SlotDataset::set_batch_size(int64_t rows) { Set(&batch_size_, rows); }
void SlotDataset::set_thread(int threads) { Set(&threads_, threads); }
void SlotDataset::set_filelist(std::vector<std::string> files) {
  files_ = std::move(files);
  Close();  // even if the names are the same: the files may be new
}
void SlotDataset::set_format(ParserSpec format) { Set(&format_, std::move(format)); }
void SlotDataset::set_max_bad_rows(int64_t rows) { Set(&max_bad_rows_, rows); }
void SlotDataset::set_seed(uint64_t seed) { Set(&seed_, seed); }
void SlotDataset::set_interrupt(const Interrupt* interrupt) { Set(&interrupt_, interrupt); }

StatusOr<std::shared_ptr<const Parser>> SlotDataset::MakeSlotParser() const {
  if (inputs_.empty()) return FailedPrecondition("set_use_var was not called: no inputs");
  if (!files_) return FailedPrecondition("set_filelist was not called: no files");
  if (threads_ < 1) return InvalidArgument("set_thread: {} threads, must be at least 1", threads_);
  FL_ASSIGN_OR_RETURN(std::unique_ptr<Parser> parser, MakeParser(format_, inputs_));
  return std::shared_ptr<const Parser>(std::move(parser));
}

StreamOptions SlotDataset::ReadOptions() const {
  StreamOptions options{
      .batch = {.batch_size = batch_size_, .seed = seed_, .allow_empty = files_->empty()},
      .max_bad_rows = max_bad_rows_,
      .readers = pipe_command_.empty() ? 1 : threads_,
      .threads = threads_};
  options.reader.source.pipe_command = pipe_command_;
  options.reader.source.interrupt = interrupt_;
  return options;
}

StatusOr<InMemoryDataset*> SlotDataset::Memory(const char* method) {
  if (kind_ != Kind::kInMemory) {
    return FailedPrecondition("{} is for an InMemoryDataset; this is a QueueDataset", method);
  }
  FL_RETURN_IF_ERROR(open().status());
  return memory_;
}

Status SlotDataset::load_into_memory() { return Memory("load_into_memory").status(); }

Status SlotDataset::preload_into_memory() {
  if (kind_ != Kind::kInMemory) return Memory("preload_into_memory").status();
  FL_RETURN_IF_ERROR(use_var_status_);
  if (dataset_ != nullptr) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(auto parser, MakeSlotParser());
  FL_ASSIGN_OR_RETURN(auto dataset,
                      InMemoryDataset::Preload(*files_, std::move(parser), ReadOptions()));
  memory_ = dataset.get();
  dataset_ = std::move(dataset);
  return absl::OkStatus();
}

Status SlotDataset::wait_preload_done() {
  FL_ASSIGN_OR_RETURN(InMemoryDataset * memory, Memory("wait_preload_done"));
  return memory->WaitPreload();
}

Status SlotDataset::local_shuffle() {
  FL_ASSIGN_OR_RETURN(InMemoryDataset * memory, Memory("local_shuffle"));
  return memory->LocalShuffle(shuffles_++);
}

Status SlotDataset::global_shuffle(Fleet& fleet) {
  FL_ASSIGN_OR_RETURN(InMemoryDataset * memory, Memory("global_shuffle"));
  GroupRowExchange exchange(&fleet.group(), inputs_);
  return memory->GlobalShuffle(shuffles_++, &exchange);
}

Status SlotDataset::slots_shuffle(const std::vector<std::string>& slots) {
  FL_ASSIGN_OR_RETURN(InMemoryDataset * memory, Memory("slots_shuffle"));
  return memory->SlotsShuffle(slots, shuffles_++);
}

int64_t SlotDataset::get_memory_data_size() const {
  return memory_ == nullptr ? 0 : memory_->rows();
}

ParserSpec SlotDataset::row_format() const {
  ParserSpec format = format_;
  format.pipe_command = pipe_command_;
  return format;
}

StatusOr<Dataset*> SlotDataset::open() {
  FL_RETURN_IF_ERROR(use_var_status_);
  if (dataset_ != nullptr) return dataset_.get();
  FL_ASSIGN_OR_RETURN(auto parser, MakeSlotParser());
  if (kind_ == Kind::kInMemory) {
    FL_ASSIGN_OR_RETURN(auto dataset,
                        InMemoryDataset::Load(*files_, std::move(parser), ReadOptions()));
    memory_ = dataset.get();
    dataset_ = std::move(dataset);
    return dataset_.get();
  }
  FL_ASSIGN_OR_RETURN(dataset_, MakeStream(*files_, std::move(parser), ReadOptions()));
  return dataset_.get();
}

StatusOr<std::unique_ptr<SlotDataset>> DatasetFactory::create_dataset(
    const std::string& name) const {
  if (name == "QueueDataset") return std::make_unique<SlotDataset>(SlotDataset::Kind::kQueue);
  if (name == "InMemoryDataset") return std::make_unique<SlotDataset>(SlotDataset::Kind::kInMemory);
  const std::array<std::string, 2> known = {"QueueDataset", "InMemoryDataset"};
  return InvalidArgument("unknown dataset '{}'{}", name, DidYouMean(name, known));
}

}  // namespace flotilla
