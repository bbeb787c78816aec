#include "flotilla/trainer/group_row_exchange.h"

#include <cstring>
#include <string>
#include <utility>

#include "flotilla/dataset/cache_block.h"

namespace flotilla {

namespace {

// The number of rows, followed by a block in the format of the cache.
std::string Pack(std::span<const InputSpec> inputs, const Batch& batch) {
  std::string bytes(sizeof(batch.rows), '\0');
  std::memcpy(bytes.data(), &batch.rows, sizeof(batch.rows));
  return bytes + PackBlock(inputs, batch);
}

StatusOr<Batch> UnpackOne(std::span<const InputSpec> inputs, const std::string& bytes) {
  Batch batch{.fields = std::vector<Field>(inputs.size())};
  int64_t rows = 0;
  if (bytes.size() < sizeof(rows))
    return InvalidArgument("{} bytes are too short for rows", bytes.size());
  std::memcpy(&rows, bytes.data(), sizeof(rows));
  // Rows take at least a byte each, so a wrong count cannot make a receiver allocate more memory
  // than it has received.
  if (rows < 0 || static_cast<size_t>(rows) > bytes.size()) {
    return InvalidArgument("{} rows in {} bytes", rows, bytes.size());
  }
  // A view needs aligned bytes.
  std::vector<uint64_t> aligned((bytes.size() - sizeof(rows) + 7) / 8);
  std::memcpy(aligned.data(), bytes.data() + sizeof(rows), bytes.size() - sizeof(rows));
  const std::span<const char> block(reinterpret_cast<const char*>(aligned.data()),
                                    bytes.size() - sizeof(rows));
  FL_ASSIGN_OR_RETURN(const BlockView view, BlockView::Make(inputs, rows, block));
  view.Append(inputs, 0, rows, &batch);
  return batch;
}

}  // namespace

StatusOr<std::vector<Batch>> GroupRowExchange::Exchange(std::vector<Batch> outgoing) {
  std::vector<std::string> packed;
  for (Batch& batch : outgoing) {
    batch.fields.resize(inputs_.size());  // a part without rows may have none
    packed.push_back(Pack(inputs_, batch));
    batch = {};
  }
  FL_ASSIGN_OR_RETURN(const auto incoming, group_->Exchange("rows", std::move(packed)));
  StatusOr<std::vector<Batch>> batches = Unpack(incoming);
  // All trainers continue only if all have valid rows.
  double failed = batches.ok() ? 0 : 1;
  FL_RETURN_IF_ERROR(group_->Sum("rows arrived", {&failed, 1}));
  if (batches.ok() && failed > 0) {
    return DataLoss("exchange of rows: another trainer could not read the rows that it received");
  }
  return batches;
}

StatusOr<std::vector<Batch>> GroupRowExchange::Unpack(
    const std::vector<std::string>& incoming) const {
  std::vector<Batch> batches;
  for (size_t t = 0; t < incoming.size(); ++t) {
    StatusOr<Batch> batch = UnpackOne(inputs_, incoming[t]);
    if (!batch.ok()) {
      return Annotate(batch.status(), fmt::format("exchange of rows: from trainer {}", t));
    }
    batches.push_back(*std::move(batch));
  }
  return batches;
}

}  // namespace flotilla
