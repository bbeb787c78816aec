#include "flotilla/communicator/gradient_sender.h"

#include <gtest/gtest.h>

#include <future>

#include "flotilla/base/mutex.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

ModelSpec Spec() {
  ModelSpec spec;
  spec.parameters.push_back({.name = "w", .shape = {2}});
  spec.tables.push_back({.name = "emb", .dim = 1});
  spec.optimizer = Sgd(1);
  return spec;
}

Gradients Make(const ModelSpec& spec, float dense, std::vector<uint64_t> ids, float value) {
  Gradients gradients;
  gradients.dense.assign(static_cast<size_t>(DenseLayout(spec.parameters).size()), dense);
  SparseRows& rows = gradients.sparse.emplace_back();
  rows.dim = 1;
  rows.values.assign(ids.size(), value);
  rows.ids = std::move(ids);
  gradients.rows = 10;
  return gradients;
}

// Stands for the servers: records pushes, which wait until the test lets them through.
class Receiver {
 public:
  struct Push {
    Gradients gradients;
    int64_t batches = 0;
  };

  explicit Receiver(bool open) : open_(open) {}

  GradientSender::Push push() {
    return [this](const std::shared_ptr<const Gradients>& gradients, int64_t batches) {
      MutexLock lock(mutex_);
      pushes_.push_back({*gradients, batches});
      changed_.notify_all();
      while (!open_) changed_.wait(mutex_);
      return result_;
    };
  }
  void WaitForPushes(size_t count) {
    MutexLock lock(mutex_);
    while (pushes_.size() < count) changed_.wait(mutex_);
  }
  void Open(Status result = absl::OkStatus()) {
    MutexLock lock(mutex_);
    open_ = true;
    result_ = std::move(result);
    changed_.notify_all();
  }
  std::vector<Push> pushes() {
    MutexLock lock(mutex_);
    return pushes_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ FL_GUARDED_BY(mutex_);
  Status result_ FL_GUARDED_BY(mutex_);
  std::vector<Push> pushes_ FL_GUARDED_BY(mutex_);
};

// One send is in flight and `waiting` more gradients are in the queue.
void Gather(GradientSender& sender, const ModelSpec& spec, Receiver& receiver, int waiting) {
  Gradients gradients = Make(spec, 1, {1}, 1);
  ASSERT_TRUE(sender.Put(0, gradients).ok());
  receiver.WaitForPushes(1);
  for (int i = 0; i < waiting; ++i) {
    gradients = Make(spec, 2, {1, static_cast<uint64_t>(10 + i)}, 2);
    ASSERT_TRUE(sender.Put(0, gradients).ok());
  }
}

TEST(GradientSenderTest, WhatWaitsIsMergedUpToTheBound) {
  const ModelSpec spec = Spec();
  Receiver receiver(false);
  GradientSender sender(spec, {.max_merge = 3}, receiver.push());
  Gather(sender, spec, receiver, 4);
  receiver.Open();
  ASSERT_TRUE(sender.Flush().ok());
  const auto pushes = receiver.pushes();
  ASSERT_EQ(pushes.size(), 3u);
  EXPECT_EQ(pushes[0].batches, 1);
  EXPECT_EQ(pushes[1].batches, 3);
  EXPECT_EQ(pushes[2].batches, 1);
  EXPECT_EQ(pushes[1].gradients.rows, 30);
  EXPECT_EQ(pushes[1].gradients.dense[0], 6) << "the sum";
  EXPECT_EQ(pushes[1].gradients.sparse[0].ids, (std::vector<uint64_t>{1, 10, 11, 12}));
  EXPECT_EQ(pushes[1].gradients.sparse[0].values, (AlignedVector<float>{6, 2, 2, 2}));
}

TEST(GradientSenderTest, AverageDividesByTheGradientsThatTravelTogether) {
  const ModelSpec spec = Spec();
  Receiver receiver(false);
  GradientSender sender(spec, {.max_merge = 4, .average = true}, receiver.push());
  Gather(sender, spec, receiver, 4);
  receiver.Open();
  ASSERT_TRUE(sender.Flush().ok());
  const auto pushes = receiver.pushes();
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[0].gradients.dense[0], 1) << "alone, as it is";
  EXPECT_EQ(pushes[1].gradients.dense[0], 2);
  EXPECT_EQ(pushes[1].gradients.sparse[0].values, (AlignedVector<float>{2, 0.5, 0.5, 0.5, 0.5}));
}

