#include "flotilla/communicator/id_set.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(IdSetTest, HoldsWhatWasAddedUntilItIsCleared) {
  for (const int64_t bound : {int64_t{0}, int64_t{1000}, int64_t{1} << 40}) {
    IdSet set(bound);
    EXPECT_FALSE(set.Contains(999));
    set.Add(std::vector<uint64_t>{0, 64, 999});
    set.Add(std::vector<uint64_t>{64, 65});
    for (uint64_t id = 0; id < 1000; ++id) {
      EXPECT_EQ(set.Contains(id), id == 0 || id == 64 || id == 65 || id == 999) << id;
    }
    set.Clear();
    for (uint64_t id = 0; id < 1000; ++id) EXPECT_FALSE(set.Contains(id)) << id;
  }
}

}  // namespace
}  // namespace flotilla
