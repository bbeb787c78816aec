#include "flotilla/rpc/payload.h"

#include <gtest/gtest.h>

#include <string>

namespace flotilla {
namespace {

// The text "abc..", split into slices of these sizes.
Payload Cut(const std::vector<size_t>& sizes) {
  Payload payload;
  char next = 'a';
  for (const size_t size : sizes) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += next++;
    payload.AddCopy(text.data(), text.size());
  }
  return payload;
}

std::string ReadText(PayloadReader& reader, size_t size) {
  std::string text(size, '?');
  EXPECT_TRUE(reader.Read(text.data(), size));
  return text;
}

TEST(PayloadTest, ReadsAcrossSlicesInPiecesOfAnySize) {
  const std::vector<std::vector<size_t>> cuts = {
      {10}, {1, 9}, {3, 3, 4}, {0, 5, 0, 5}, {2, 2, 2, 2, 2}};
  for (const auto& cut : cuts) {
    for (size_t piece = 1; piece <= 10; ++piece) {
      PayloadReader reader(Cut(cut));
      std::string all;
      while (reader.left() > 0) all += ReadText(reader, std::min(piece, reader.left()));
      EXPECT_EQ(all, "abcdefghij") << piece;
    }
  }
}

TEST(PayloadTest, ReadsNothingWhenTooLittleIsLeft) {
  PayloadReader reader(Cut({2, 2}));
  std::string text(8, '?');
  EXPECT_FALSE(reader.Read(text.data(), 5));
  EXPECT_EQ(reader.left(), 4u);
  EXPECT_EQ(ReadText(reader, 4), "abcd");
  EXPECT_FALSE(reader.Read(text.data(), 1));
  EXPECT_TRUE(reader.Read(text.data(), 0));
}

TEST(PayloadTest, BytesInOnePieceAreReadInPlace) {
  const Payload payload = Cut({2, 6});
  PayloadReader reader(payload);
  EXPECT_EQ(reader.ReadInPlace(3, 1), nullptr) << "in two slices";
  EXPECT_EQ(reader.ReadInPlace(9, 1), nullptr) << "more than there is";
  EXPECT_EQ(ReadText(reader, 3), "abc");
  const std::byte* place = payload.slices()[1].data + 1;
  EXPECT_EQ(reader.ReadInPlace(3, 64),
            reinterpret_cast<uintptr_t>(place) % 64 == 0 ? place : nullptr);
  EXPECT_EQ(reader.ReadInPlace(5, 1), place);
  EXPECT_EQ(reader.left(), 0u);
}

TEST(PayloadTest, EmptySlicesAreLeftOutAndSizesAddUp) {
  Payload payload = Cut({0, 3, 0});
  EXPECT_EQ(payload.slices().size(), 1u);
  payload.Add(Cut({4, 4}));
  EXPECT_EQ(payload.size(), 11u);
  EXPECT_EQ(payload.slices().size(), 3u);
}

TEST(PayloadTest, KeepsTheOwnerOfASliceAliveAndSharesItsBytes) {
  auto owner = std::make_shared<const std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<const std::vector<float>> watch = owner;
  Payload payload;
  payload.Add(SliceOf(owner, 1, 2));
  const auto* at = reinterpret_cast<const std::byte*>(owner->data() + 1);
  owner = nullptr;
  EXPECT_EQ(payload.slices()[0].data, at);
  EXPECT_EQ(payload.size(), 8u);
  EXPECT_FALSE(watch.expired());
  payload = Payload();
  EXPECT_TRUE(watch.expired());
}

TEST(PayloadTest, WhatWasMovedFromIsEmpty) {
  Payload from = Cut({5});
  const Payload to = std::move(from);
  EXPECT_EQ(to.size(), 5u);
  EXPECT_EQ(from.size(), 0u);  // NOLINT: that is the promise
  EXPECT_EQ(from.slices().size(), 0u);
}

}  // namespace
}  // namespace flotilla