TEST(GradientSenderTest, GradientsWhoseSumIsTooLargeTravelOneByOne) {
  const ModelSpec spec = Spec();
  for (const bool dense : {true, false}) {
    for (const bool average : {false, true}) {
      Receiver receiver(false);
      GradientSender sender(spec, {.max_merge = 4, .average = average}, receiver.push());
      Gather(sender, spec, receiver, 0);
      for (int i = 0; i < 3; ++i) {
        Gradients gradients = Make(spec, dense ? 1e19f : 1, {1}, dense ? 1 : 1e19f);
        ASSERT_TRUE(sender.Put(0, gradients).ok());
      }
      receiver.Open();
      ASSERT_TRUE(sender.Flush().ok());
      const auto pushes = receiver.pushes();
      ASSERT_EQ(pushes.size(), average ? 2u : 4u);
      EXPECT_EQ(pushes[1].batches, average ? 3 : 1);
      for (const auto& push : pushes) {
        EXPECT_LT(push.gradients.dense[0], 1.1e19f);
        EXPECT_LT(push.gradients.sparse[0].values[0], 1.1e19f);
      }
    }
  }
}

TEST(GradientSenderTest, ASendWaitsForMoreWhenItIsTold) {
  const ModelSpec spec = Spec();
  Receiver receiver(true);
  GradientSender sender(spec, {.max_merge = 2, .merge_wait_ms = 60'000}, receiver.push());
  for (int i = 0; i < 4; ++i) {
    Gradients gradients = Make(spec, 1, {1}, 1);
    ASSERT_TRUE(sender.Put(0, gradients).ok());
  }
  ASSERT_TRUE(sender.Flush().ok());
  const auto pushes = receiver.pushes();
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[0].batches, 2);
  EXPECT_EQ(pushes[1].batches, 2);
}

TEST(GradientSenderTest, AWorkerMayBeBehindByItsOwnStepsOnly) {
  const ModelSpec spec = Spec();
  Receiver receiver(false);
  GradientSender sender(spec, {.max_merge = 1}, receiver.push());
  Gather(sender, spec, receiver, 1);
  ASSERT_TRUE(sender.WaitUntilBehind(0, 2).ok());
  ASSERT_TRUE(sender.WaitUntilBehind(1, 0).ok()) << "worker 1 has put nothing";
  auto waiting = std::async([&] { return sender.WaitUntilBehind(0, 0); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  receiver.Open();
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(receiver.pushes().size(), 2u);
}

TEST(GradientSenderTest, APushThatFailsEndsEverythingWithItsError) {
  const ModelSpec spec = Spec();
  Receiver receiver(false);
  GradientSender sender(spec, {.queue_size = 1, .max_merge = 1}, receiver.push());
  Gather(sender, spec, receiver, 1);
  // The queue is full: this one waits for room that never comes.
  auto blocked = std::async([&] {
    Gradients gradients = Make(spec, 1, {1}, 1);
    return sender.Put(1, gradients);
  });
  auto flushing = std::async([&] { return sender.Flush(); });
  receiver.Open(absl::UnavailableError("server 0 is gone"));
  EXPECT_EQ(Message(flushing.get()), "server 0 is gone");
  EXPECT_TRUE(absl::IsUnavailable(sender.WaitUntilBehind(0, 0)));
  Gradients gradients = Make(spec, 1, {1}, 1);
  EXPECT_EQ(Message(sender.Put(0, gradients)), "server 0 is gone");
  const Status unblocked = blocked.get();  // room or the error: it must return
  EXPECT_TRUE(unblocked.ok() || absl::IsUnavailable(unblocked));
  EXPECT_EQ(receiver.pushes().size(), 1u) << "nothing is sent after the error";
}

TEST(GradientSenderTest, BuffersGoAround) {
  const ModelSpec spec = Spec();
  Receiver receiver(true);
  GradientSender sender(spec, {}, receiver.push());
  Gradients gradients = Make(spec, 1, {1}, 1);
  const float* const first = gradients.dense.data();
  bool came_back = false;
  for (int i = 0; i < 10 && !came_back; ++i) {
    ASSERT_TRUE(sender.Put(0, gradients).ok());
    ASSERT_TRUE(sender.Flush().ok());
    came_back = gradients.dense.data() == first;
    if (!came_back) gradients = Make(spec, 1, {1}, 1);
  }
  // Assigning above frees the buffer that came in exchange, never the one that was taken.
  EXPECT_TRUE(came_back);
}

}  // namespace
}  // namespace flotilla
