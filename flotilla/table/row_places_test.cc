#include "flotilla/table/row_places.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(RowPlacesTest, AnIdHasNoRowUntilItIsInserted) {
  auto places = *RowPlaces::Make(1'000'000, true);
  EXPECT_EQ(places->Find(0), kNoRow);
  EXPECT_EQ(places->Find(999'999), kNoRow);
  places->Prefetch(0);
  places->Insert(999'999, 0);
  places->Insert(0, kNoRow - 1);
  EXPECT_EQ(places->Find(999'999), 0u);
  EXPECT_EQ(places->Find(0), kNoRow - 1);
  EXPECT_EQ(places->Find(1), kNoRow);
}

TEST(RowPlacesTest, ItTakesFourBytesAnId) {
  const size_t bytes = (*RowPlaces::Make(1'000'000, true))->memory_bytes();
  EXPECT_GE(bytes, 4'000'000u);
  EXPECT_LT(bytes, 4'010'000u);
}

}  // namespace
}  // namespace flotilla
