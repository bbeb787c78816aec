#include "flotilla/communicator/mode.h"

#include <gtest/gtest.h>

#include "flotilla/communicator/mode_testing.h"

namespace flotilla {
namespace {

TEST(ModeTest, EveryNameMakesItsMode) {
  EXPECT_EQ(ModeNames().size(), 5u);
  const SteadyClock clock;
  for (const std::string& mode : ModeNames()) {
    SCOPED_TRACE(mode);
    if (!GetMode(mode).has_servers) {
      EXPECT_TRUE(MakeCommunicator(CountingSpec(), {.mode = mode}, nullptr, &clock).ok());
      continue;
    }
    InProcessCluster cluster(CountingSpec(), {.policy = GetMode(mode).policy});
    ASSERT_OK(cluster.ConnectAll());
    auto made = MakeCommunicator(CountingSpec(), {.mode = mode}, &cluster.client(0), &clock);
    ASSERT_TRUE(made.ok()) << made.status();
    const bool joined = mode == "sync" || mode == "half-async";
    EXPECT_EQ((*made)->schedule().joined, joined);
    EXPECT_EQ((*made)->schedule().ahead == Schedule::Ahead::kPull, mode == "async");
    EXPECT_EQ((*made)->dense_in_place() != nullptr, mode == "geo");
  }
}

TEST(ModeTest, AnUnknownNameTellsTheOneThatWasMeant) {
  const SteadyClock clock;
  const auto made = MakeCommunicator(CountingSpec(), {.mode = "half_async"}, nullptr, &clock);
  EXPECT_EQ(Message(made.status()), "unknown training mode half_async, did you mean half-async?");
}

TEST(ModeTest, AModeWithServersNeedsAClient) {
  const SteadyClock clock;
  const auto made = MakeCommunicator(CountingSpec(), {.mode = "geo"}, nullptr, &clock);
  EXPECT_EQ(Message(made.status()), "training mode geo needs servers");
}

TEST(ModeTest, OptionsThatMakeNoSenseAreNamed) {
  EXPECT_EQ(Message(CheckAsyncOptions({.max_merge = 0})), "async: max_merge is 0, must be >= 1");
  EXPECT_EQ(Message(CheckAsyncOptions({.merge_wait_ms = -1})),
            "async: merge_wait_ms is -1, must be >= 0");
  EXPECT_EQ(Message(CheckGeoOptions({.interval = {.push_nums = -5}})),
            "geo: push_nums is -5, must be >= 0");
  EXPECT_EQ(Message(CheckGeoOptions({.rare_exchanges = 0})),
            "geo: rare_exchanges is 0, must be >= 1");
  EXPECT_TRUE(CheckAsyncOptions({}).ok());
  EXPECT_EQ(Message(CheckGeoOptions({.table_touches = {{"emb", 0}}})),
            "geo: table_touches of emb is 0, must be >= 1");
  EXPECT_TRUE(CheckGeoOptions({}).ok());
}

}  // namespace
}  // namespace flotilla
