// Collective calls, and access to parameters by name: the calls of a client that are not part of
// every step.
#include <algorithm>
#include <numeric>
#include <utility>

#include "flotilla/client/ps_client.h"
#include "flotilla/rpc/codec.h"

namespace flotilla {

namespace {

// Rows per answer of READ_ROWS.
constexpr uint64_t kReadRows = 65'536;

std::vector<uint8_t> BytesOf(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

ServerCall PsClient::CollectiveCall(int server, wire::CollectiveKind kind, std::string_view name,
                                    wire::CollectiveRequest request, const TensorWriter& tensors) {
  request.set_kind(kind);
  request.set_name(std::string(name));
  request.set_number(next_collective_[server]++);
  wire::RequestHead head = MakeHead(wire::METHOD_COLLECTIVE);
  *head.mutable_collective() = std::move(request);
  return MakeWaitingCall(server, std::move(head), tensors);
}

Status PsClient::AskPause(uint64_t taken) {
  wire::RequestHead head = MakeHead(wire::METHOD_ASK_PAUSE);
  head.mutable_ask_pause()->set_taken(taken);
  std::vector<ServerCall> calls;
  calls.push_back(MakeCall(0, std::move(head), {}));
  return calls_.Run("ask for a pause", std::move(calls));
}

Status PsClient::DealShares(int count, std::span<const int> taken) {
  wire::RequestHead head = MakeHead(wire::METHOD_DEAL_SHARES);
  head.set_sequence(NextSequence());
  head.mutable_deal_shares()->set_count(static_cast<uint32_t>(count));
  for (const int share : taken) {
    head.mutable_deal_shares()->add_taken(static_cast<uint32_t>(share));
  }
  std::vector<ServerCall> calls;
  calls.push_back(MakeCall(0, std::move(head), {}));
  return calls_.Run("deal shares", std::move(calls));
}

StatusOr<std::optional<int>> PsClient::TakeShare(std::span<const int> wanted, bool any) {
  wire::RequestHead head = MakeHead(wire::METHOD_TAKE_SHARE);
  head.set_sequence(NextSequence());
  head.mutable_take_share()->set_any(any);
  for (const int share : wanted) {
    head.mutable_take_share()->add_wanted(static_cast<uint32_t>(share));
  }
  std::optional<int> taken;
  std::vector<ServerCall> calls;
  calls.push_back(MakeCall(0, std::move(head), {}));
  calls.back().take = [&taken](ResponseMessage& response) -> Status {
    const wire::TakeShareResponse& answer = response.head.take_share();
    if (answer.share() > INT32_MAX) return InvalidArgument("share {}", answer.share());
    if (answer.taken()) taken = static_cast<int>(answer.share());
    return absl::OkStatus();
  };
  FL_RETURN_IF_ERROR(calls_.Run("take a share", std::move(calls)));
  return taken;
}

Status PsClient::Barrier(std::string_view name) { return Gather(name, "").status(); }

Status PsClient::Sum(std::string_view name, std::span<double> values) {
  TensorWriter tensors;
  tensors.AddCopy<double>(values);
  std::vector<ServerCall> calls;
  calls.push_back(CollectiveCall(0, wire::COLLECTIVE_SUM, name, {}, tensors));
  calls.back().take = [values](ResponseMessage& response) { return response.tensors.Read(values); };
  return calls_.Run("sum", std::move(calls));
}

StatusOr<std::vector<std::string>> PsClient::Gather(std::string_view name, std::string_view blob) {
  TensorWriter tensors;
  tensors.AddOwned(BytesOf(blob));
  std::vector<std::string> gathered(options_.trainers);
  std::vector<ServerCall> calls;
  calls.push_back(CollectiveCall(0, wire::COLLECTIVE_GATHER, name, {}, tensors));
  calls.back().take = [this, &gathered](ResponseMessage& response) {
    return TakeBlobs(response, &gathered);
  };
  FL_RETURN_IF_ERROR(calls_.Run("gather", std::move(calls)));
  return gathered;
}

Status PsClient::TakeBlobs(ResponseMessage& response, std::vector<std::string>* blobs) const {
  for (const uint32_t from : response.head.collective().from()) {
    if (from >= blobs->size()) return InvalidArgument("a blob of trainer {}", from);
    std::vector<uint8_t> bytes;
    FL_RETURN_IF_ERROR(response.tensors.ReadAll(&bytes));
    (*blobs)[from].append(bytes.begin(), bytes.end());
  }
  return response.tensors.Finish();
}

StatusOr<std::string> PsClient::Broadcast(std::string_view name, std::string_view blob, int root) {
  FL_CHECK(root >= 0 && root < options_.trainers);
  FL_ASSIGN_OR_RETURN(auto gathered, Gather(name, options_.trainer == root ? blob : ""));
  return std::move(gathered[root]);
}

StatusOr<std::vector<std::string>> PsClient::Exchange(std::string_view name,
                                                      std::vector<std::string> outgoing) {
  FL_CHECK(outgoing.size() == static_cast<size_t>(options_.trainers));
  std::vector<std::string> incoming(outgoing.size());
  std::string own = std::move(outgoing[options_.trainer]);
  outgoing[options_.trainer].clear();
  const size_t piece = std::max<size_t>(1, options_.exchange_bytes / outgoing.size());
  const size_t longest =
      std::max_element(outgoing.begin(), outgoing.end(), [](const auto& a, const auto& b) {
        return a.size() < b.size();
      })->size();
  bool more = true;
  for (size_t at = 0; more; at += piece) {
    std::vector<ServerCall> calls;
    more = false;
    for (int s = 0; s < servers(); ++s) {
      wire::CollectiveRequest request;
      TensorWriter tensors;
      request.set_more(at + piece < longest);
      // Blobs for trainer t pass through server t modulo the number of servers.
      for (size_t t = s; t < outgoing.size(); t += servers()) {
        request.add_to(static_cast<uint32_t>(t));
        tensors.AddOwned(
            BytesOf(std::string_view(outgoing[t]).substr(std::min(at, outgoing[t].size()), piece)));
      }
      calls.push_back(CollectiveCall(s, wire::COLLECTIVE_EXCHANGE, name, request, tensors));
      calls.back().take = [this, &more, &incoming](ResponseMessage& response) {
        more = more || response.head.collective().more();
        return TakeBlobs(response, &incoming);
      };
    }
    FL_RETURN_IF_ERROR(calls_.Run("exchange", std::move(calls)));
  }
  incoming[options_.trainer] = std::move(own);
  return incoming;
}

StatusOr<SparseRows> PsClient::ReadTable(int table) {
  SparseRows all;
  all.dim = spec_.tables[table].dim;
  for (int s = 0; s < servers(); ++s) {
    uint32_t shard = 0;
    while (shard < kVirtualShards) {
      wire::RequestHead head = MakeHead(wire::METHOD_READ_ROWS);
      head.mutable_read_rows()->set_table(static_cast<uint32_t>(table));
      head.mutable_read_rows()->set_first_shard(shard);
      head.mutable_read_rows()->set_max_rows(kReadRows);
      std::vector<ServerCall> calls;
      calls.push_back(MakeCall(s, std::move(head), {}));
      calls.back().take = [&](ResponseMessage& response) -> Status {
        SparseRows part;
        FL_RETURN_IF_ERROR(response.tensors.ReadAll(&part.ids));
        FL_RETURN_IF_ERROR(response.tensors.ReadAll(&part.values));
        if (part.values.size() != part.size() * static_cast<size_t>(all.dim) ||
            response.head.read_rows().next_shard() <= shard) {
          return InvalidArgument("invalid rows");
        }
        shard = response.head.read_rows().next_shard();
        all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
        all.values.insert(all.values.end(), part.values.begin(), part.values.end());
        return response.tensors.Finish();
      };
      FL_RETURN_IF_ERROR(calls_.Run("read table", std::move(calls)));
    }
  }
  return SortedById(all);
}

SparseRows PsClient::SortedById(const SparseRows& rows) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return rows.ids[a] < rows.ids[b]; });
  SparseRows sorted;
  sorted.dim = rows.dim;
  sorted.values.reserve(rows.values.size());
  for (const uint32_t i : order) {
    sorted.ids.push_back(rows.ids[i]);
    sorted.values.insert(sorted.values.end(), rows.row(i), rows.row(i) + rows.dim);
  }
  return sorted;
}

