// The client side of saving and loading.
#include <algorithm>
#include <utility>

#include "flotilla/client/ps_client.h"
#include "flotilla/rpc/codec.h"

namespace flotilla {

namespace {

// No update rule keeps more arrays of state.
constexpr int64_t kMaxStates = 16;
// Rows of a table at a server: numbers of rows have 32 bits.
constexpr uint64_t kMaxTableRows = uint64_t{1} << 32;

}  // namespace

StatusOr<SavedDense> PsClient::BeginSave(std::span<const int> tables, bool optimizer_state) {
  wire::RequestHead head = MakeHead(wire::METHOD_SAVE);
  wire::SaveRequest& request = *head.mutable_save();
  request.set_phase(wire::SAVE_BEGIN);
  request.set_optimizer_state(optimizer_state);
  for (const int table : tables) request.add_tables(static_cast<uint32_t>(table));
  SavedDense saved{.step = INT64_MAX};
  saved.weights.resize(static_cast<size_t>(layout_.size()));
  saved.states.resize(static_cast<size_t>(layout_.parameters()));
  std::vector<size_t> state_floats(saved.states.size());
  std::vector<ServerCall> calls = CallsToAll(head);
  for (ServerCall& call : calls) {
    call.take = [&, server = call.server](ResponseMessage& response) {
      return TakeSavedDense(server, response, &saved, &state_floats);
    };
  }
  FL_RETURN_IF_ERROR(calls_.Run("begin save", std::move(calls)));
  for (size_t p = 0; p < state_floats.size(); ++p) {
    if (state_floats[p] == saved.states[p].size()) continue;
    return InvalidArgument(
        "begin save: parameter {}: some servers have state of it, some have none",
        spec_.parameters[p].name);
  }
  return saved;
}

Status PsClient::TakeSavedDense(int server, ResponseMessage& response, SavedDense* saved,
                                std::vector<size_t>* state_floats) const {
  const DenseRange range = DenseRangeOf(layout_.size(), server, servers());
  FL_ASSIGN_OR_RETURN(const int64_t step, StepOf(response.head.save().global_step()));
  saved->step = std::min(saved->step, step);
  FL_RETURN_IF_ERROR(
      response.tensors.Read(std::span<float>(saved->weights).subspan(range.begin, range.size())));
  for (const DenseSlice& slice : SlicesOf(layout_, range)) {
    std::vector<float> part;
    FL_RETURN_IF_ERROR(response.tensors.ReadAll(&part));
    std::vector<float>& state = saved->states[slice.parameter];
    const int64_t length = layout_.length(slice.parameter);
    const auto arrays = static_cast<int64_t>(part.size()) / slice.length;
    if (part.size() % slice.length != 0 || arrays > kMaxStates ||
        (!state.empty() && static_cast<int64_t>(state.size()) != arrays * length)) {
      return InvalidArgument("parameter {}: {} floats of state for {} weights",
                             spec_.parameters[slice.parameter].name, part.size(), slice.length);
    }
    (*state_floats)[slice.parameter] += part.size();
    state.resize(static_cast<size_t>(arrays * length));
    for (int64_t a = 0; a < arrays; ++a) {
      std::copy_n(part.begin() + a * slice.length, slice.length,
                  state.begin() + a * length + slice.begin);
    }
  }
  return response.tensors.Finish();
}

StatusOr<std::vector<std::string>> PsClient::WriteSave(const std::string& directory) {
  wire::RequestHead head = MakeHead(wire::METHOD_SAVE);
  head.mutable_save()->set_phase(wire::SAVE_WRITE);
  head.mutable_save()->set_directory(directory);
  std::vector<std::string> parts(static_cast<size_t>(servers()));
  std::vector<ServerCall> calls = CallsToAll(head);
  for (ServerCall& call : calls) {
    call.take = [&part = parts[call.server]](ResponseMessage& response) {
      part = response.head.save().part();
      return absl::OkStatus();
    };
  }
  FL_RETURN_IF_ERROR(calls_.Run("write save", std::move(calls)));
  return parts;
}

StatusOr<SavedCounts> PsClient::CountSave(int server, int table) {
  wire::RequestHead head = MakeHead(wire::METHOD_SAVE);
  head.mutable_save()->set_phase(wire::SAVE_COUNT);
  head.mutable_save()->set_table(static_cast<uint32_t>(table));
  SavedCounts counts;
  ServerCall call = OneCall(server, std::move(head), {});
  const int shards = ShardsOf(server, servers()).count;
  call.take = [&counts, shards](ResponseMessage& response) -> Status {
    std::vector<uint64_t> rows(static_cast<size_t>(shards));
    FL_RETURN_IF_ERROR(response.tensors.Read(std::span(rows)));
    uint64_t all = 0;
    for (const uint64_t count : rows) all += std::min(count, kMaxTableRows);
    if (all > kMaxTableRows || response.head.save().states() > kMaxStates) {
      return InvalidArgument("{} rows or more with {} arrays of state in {} shards", all,
                             response.head.save().states(), shards);
    }
    counts = {.shard_rows = {rows.begin(), rows.end()},
              .states = static_cast<int>(response.head.save().states()),
              .meta = response.head.save().meta()};
    return response.tensors.Finish();
  };
  FL_RETURN_IF_ERROR(calls_.Run("count save", {call}));
  return counts;
}

StatusOr<int> PsClient::ReadSave(int server, int table, int first_shard, StoredRows* rows) {
  wire::RequestHead head = MakeHead(wire::METHOD_SAVE);
  wire::SaveRequest& request = *head.mutable_save();
  request.set_phase(wire::SAVE_READ);
  request.set_table(static_cast<uint32_t>(table));
  request.set_first_shard(static_cast<uint32_t>(first_shard));
  request.set_max_rows(options_.stored_rows);
  int next = 0;
  ServerCall call = OneCall(server, std::move(head), {});
  call.take = [&](ResponseMessage& response) {
    next = static_cast<int>(response.head.save().next_shard());
    return ReadStoredRows(spec_.tables[table].dim, &response.tensors, rows);
  };
  FL_RETURN_IF_ERROR(calls_.Run("read save", {call}));
  const int end = ShardsOf(server, servers()).end();
  if (next <= first_shard || next > end) {
    return InvalidArgument("read save: server {} read shards [{}, {}), it has those below {}",
                           server, first_shard, next, end);
  }
  return next;
}

Status PsClient::EndSave() {
  wire::RequestHead head = MakeHead(wire::METHOD_SAVE);
  head.mutable_save()->set_phase(wire::SAVE_END);
  return calls_.Run("end save", CallsToAll(head));
}

Status PsClient::Load(const std::string& directory, const LoadParts& parts) {
  wire::RequestHead head = MakeHead(wire::METHOD_LOAD);
  wire::LoadRequest& request = *head.mutable_load();
  request.set_directory(directory);
  request.set_optimizer_state(parts.optimizer_state);
  request.set_go_on(parts.go_on);
  for (const int t : parts.tables) request.add_tables(static_cast<uint32_t>(t));
  for (const int p : parts.parameters) request.add_parameters(static_cast<uint32_t>(p));
  std::vector<ServerCall> calls = CallsToAll(head);
  for (ServerCall& call : calls) {
    call.take = [this](ResponseMessage& response) {
      seed_ = response.head.load().seed();
      return SeeStep(response.head.load().global_step());
    };
  }
  return calls_.Run("load", std::move(calls));
}

Status PsClient::BeginLoad(const LoadParts& parts) {
  wire::RequestHead head = MakeHead(wire::METHOD_LOAD);
  head.mutable_load()->set_phase(wire::LOAD_BEGIN);
  for (const int t : parts.tables) head.mutable_load()->add_tables(static_cast<uint32_t>(t));
  return calls_.Run("begin load", CallsToAll(head));
}

Status PsClient::LoadRows(int server, int table, const StoredRows& rows) {
  wire::RequestHead head = MakeHead(wire::METHOD_LOAD);
  head.mutable_load()->set_phase(wire::LOAD_ROWS);
  head.mutable_load()->set_table(static_cast<uint32_t>(table));
  TensorWriter tensors;
  AddStoredRows(rows, &tensors);
  return calls_.Run("load rows", {OneCall(server, std::move(head), tensors)});
}

Status PsClient::LoadDense(int parameter, std::span<const float> weights,
                           std::span<const float> state) {
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    for (const DenseSlice& slice : SlicesOf(layout_, DenseRangeOf(layout_.size(), s, servers()))) {
      if (slice.parameter != parameter) continue;
      wire::RequestHead head = MakeHead(wire::METHOD_LOAD);
      head.mutable_load()->set_phase(wire::LOAD_DENSE);
      head.mutable_load()->set_parameter(static_cast<uint32_t>(parameter));
      std::vector<float> part;
      for (size_t array = 0; array < state.size(); array += weights.size()) {
        const auto from = state.subspan(array + slice.begin, slice.length);
        part.insert(part.end(), from.begin(), from.end());
      }
      TensorWriter tensors;
      tensors.AddCopy(weights.subspan(slice.begin, slice.length));
      tensors.AddCopy(std::span<const float>(part));
      calls.push_back(OneCall(s, std::move(head), tensors));
    }
  }
  return calls_.Run("load dense", std::move(calls));
}

Status PsClient::EndLoad(int64_t step, uint64_t seed) {
  wire::RequestHead head = MakeHead(wire::METHOD_LOAD);
  wire::LoadRequest& request = *head.mutable_load();
  request.set_phase(wire::LOAD_END);
  request.set_step(static_cast<uint64_t>(step));
  request.set_seed(seed);
  FL_RETURN_IF_ERROR(calls_.Run("end load", CallsToAll(head)));
  seed_ = seed;
  return SeeStep(static_cast<uint64_t>(step));
}

}  // namespace flotilla
