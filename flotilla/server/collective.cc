#include "flotilla/server/collective.h"

#include <string>
#include <utility>

namespace flotilla {

Collectives::Collectives(int trainers, const Clock* clock) : clock_(clock), left_(trainers) {}

uint64_t Collectives::next() const {
  MutexLock lock(mutex_);
  return number_;
}

// Callbacks may call this object, so they run after the lock is released.
template <typename Change>
void Collectives::Do(Change change) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    change(&calls);
  }
  for (const auto& call : calls) call();
}

StatusOr<Collectives::Part> Collectives::ReadPart(const wire::CollectiveRequest& request,
                                                  TensorReader tensors) {
  Part part;
  part.request = request;
  if (request.kind() == wire::COLLECTIVE_SUM) {
    FL_RETURN_IF_ERROR(tensors.ReadAll(&part.numbers));
    FL_RETURN_IF_ERROR(tensors.Finish());
    return part;
  }
  const bool exchange = request.kind() == wire::COLLECTIVE_EXCHANGE;
  if (!exchange && request.kind() != wire::COLLECTIVE_GATHER) {
    return InvalidArgument("collective {}: unknown kind {}", request.name(),
                           static_cast<int>(request.kind()));
  }
  const size_t blobs = exchange ? static_cast<size_t>(request.to_size()) : 1;
  if (tensors.left() != blobs) {
    return InvalidArgument("collective {}: {} tensors, expected {}", request.name(), tensors.left(),
                           blobs);
  }
  while (!tensors.done()) {
    auto blob = std::make_shared<std::vector<uint8_t>>();
    FL_RETURN_IF_ERROR(tensors.ReadAll(blob.get()));
    part.blobs.push_back(std::move(blob));
  }
  return part;
}

Status Collectives::CheckLocked(const Part& part) const {
  // Each trainer only once: the answers must fit into messages, however many addresses there are.
  std::vector<bool> addressed(left_.size());
  for (const uint32_t to : part.request.to()) {
    if (to >= left_.size() || addressed[to]) {
      return InvalidArgument("collective {}: for trainer {}, the job has {} and each is named once",
                             part.request.name(), to, left_.size());
    }
    addressed[to] = true;
  }
  if (parts_.empty()) return absl::OkStatus();
  const auto& [first, other] = *parts_.begin();
  const wire::CollectiveRequest& theirs = other.request;
  if (theirs.name() == part.request.name() && theirs.kind() == part.request.kind() &&
      other.numbers.size() == part.numbers.size()) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "collective {}: {} of {} numbers (kind {}), but trainer {} came with {} of {} (kind {})",
      part.request.number(), part.request.name(), part.numbers.size(),
      static_cast<int>(part.request.kind()), first, theirs.name(), other.numbers.size(),
      static_cast<int>(theirs.kind()));
}

void Collectives::Join(int trainer, const wire::CollectiveRequest& request, TensorReader tensors,
                       Done done) {
  StatusOr<Part> part = ReadPart(request, std::move(tensors));
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    const auto answer = [&](StatusOr<Payload> with) {
      calls->push_back([done, with = std::move(with)] { done(with); });
    };
    if (!error_.ok()) return answer(error_);
    if (!part.ok()) return answer(part.status());
    // The answer to the previous call may have been lost.
    if (request.number() + 1 == number_ && !last_.empty() && last_[trainer].size() > 0) {
      return answer(last_[trainer]);
    }
    if (request.number() != number_) {
      return answer(FailedPrecondition("collective {}: number {} of trainer {}, but {} is next",
                                       request.name(), request.number(), trainer, number_));
    }
    if (const auto at = parts_.find(trainer); at != parts_.end()) {
      at->second.done.push_back(done);
      return;
    }
    if (const Status status = CheckLocked(*part); !status.ok()) {
      // The trainers are out of step with each other: none of them can continue.
      answer(status);
      return FailLocked(status, calls);
    }
    part->done.push_back(done);
    part->since_nanos = clock_->NowNanos();
    parts_.emplace(trainer, *std::move(part));
    CompleteIfAll(calls);
  });
}

void Collectives::Leave(int trainer) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    left_[trainer] = true;
    CompleteIfAll(calls);
  });
}

void Collectives::CompleteIfAll(Calls* calls) {
  if (parts_.empty()) return;
  for (size_t t = 0; t < left_.size(); ++t) {
    if (!left_[t] && !parts_.contains(static_cast<int>(t))) return;
  }
  const wire::CollectiveKind kind = parts_.begin()->second.request.kind();
  last_.assign(left_.size(), Payload());
  if (kind != wire::COLLECTIVE_EXCHANGE) {
    last_.assign(left_.size(), kind == wire::COLLECTIVE_SUM ? Summed() : Gathered());
  }
  for (auto& [trainer, part] : parts_) {
    if (kind == wire::COLLECTIVE_EXCHANGE) last_[trainer] = ExchangedFor(trainer);
    for (Done& done : part.done) {
      calls->push_back([done = std::move(done), answer = last_[trainer]] { done(answer); });
    }
  }
  parts_.clear();
  ++number_;
}

Payload Collectives::Gathered() const {
  wire::ResponseHead head;
  TensorWriter tensors;
  for (const auto& [trainer, part] : parts_) {
    head.mutable_collective()->add_from(static_cast<uint32_t>(trainer));
    tensors.Add<uint8_t>(SliceOf(part.blobs[0], 0, part.blobs[0]->size()));
  }
  return EncodeResponse(std::move(head), tensors);
}

Payload Collectives::Summed() const {
  std::vector<double> sum(parts_.begin()->second.numbers.size());
  for (const auto& [trainer, part] : parts_) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += part.numbers[i];
  }
  wire::ResponseHead head;
  head.mutable_collective();
  TensorWriter tensors;
  tensors.AddOwned(std::move(sum));
  return EncodeResponse(std::move(head), tensors);
}

Payload Collectives::ExchangedFor(int trainer) const {
  wire::ResponseHead head;
  TensorWriter tensors;
  for (const auto& [from, part] : parts_) {
    for (int i = 0; i < part.request.to_size(); ++i) {
      if (part.request.to(i) != static_cast<uint32_t>(trainer)) continue;
      head.mutable_collective()->add_from(static_cast<uint32_t>(from));
      tensors.Add<uint8_t>(SliceOf(part.blobs[i], 0, part.blobs[i]->size()));
    }
    if (part.request.more()) head.mutable_collective()->set_more(true);
  }
  return EncodeResponse(std::move(head), tensors);
}

std::optional<PeerWait> Collectives::WaitOf(int trainer) const {
  MutexLock lock(mutex_);
  const auto part = parts_.find(trainer);
  if (part == parts_.end()) return std::nullopt;
  PeerWait wait{.what = fmt::format("collective call '{}'", part->second.request.name()),
                .missing = {},
                .since_nanos = part->second.since_nanos};
  for (int t = 0; t < static_cast<int>(left_.size()); ++t) {
    if (!left_[t] && !parts_.contains(t)) wait.missing.push_back(t);
  }
  return wait;
}

void Collectives::Fail(const Status& error) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) { FailLocked(error, calls); });
}

void Collectives::FailLocked(const Status& error, Calls* calls) {
  if (error_.ok()) error_ = error;
  for (auto& [trainer, part] : parts_) {
    for (Done& done : part.done) {
      calls->push_back([done = std::move(done), error] { done(error); });
    }
  }
  parts_.clear();
}

}  // namespace flotilla