Status PsClient::WriteRows(int table, const SparseRows& rows) {
  if (rows.dim != spec_.tables[table].dim ||
      rows.values.size() != rows.size() * static_cast<size_t>(rows.dim)) {
    return InvalidArgument("table {}: {} values for {} rows of dim {}", spec_.tables[table].name,
                           rows.values.size(), rows.size(), spec_.tables[table].dim);
  }
  const ShardSplit split = SplitByServer(rows.ids, servers());
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    if (split.of(s).empty()) continue;
    wire::RequestHead head = MakeHead(wire::METHOD_WRITE_ROWS);
    head.set_sequence(NextSequence());
    head.mutable_write_rows()->set_table(static_cast<uint32_t>(table));
    TensorWriter tensors;
    AddIdsAt(rows, split.of(s), &tensors);
    AddValuesAt(rows, split.of(s), &tensors);
    calls.push_back(MakeCall(s, std::move(head), tensors));
  }
  return calls_.Run("write rows", std::move(calls));
}

Status PsClient::WriteDense(int parameter, std::span<const float> values) {
  if (values.size() != static_cast<size_t>(layout_.length(parameter))) {
    return InvalidArgument("parameter {}: {} values for {} elements",
                           spec_.parameters[parameter].name, values.size(),
                           layout_.length(parameter));
  }
  const int64_t offset = layout_.offset(parameter);
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    const DenseRange slice = DenseRangeOf(layout_.size(), s, servers());
    const int64_t begin = std::max(slice.begin, offset);
    const int64_t end = std::min(slice.end, offset + layout_.length(parameter));
    if (begin >= end) continue;
    wire::RequestHead head = MakeHead(wire::METHOD_WRITE_DENSE);
    head.set_sequence(NextSequence());
    head.mutable_write_dense()->set_begin(static_cast<uint64_t>(begin - slice.begin));
    TensorWriter tensors;
    tensors.AddCopy<float>(values.subspan(begin - offset, end - begin));
    calls.push_back(MakeCall(s, std::move(head), tensors));
  }
  return calls_.Run("write dense", std::move(calls));
}

}  // namespace flotilla
