#include "flotilla/rpc/shared_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <numeric>
#include <string>

#include "flotilla/rpc/inproc_transport.h"

namespace flotilla {
namespace {

std::string WholeOf(const Payload& payload) {
  std::string bytes(payload.size(), '\0');
  PayloadReader reader(payload);
  EXPECT_TRUE(reader.Read(bytes.data(), bytes.size()));
  return bytes;
}

Payload PayloadOf(const std::vector<std::string>& slices) {
  Payload payload;
  for (const std::string& slice : slices) payload.AddCopy(slice.data(), slice.size());
  return payload;
}

std::string Long(char letter, size_t size) {
  std::string text(size, letter);
  for (size_t i = 0; i < size; i += 7) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(SharedAreaTest, PartsStayUntilTheirReaderLetsThemGo) {
  auto area = *SharedArea::Make(1 << 20);
  auto view = *SharedView::Open(area->name());
  const std::string first = Long('x', 5000);
  const std::string second = Long('y', 300);
  const SharedPart a = *area->Put(AsBytes(first));
  const SharedPart b = *area->Put(AsBytes(second));
  EXPECT_EQ(area->used(), 5300u);
  {
    const ByteSlice slice = *view->Read(a);
    EXPECT_EQ(std::memcmp(slice.data, first.data(), first.size()), 0);
    const ByteSlice copy = slice;
    EXPECT_EQ(area->used(), 5300u);
  }
  EXPECT_EQ(area->used(), 300u);
  EXPECT_EQ(area->Put(AsBytes(first), 7)->offset, a.offset);
  area->Forget(7);
  EXPECT_EQ(area->used(), 300u);
  // The gap is filled first; the parts after it stay.
  EXPECT_EQ(area->Put(AsBytes(second))->offset, a.offset);
  EXPECT_EQ(std::memcmp(view->Read(b)->data, second.data(), second.size()), 0);
}

TEST(SharedAreaTest, WhatNobodyHasClaimedCanBeTakenBack) {
  auto area = *SharedArea::Make(1 << 20);
  auto view = *SharedView::Open(area->name());
  const SharedPart late = *area->Put(AsBytes("late"));
  area->TakeBack(late);
  EXPECT_EQ(area->used(), 0u);
  EXPECT_EQ(view->Read(late).status().code(), absl::StatusCode::kFailedPrecondition);
  const SharedPart next = *area->Put(AsBytes("next"));  // in the same place
  EXPECT_EQ(next.offset, late.offset);
  EXPECT_FALSE(view->Read(late).ok()) << "it is another's now";
  {
    const ByteSlice slice = *view->Read(next);
    EXPECT_FALSE(view->Read(next).ok()) << "once";
    area->TakeBack(next);
    EXPECT_EQ(area->used(), 4u) << "the reader is at it";
  }
  EXPECT_EQ(area->used(), 0u);
  // By the number of the call that they belong to.
  ASSERT_TRUE(area->Put(AsBytes("1"), /*reader=*/7, /*call=*/1).has_value());
  ASSERT_TRUE(area->Put(AsBytes("22"), 7, 2).has_value());
  ASSERT_TRUE(area->Put(AsBytes("333"), 8, 1).has_value());
  area->TakeBack(7, 2);
  EXPECT_EQ(area->used(), 5u);
}

TEST(SharedAreaTest, NothingIsPutWhereThereIsNoRoom) {
  auto area = *SharedArea::Make(64 << 10);
  auto view = *SharedView::Open(area->name());
  const std::string text = Long('z', 25'000);
  const SharedPart a = *area->Put(AsBytes(text));
  ASSERT_TRUE(area->Put(AsBytes(text)).has_value());
  EXPECT_FALSE(area->Put(AsBytes(text)).has_value());
  view->Read(a).IgnoreError();
  EXPECT_TRUE(area->Put(AsBytes(text)).has_value());
  // Slots run out before bytes do.
  auto many = *SharedArea::Make(1 << 20);
  for (uint32_t i = 0; i < SharedHeader::kSlots; ++i) {
    ASSERT_TRUE(many->Put(AsBytes("1")).has_value());
  }
  EXPECT_FALSE(many->Put(AsBytes("1")).has_value());
}

TEST(SharedAreaTest, WhatIsNoAreaCannotBeOpened) {
  auto area = *SharedArea::Make(1 << 20);
  SharedName name = area->name();
  name.token ^= 1;
  EXPECT_FALSE(SharedView::Open(name).ok());
  name = area->name();
  name.file = 0;  // whatever this test reads from
  EXPECT_FALSE(SharedView::Open(name).ok());
  name = area->name();
  area.reset();
  EXPECT_FALSE(SharedView::Open(name).ok());
}

TEST(SharedAreaTest, PartsOutsideAreRefused) {
  auto area = *SharedArea::Make(1 << 20);
  auto view = *SharedView::Open(area->name());
  const SharedPart good = *area->Put(AsBytes("good"));
  for (const SharedPart& bad : {SharedPart{.offset = 0, .size = 8, .slot = 0},
                                SharedPart{.offset = good.offset, .size = 1 << 20, .slot = 0},
                                SharedPart{.offset = ~uint64_t{0} - 4, .size = 8, .slot = 0},
                                SharedPart{.offset = good.offset, .size = ~uint64_t{0}, .slot = 0},
                                SharedPart{.offset = good.offset, .size = 4, .slot = 1024}}) {
    EXPECT_FALSE(view->Read(bad).ok());
  }
}

TEST(SharedAreaTest, AnotherProcessReadsAndLetsGo) {
  auto area = *SharedArea::Make(1 << 20);
  const std::string text = Long('p', 100'000);
  const SharedPart part = *area->Put(AsBytes(text));
  const SharedName name = area->name();
  const pid_t child = fork();
  if (child == 0) {
    auto view = SharedView::Open(name);
    const bool same =
        view.ok() && std::memcmp((*view)->Read(part)->data, text.data(), text.size()) == 0;
    _exit(same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(area->used(), 0u);
}

// A wrapped message of one part, as it is on the wire.
struct OnePartMessage {
  uint32_t magic = 0x4d485346;
  uint32_t share = 1;
  SharedName area = {};
  uint32_t parts = 1;
  uint32_t unused = 0;
  uint64_t call = 1;
  uint64_t ended = 1;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t slot = 0;
  uint32_t generation = 0;
};

// Answers with the request, reversed.
class ReverseService : public Service {
 public:
  void Handle(Payload request, ReplyCallback reply) override {
    ++calls;
    if (fail) return reply(absl::InternalError("no"));
    Payload answer;
    for (auto slice = request.slices().rbegin(); slice != request.slices().rend(); ++slice) {
      largest = std::max(largest, slice->size);
      answer.Add(*slice);
    }
    reply(std::move(answer));
  }

  int calls = 0;
  size_t largest = 0;
  bool fail = false;
};

class SharedMemoryTest : public testing::Test {
 protected:
  static constexpr SharedMemoryOptions kOptions{.area_bytes = 1 << 20, .min_slice_bytes = 1000};

  // Counts the bytes that pass through.
  class Watch : public Service {
   public:
    explicit Watch(Service* service) : service_(service) {}
    void Handle(Payload request, ReplyCallback reply) override {
      ++calls;
      in = request.size();
      if (lose_requests) return reply(absl::UnavailableError("lost"));
      service_->Handle(std::move(request), [this, reply](StatusOr<Payload> answer) {
        if (answer.ok()) out = answer->size();
        if (lose_answers) answer = absl::UnavailableError("lost");
        reply(std::move(answer));
      });
    }
    int calls = 0;
    bool lose_requests = false;
    bool lose_answers = false;
    size_t in = 0;
    size_t out = 0;

   private:
    Service* const service_;
  };

  SharedMemoryTest() {
    listener_ = *network_.Listen("server", &watch_);
    transport_ = ShareMemory(network_.Connect({"server"}), kOptions);
  }

  StatusOr<Payload> Call(const Payload& request) {
    std::promise<StatusOr<Payload>> done;
    transport_->Call(0, request, 5000,
                     [&](StatusOr<Payload> reply) { done.set_value(std::move(reply)); });
    return done.get_future().get();
  }

  InprocNetwork network_;
  ReverseService echo_;
  SharedMemoryService sharing_{&echo_, kOptions};
  Watch watch_{&sharing_};
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(SharedMemoryTest, LargeSlicesDoNotPassTheTransport) {
  const std::string large = Long('q', 100'000);
  const Payload request = PayloadOf({"head", large, "tail"});
  // The first request makes the two known to each other.
  EXPECT_EQ(WholeOf(*Call(request)), "tail" + large + "head");
  EXPECT_GT(watch_.in, large.size());
  EXPECT_EQ(sharing_.peers(), 1);
  for (int i = 0; i < 30; ++i) {  // more than fit at once
    EXPECT_EQ(WholeOf(*Call(request)), "tail" + large + "head");
    EXPECT_LT(watch_.in, 1000u);
    EXPECT_LT(watch_.out, 1000u);
  }
}

TEST_F(SharedMemoryTest, WhatDoesNotFitGoesTheUsualWay) {
  Call(PayloadOf({"hello"})).IgnoreError();
  const std::string larger = Long('q', 2 << 20);
  EXPECT_EQ(WholeOf(*Call(PayloadOf({"head", larger}))), larger + "head");
  EXPECT_GT(watch_.in, larger.size());
}

TEST_F(SharedMemoryTest, ManyAnswersAreKeptAtOnce) {
  Call(PayloadOf({"hello"})).IgnoreError();
  std::vector<Payload> kept;
  for (int i = 0; i < 30; ++i) kept.push_back(*Call(PayloadOf({Long('a' + i % 20, 100'000)})));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(WholeOf(kept[i]), Long('a' + i % 20, 100'000));
}

TEST_F(SharedMemoryTest, ErrorsOfTheServiceArrive) {
  Call(PayloadOf({"hello"})).IgnoreError();
  echo_.fail = true;
  EXPECT_EQ(Call(PayloadOf({Long('q', 5000)})).status().code(), absl::StatusCode::kInternal);
  echo_.fail = false;
  // The next request shares nothing, the one after it does.
  EXPECT_EQ(WholeOf(*Call(PayloadOf({Long('q', 5000)}))), Long('q', 5000));
  EXPECT_GT(watch_.in, 5000u);
  EXPECT_EQ(WholeOf(*Call(PayloadOf({Long('q', 5000)}))), Long('q', 5000));
  EXPECT_LT(watch_.in, 1000u);
}

// A server on another machine: it knows the trainer's area only by name.
TEST_F(SharedMemoryTest, AServerThatCannotReachTheAreaIsCalledTheUsualWay) {
  class Elsewhere : public Service {
   public:
    explicit Elsewhere(Service* service) : service_(service) {}
    void Handle(Payload request, ReplyCallback reply) override {
      uint32_t words[4] = {};
      PayloadReader(request).Read(words, sizeof(words));
      if (words[0] != 0x4d485346) return service_->Handle(std::move(request), std::move(reply));
      // The same message with another process in it.
      std::string bytes = WholeOf(request);
      const uint32_t nobody = 0x7fffffff;
      std::memcpy(bytes.data() + 8, &nobody, sizeof(nobody));
      service_->Handle(PayloadOf({bytes}), std::move(reply));
    }

   private:
    Service* const service_;
  };
  Elsewhere elsewhere(&sharing_);
  const auto listener = *network_.Listen("elsewhere", &elsewhere);
  transport_ = ShareMemory(network_.Connect({"elsewhere"}), kOptions);
  const std::string large = Long('q', 100'000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WholeOf(*Call(PayloadOf({"a", large}))), large + "a");
  EXPECT_EQ(echo_.calls, 3);
  EXPECT_EQ(sharing_.peers(), 0);
  transport_.reset();
}

TEST_F(SharedMemoryTest, TrainersThatAreGoneAreForgotten) {
  for (int i = 0; i < 3; ++i) {
    transport_ = ShareMemory(network_.Connect({"server"}), kOptions);
    EXPECT_TRUE(Call(PayloadOf({"hello"})).ok());
    EXPECT_EQ(sharing_.peers(), 1);
  }
}

// A trainer that is killed while answers to it are in the server's memory.
TEST_F(SharedMemoryTest, WhatWasSentToATrainerThatEndedIsTakenBack) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto area = *SharedArea::Make(1 << 20);
    const bool told = write(pipes[1], &area->name(), sizeof(SharedName)) == sizeof(SharedName);
    pause();
    _exit(told ? 0 : 1);
  }
  OnePartMessage head{.offset = ~uint64_t{0}, .size = 900'000};
  ASSERT_EQ(read(pipes[0], &head.area, sizeof(SharedName)), ssize_t{sizeof(SharedName)});
  auto plain = network_.Connect({"server"});
  const std::string large = Long('q', head.size);
  const auto call = [&] {
    std::promise<StatusOr<Payload>> done;
    plain->Call(0,
                PayloadOf({std::string(reinterpret_cast<const char*>(&head), sizeof(head)), large}),
                5000, [&](StatusOr<Payload> reply) { done.set_value(std::move(reply)); });
    return done.get_future().get();
  };
  ASSERT_TRUE(call().ok());
  EXPECT_LT(watch_.out, 1000u) << "in memory";
  ASSERT_TRUE(call().ok());
  EXPECT_GT(watch_.out, large.size()) << "no room: nobody has let the first one go";
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(pipes[0]);
  close(pipes[1]);
  // A new trainer is accepted, and has all the room.
  const Payload request = PayloadOf({large});
  EXPECT_TRUE(Call(request).ok());
  EXPECT_EQ(sharing_.peers(), 1);
  EXPECT_EQ(WholeOf(*Call(request)), large);
  EXPECT_LT(watch_.out, 1000u);
}

// More calls than there are slots, and more bytes than fit; every second call is lost.
TEST_F(SharedMemoryTest, WhatCallsThatFailedLeaveIsTakenBack) {
  const std::string large = Long('q', 5000);
  for (uint32_t i = 0; i < SharedHeader::kSlots + 10; ++i) {
    ASSERT_EQ(WholeOf(*Call(PayloadOf({large}))), large);  // introduces the two again
    (i % 2 == 0 ? watch_.lose_requests : watch_.lose_answers) = true;
    ASSERT_FALSE(Call(PayloadOf({large})).ok());
    ASSERT_LT(watch_.in, 1000u) << "in memory, call " << i;
    ASSERT_TRUE(i % 2 == 0 || watch_.out < 1000u) << "in memory, call " << i;
    watch_.lose_requests = watch_.lose_answers = false;
  }
}

TEST_F(SharedMemoryTest, PartsOfAnAreaThatCannotBeOpenedAreRefused) {
  class Liar : public Service {
   public:
    void Handle(Payload, ReplyCallback reply) override {
      const OnePartMessage answer{.share = 0, .area = {.process = 0x7fffffff}, .size = 100};
      reply(PayloadOf({std::string(reinterpret_cast<const char*>(&answer), sizeof(answer))}));
    }
  };
  Liar liar;
  const auto listener = *network_.Listen("liar", &liar);
  transport_ = ShareMemory(network_.Connect({"liar"}), kOptions);
  EXPECT_EQ(Call(PayloadOf({"hello"})).status().code(), absl::StatusCode::kInvalidArgument);
  transport_.reset();
}

TEST_F(SharedMemoryTest, PartsThatLieOverEachOtherMakeNoMessageOfAnySize) {
  constexpr size_t kBytes = size_t{512} << 20;  // not touched, so not taken
  auto area = *SharedArea::Make(kBytes);
  const SharedPart part = *area->Put(AsBytes("x"));
  struct {
    OnePartMessage head;
    SharedPart more[3];
  } message;
  static_assert(sizeof(message) == sizeof(OnePartMessage) + 3 * 24);
  message.head = {.area = area->name(),
                  .parts = 4,
                  .offset = part.offset,
                  .size = kBytes - part.offset,
                  .slot = part.slot,
                  .generation = part.generation};
  for (SharedPart& each : message.more) {
    each = *area->Put(AsBytes("x"));
    each.offset = part.offset;
    each.size = kBytes - part.offset;
  }
  auto plain = network_.Connect({"server"});
  std::promise<Status> done;
  plain->Call(0, PayloadOf({std::string(reinterpret_cast<const char*>(&message), sizeof(message))}),
              5000, [&](StatusOr<Payload> reply) { done.set_value(reply.status()); });
  EXPECT_EQ(done.get_future().get().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(area->used(), 0u) << "all parts are let go";
}

TEST_F(SharedMemoryTest, BrokenMessagesAreRefused) {
  Call(PayloadOf({"hello"})).IgnoreError();
  auto plain = network_.Connect({"server"});
  const auto send = [&](const std::string& bytes) {
    std::promise<Status> done;
    plain->Call(0, PayloadOf({bytes}), 5000,
                [&](StatusOr<Payload> reply) { done.set_value(reply.status()); });
    return done.get_future().get();
  };
  auto area = *SharedArea::Make(1 << 20);
  OnePartMessage message{.area = area->name()};
  const auto bytes = [&](size_t size) {
    return std::string(reinterpret_cast<const char*>(&message), size);
  };
  const int calls = echo_.calls;
  EXPECT_FALSE(send(bytes(20)).ok());
  EXPECT_FALSE(send(bytes(56)).ok());  // the part is missing
  EXPECT_FALSE(send(bytes(sizeof(message))).ok());
  message.offset = ~uint64_t{0};
  message.size = 10;  // announced, not there
  EXPECT_FALSE(send(bytes(sizeof(message))).ok());
  message.parts = 1'000'000'000;
  EXPECT_FALSE(send(bytes(sizeof(message))).ok());
  EXPECT_EQ(echo_.calls, calls);
  message.parts = 1;
  message.size = 0;
  EXPECT_TRUE(send(bytes(sizeof(message))).ok());
}

}  // namespace
}  // namespace flotilla
