// Errors are reported: the next call returns the cause, and nothing waits forever.
#include <gtest/gtest.h>

#include <chrono>

#include "flotilla/communicator/mode_testing.h"

namespace flotilla {
namespace {

ClusterOptions Impatient(const std::string& mode) {
  ClusterOptions options{.servers = 2, .trainers = 1, .policy = GetMode(mode).policy};
  options.client.retry = {.retry_times = 1, .first_backoff_ms = 1, .max_backoff_ms = 1};
  options.client.rpc_timeout_ms = 1'000;
  return options;
}

TEST(ModeErrorsTest, AfterAServerIsGoneEveryModeReturnsTheCause) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    InProcessCluster cluster(CountingSpec(), Impatient(mode));
    ModeOptions options{.mode = mode};
    options.geo.interval.push_nums = 1;
    options.async.send_queue_size = 2;
    const auto start = std::chrono::steady_clock::now();
    const Status status =
        RunModes(cluster, options, [&](int, Communicator& communicator) -> Status {
          FL_RETURN_IF_ERROR(communicator.BeginEpoch());
          Gradients gradients = Count(communicator.spec(), {1, 2, 3, 4, 5, 6});
          FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
          cluster.KillServer(1);
          // Each of these may be the one that meets the error; a push that waits for room in a full
          // queue must return too.
          for (int i = 0; i < 5; ++i) {
            gradients = Count(communicator.spec(), {1, 2, 3, 4, 5, 6});
            FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
          }
          return communicator.Flush();
        });
    EXPECT_FALSE(status.ok());
    EXPECT_NE(Message(status).find("server"), std::string::npos) << status;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  }
}

TEST(ModeErrorsTest, TheErrorOfABackgroundThreadStaysForLaterCalls) {
  InProcessCluster cluster(CountingSpec(), Impatient("async"));
  const Status status =
      RunModes(cluster, {.mode = "async"}, [&](int, Communicator& communicator) -> Status {
        cluster.KillServer(0);
        Gradients gradients = Count(communicator.spec(), {1});
        EXPECT_TRUE(communicator.Push(0, gradients).ok()) << "only queued";
        const Status flushed = communicator.Flush();
        EXPECT_FALSE(flushed.ok());
        gradients = Count(communicator.spec(), {1});
        EXPECT_EQ(communicator.Push(0, gradients), flushed);
        EXPECT_EQ(communicator.Flush(), flushed);
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ModeErrorsTest, GradientsThatDoNotFitTheModelAreRefused) {
  for (const std::string mode : {"half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    InProcessCluster cluster(CountingSpec(), {.policy = GetMode(mode).policy});
    ASSERT_OK(RunModes(cluster, {.mode = mode}, [](int, Communicator& communicator) -> Status {
      Gradients gradients = Count(communicator.spec(), {1});
      gradients.sparse.pop_back();
      EXPECT_TRUE(absl::IsInvalidArgument(communicator.Push(0, gradients)));
      gradients = Count(communicator.spec(), {1});
      gradients.dense.pop_back();
      EXPECT_TRUE(absl::IsInvalidArgument(communicator.Push(0, gradients)));
      return communicator.Flush();
    }));
  }
}

TEST(ModeErrorsTest, ParametersAreReadAndWrittenByNameAtTheServers) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    InProcessCluster cluster(CountingSpec(), {.servers = 2, .policy = GetMode(mode).policy});
    ASSERT_OK(RunModes(cluster, {.mode = mode}, [](int, Communicator& communicator) -> Status {
      const std::vector<float> values = {1, 2, 3, 4, 5};
      FL_RETURN_IF_ERROR(communicator.WriteParameter("w", values));
      FL_ASSIGN_OR_RETURN(const Tensor w, communicator.ReadParameter("w"));
      EXPECT_EQ(w.data, values);
      EXPECT_EQ(communicator.dense()[4], 5);
      FL_RETURN_IF_ERROR(communicator.WriteRows("emb", RowsOf({9, 4}, 3, 7)));
      FL_ASSIGN_OR_RETURN(const Tensor emb, communicator.ReadParameter("emb"));
      EXPECT_EQ(emb.shape.dims, (std::vector<int64_t>{2, 3}));
      EXPECT_EQ(emb.data, std::vector<float>(6, 7));
      std::vector<SparseRows> rows(2);
      rows[0].ids = {9};
      FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kDefault, rows));
      EXPECT_EQ(rows[0].values[0], 7);
      EXPECT_TRUE(absl::IsNotFound(communicator.ReadParameter("nothing").status()));
      EXPECT_TRUE(absl::IsNotFound(communicator.WriteRows("w", {})));
      EXPECT_TRUE(absl::IsInvalidArgument(communicator.WriteParameter("emb", values)));
      EXPECT_TRUE(absl::IsInvalidArgument(communicator.WriteParameter("w", std::vector<float>{1})));
      return communicator.Flush();
    }));
  }
}

}  // namespace
}  // namespace flotilla
