#include "flotilla/fleet/slot_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/graph/layers.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::string Text(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += fmt::format("1 {} 1 {}\n", i, i % 2);
  return text;
}

class SlotDatasetTest : public ::testing::Test {
 protected:
  std::unique_ptr<SlotDataset> Make(const std::string& name) {
    auto dataset = *DatasetFactory().create_dataset(name);
    dataset->set_use_var({graph_.Ids("id"), graph_.Label("label")});
    dataset->set_batch_size(10);
    dataset->set_thread(2);
    dataset->set_filelist({a_, b_});
    return dataset;
  }

  // The ids of an epoch, in the order given.
  std::vector<uint64_t> Ids(SlotDataset& slots, int64_t epoch = 0) {
    auto opened = slots.open();
    EXPECT_TRUE(opened.ok()) << opened.status();
    EXPECT_TRUE((*opened)->StartEpoch(epoch).ok());
    std::vector<uint64_t> ids;
    Batch batch;
    while (*(*opened)->Next(0, &batch)) {
      const auto& more = batch.fields[0].ids.ids;
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  }

  // The status of reading the first batch.
  std::string FirstError(SlotDataset& slots) {
    auto opened = slots.open();
    if (!opened.ok()) return std::string(Message(opened.status()));
    Batch batch;
    Status status = (*opened)->StartEpoch(0);
    if (status.ok()) status = (*opened)->Next(0, &batch).status();
    return std::string(Message(status));
  }

  const TempDir dir_;
  const std::string a_ = dir_.Write("a", Text(0, 25));
  const std::string b_ = dir_.Write("b", Text(25, 40));
  Graph graph_;
};

TEST_F(SlotDatasetTest, BothKindsGiveTheRowsOfAllFiles) {
  for (const char* name : {"QueueDataset", "InMemoryDataset"}) {
    auto dataset = Make(name);
    const std::vector<uint64_t> ids = Ids(*dataset);
    ASSERT_EQ(ids.size(), 40u);
    for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(ids[i], i);
  }
}

TEST_F(SlotDatasetTest, ThePipeCommandStandsBetweenFileAndParser) {
  for (const char* name : {"QueueDataset", "InMemoryDataset"}) {
    auto dataset = Make(name);
    dataset->set_pipe_command("grep ' 1$'");
    EXPECT_EQ(Ids(*dataset).size(), 20u);
  }
}

TEST_F(SlotDatasetTest, RowsInMemoryCanBeShuffledAndReleased) {
  auto dataset = Make("InMemoryDataset");
  ASSERT_TRUE(dataset->preload_into_memory().ok());
  ASSERT_TRUE(dataset->wait_preload_done().ok());
  EXPECT_EQ(dataset->get_memory_data_size(), 40);
  const std::vector<uint64_t> plain = Ids(*dataset);
  ASSERT_TRUE(dataset->local_shuffle().ok());
  const std::vector<uint64_t> first = Ids(*dataset);
  ASSERT_TRUE(dataset->global_shuffle().ok());
  const std::vector<uint64_t> second = Ids(*dataset);
  EXPECT_NE(plain, first);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set<uint64_t>(second.begin(), second.end()).size(), 40u);
  ASSERT_TRUE(dataset->slots_shuffle({"id"}).ok());
  dataset->release_memory();
  EXPECT_EQ(dataset->get_memory_data_size(), 0);
  ASSERT_TRUE(dataset->load_into_memory().ok());
  EXPECT_EQ(dataset->get_memory_data_size(), 40);
}

// What the tutorials do in every pass.
TEST_F(SlotDatasetTest, AnotherFileListTakesEffectAtTheNextEpoch) {
  for (const char* name : {"QueueDataset", "InMemoryDataset"}) {
    SCOPED_TRACE(name);
    auto dataset = Make(name);
    dataset->set_filelist({a_});
    EXPECT_EQ(Ids(*dataset, 0).size(), 25u);
    dataset->set_filelist({b_});
    EXPECT_EQ(dataset->get_memory_data_size(), 0) << "rows of the last list are released";
    const std::vector<uint64_t> ids = Ids(*dataset, 1);
    ASSERT_EQ(ids.size(), 15u);
    EXPECT_EQ(ids[0], 25u);
    dataset->set_filelist({dir_.path() + "/none"});
    EXPECT_THAT(FirstError(*dataset), HasSubstr("none"));
    dataset->set_filelist({a_, b_});
    EXPECT_EQ(Ids(*dataset, 2).size(), 40u) << "a list that failed leaves it usable";
  }
}

TEST_F(SlotDatasetTest, TheSameFileListIsReadAnew) {
  for (const char* name : {"QueueDataset", "InMemoryDataset"}) {
    auto dataset = Make(name);
    const std::string file = dir_.Write("daily", Text(0, 5));
    dataset->set_filelist({file});
    EXPECT_EQ(Ids(*dataset).size(), 5u);
    dir_.Write("daily", Text(0, 7));
    dataset->set_filelist({file});
    EXPECT_EQ(Ids(*dataset).size(), 7u);
  }
}

TEST_F(SlotDatasetTest, SettingsChangeBetweenEpochs) {
  auto dataset = Make("InMemoryDataset");
  ASSERT_TRUE(dataset->load_into_memory().ok());
  const Dataset* const loaded = *dataset->open();
  dataset->set_batch_size(10);
  EXPECT_EQ(*dataset->open(), loaded) << "nothing changed: the rows stay";
  dataset->set_batch_size(7);
  auto opened = dataset->open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  Batch batch;
  ASSERT_TRUE((*opened)->StartEpoch(0).ok());
  ASSERT_TRUE(*(*opened)->Next(0, &batch));
  EXPECT_EQ(batch.rows, 7);
  dataset->set_use_var({Fc(graph_.Dense("x", 2), 1)});
  EXPECT_THAT(std::string(Message(dataset->open().status())), HasSubstr("not an input of a graph"));
  dataset->set_use_var({graph_.Ids("user"), graph_.Label("click")});
  EXPECT_EQ(Ids(*dataset).size(), 40u) << "a mistake that was mended is forgotten";
}

TEST_F(SlotDatasetTest, MistakesAreToldWithWhatToDo) {
  auto error = [](const Status& status) { return std::string(Message(status)); };
  EXPECT_THAT(error(DatasetFactory().create_dataset("MemoryDataset").status()),
              HasSubstr("did you mean InMemoryDataset?"));
  EXPECT_THAT(error(Make("QueueDataset")->local_shuffle()), HasSubstr("is for an InMemoryDataset"));
  SlotDataset empty(SlotDataset::Kind::kQueue);
  EXPECT_THAT(error(empty.open().status()), HasSubstr("set_use_var was not called"));
  auto other = Make("QueueDataset");
  other->set_use_var({Fc(graph_.Dense("x", 2), 1)});
  EXPECT_THAT(error(other->open().status()), HasSubstr("is not an input of a graph"));
}

}  // namespace
}  // namespace flotilla
