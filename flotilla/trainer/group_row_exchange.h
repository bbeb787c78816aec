// Exchanges rows between the trainers of a group for a global shuffle: the RowExchange of
// InMemoryDataset::GlobalShuffle, over a Group.
#pragma once

#include <vector>

#include "flotilla/communicator/group.h"
#include "flotilla/dataset/row_exchange.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// Exchange is a collective call of the group.
class GroupRowExchange : public RowExchange {
 public:
  // `inputs` are the inputs of the rows. The group must outlive it.
  GroupRowExchange(Group* group, std::vector<InputSpec> inputs)
      : group_(group), inputs_(std::move(inputs)) {}

  int trainers() const override { return group_->trainers(); }
  int trainer() const override { return group_->trainer(); }
  StatusOr<std::vector<Batch>> Exchange(std::vector<Batch> outgoing) override;

 private:
  StatusOr<std::vector<Batch>> Unpack(const std::vector<std::string>& incoming) const;

  Group* const group_;
  const std::vector<InputSpec> inputs_;
};

}  // namespace flotilla
