#include "flotilla/communicator/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <sstream>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/base/share_pool.h"

namespace flotilla {

namespace {

class ClientGroup : public Group {
 public:
  explicit ClientGroup(PsClient* client) : client_(client) {}

  int trainer() const override { return client_->options().trainer; }
  int trainers() const override { return client_->options().trainers; }
  Status Barrier(std::string_view name) override { return client_->Barrier(name); }
  Status Sum(std::string_view name, std::span<double> values) override {
    return client_->Sum(name, values);
  }
  StatusOr<std::vector<std::string>> Gather(std::string_view name, std::string_view blob) override {
    return client_->Gather(name, blob);
  }
  StatusOr<std::string> Broadcast(std::string_view name, std::string_view blob, int root) override {
    return client_->Broadcast(name, blob, root);
  }
  StatusOr<std::vector<std::string>> Exchange(std::string_view name,
                                              std::vector<std::string> outgoing) override {
    return client_->Exchange(name, std::move(outgoing));
  }
  Status DealShares(std::string_view name, int count, std::span<const int> taken) override {
    FL_ASSIGN_OR_RETURN(const auto texts, Gather(name, fmt::format("{}", fmt::join(taken, " "))));
    if (trainer() == 0) {
      std::istringstream in(fmt::format("{}", fmt::join(texts, " ")));
      const std::vector<int> all(std::istream_iterator<int>(in), {});
      FL_RETURN_IF_ERROR(client_->DealShares(count, all));
    }
    return Barrier(name);
  }
  StatusOr<std::optional<int>> TakeShare(std::span<const int> wanted, bool any) override {
    return client_->TakeShare(wanted, any);
  }

 private:
  PsClient* const client_;
};

class SoloGroup : public Group {
 public:
  int trainer() const override { return 0; }
  int trainers() const override { return 1; }
  Status Barrier(std::string_view) override { return absl::OkStatus(); }
  Status Sum(std::string_view, std::span<double>) override { return absl::OkStatus(); }
  StatusOr<std::vector<std::string>> Gather(std::string_view, std::string_view blob) override {
    return std::vector<std::string>{std::string(blob)};
  }
  StatusOr<std::string> Broadcast(std::string_view, std::string_view blob, int root) override {
    FL_CHECK(root == 0);
    return std::string(blob);
  }
  StatusOr<std::vector<std::string>> Exchange(std::string_view,
                                              std::vector<std::string> outgoing) override {
    FL_CHECK(outgoing.size() == 1);
    return outgoing;
  }
  Status DealShares(std::string_view, int count, std::span<const int> taken) override {
    MutexLock lock(mutex_);
    shares_.Deal(count, 1, taken);
    return absl::OkStatus();
  }
  StatusOr<std::optional<int>> TakeShare(std::span<const int> wanted, bool any) override {
    MutexLock lock(mutex_);
    return shares_.Take(wanted, any);
  }

 private:
  Mutex mutex_;
  SharePool shares_ FL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Group> MakeClientGroup(PsClient* client) {
  return std::make_unique<ClientGroup>(client);
}

std::unique_ptr<Group> MakeSoloGroup() { return std::make_unique<SoloGroup>(); }

}  // namespace flotilla
