#include "flotilla/rpc/codec.h"

#include <gtest/gtest.h>

#include <string>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

std::string BytesOf(const Payload& payload) {
  std::string bytes(payload.size(), '\0');
  PayloadReader(payload).Read(bytes.data(), bytes.size());
  return bytes;
}

// In slices of `piece` bytes, as a network may deliver it.
Payload SlicedPayload(const std::string& bytes, size_t piece = 7) {
  Payload payload;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    payload.AddCopy(bytes.data() + at, std::min(piece, bytes.size() - at));
  }
  return payload;
}

std::string ExamplePush() {
  wire::RequestHead head;
  head.set_protocol_version(kProtocolVersion);
  head.set_method(wire::METHOD_PUSH);
  head.set_job_id("job");
  head.mutable_push()->add_tables(3);
  TensorWriter tensors;
  tensors.AddOwned(std::vector<uint64_t>{5, uint64_t{1} << 63});
  tensors.AddOwned(AlignedVector<float>{1.5f, -2, 0, 7});
  tensors.AddOwned(std::vector<uint8_t>{});
  tensors.AddOwned(std::vector<double>{0.1});
  return BytesOf(EncodeRequest(std::move(head), tensors));
}

TEST(CodecTest, FloatsMayTravelAsHalves) {
  TensorWriter tensors;
  tensors.AddHalf(std::vector<float>{1, -2.5f, 257});
  auto message = DecodeRequest(EncodeRequest({}, tensors));
  ASSERT_TRUE(message.ok()) << message.status();
  std::vector<float> values(3);
  EXPECT_FALSE(message->tensors.Read(std::span<float>(values)).ok()) << "not float32";
  ASSERT_TRUE(message->tensors.ReadHalf(values).ok());
  EXPECT_EQ(values, (std::vector<float>{1, -2.5f, 256}));
}

TEST(CodecTest, FloatsAreReadInPlaceOrCopied) {
  const std::vector<float> values = {1, 2, 3};
  TensorWriter tensors;
  tensors.AddOwned(values);
  const Payload whole = EncodeRequest({}, tensors);
  for (const Payload& payload : {whole, SlicedPayload(BytesOf(whole), 5)}) {
    auto message = DecodeRequest(payload);
    ASSERT_TRUE(message.ok()) << message.status();
    AlignedVector<float> copy;
    EXPECT_FALSE(message->tensors.ReadInPlace(2, &copy).ok()) << "of another length";
    const auto read = message->tensors.ReadInPlace(3, &copy);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(std::vector<float>(read->begin(), read->end()), values);
    EXPECT_TRUE(message->tensors.Finish().ok());
  }
}

TEST(CodecTest, WhatWasWrittenIsReadHoweverItIsCut) {
  for (const size_t piece : {1, 3, 16, 1000}) {
    auto message = DecodeRequest(SlicedPayload(ExamplePush(), piece));
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(message->head.job_id(), "job");
    EXPECT_EQ(message->head.push().tables(0), 3u);
    std::vector<uint64_t> ids;
    std::vector<float> values(4);
    std::vector<uint8_t> none = {9};
    std::vector<double> numbers;
    TensorReader& tensors = message->tensors;
    EXPECT_EQ(tensors.next_elements(), 2u);
    EXPECT_TRUE(tensors.ReadAll(&ids).ok());
    EXPECT_TRUE(tensors.Read(std::span<float>(values)).ok());
    EXPECT_FALSE(tensors.Finish().ok());
    EXPECT_TRUE(tensors.ReadAll(&none).ok());
    EXPECT_TRUE(tensors.ReadAll(&numbers).ok());
    EXPECT_TRUE(tensors.Finish().ok());
    EXPECT_EQ(ids, (std::vector<uint64_t>{5, uint64_t{1} << 63}));
    EXPECT_EQ(values, (std::vector<float>{1.5f, -2, 0, 7}));
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(numbers, std::vector<double>{0.1});
  }
}

TEST(CodecTest, RowsAreSpreadToTheirPlaces) {
  auto message = DecodeRequest(SlicedPayload(ExamplePush()));
  std::vector<uint64_t> ids;
  ASSERT_TRUE(message->tensors.ReadAll(&ids).ok());
  std::vector<float> out(6, 0);
  ASSERT_TRUE(message->tensors
                  .ReadRows<float>(2, 2, [&](size_t i) { return out.data() + (i == 0 ? 4 : 0); })
                  .ok());
  EXPECT_EQ(out, (std::vector<float>{0, 7, 0, 0, 1.5f, -2}));
}

TEST(CodecTest, AWrongTypeOrLengthIsAnErrorThatNamesBothAndTakesNothing) {
  auto message = DecodeRequest(SlicedPayload(ExamplePush()));
  std::vector<float> floats;
  EXPECT_EQ(message->tensors.ReadAll(&floats).message(),
            "tensor 0 is of DATA_UINT64, expected DATA_FLOAT32");
  std::vector<uint64_t> three(3);
  EXPECT_EQ(message->tensors.Read(std::span<uint64_t>(three)).message(),
            "tensor 0 has 2 elements, expected 3");
  std::vector<uint64_t> two(2);
  EXPECT_TRUE(message->tensors.Read(std::span<uint64_t>(two)).ok());
}

TEST(CodecTest, EveryTruncationIsRefused) {
  const std::string bytes = ExamplePush();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeRequest(SlicedPayload(bytes.substr(0, size))).status().code(),
              absl::StatusCode::kInvalidArgument)
        << size;
  }
  EXPECT_FALSE(DecodeRequest(SlicedPayload(bytes + "x")).ok());
}

TEST(CodecTest, GarbageIsRefusedOrReadButNeverTrusted) {
  const std::string bytes = ExamplePush();
  const RngKey key(3);
  int refused = 0;
  for (uint64_t round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (uint64_t k = 0; k < 1 + round % 3; ++k) {
      damaged[key.With(round).Below(2 * k, damaged.size())] =
          static_cast<char>(key.With(round).Bits(2 * k + 1));
    }
    auto message = DecodeRequest(SlicedPayload(damaged));
    if (!message.ok()) {
      ++refused;
      continue;
    }
    // Whatever its content is now, its tensors have the same size as the received bytes.
    size_t total = 0;
    while (!message->tensors.done()) {
      std::vector<uint8_t> u8;
      std::vector<uint64_t> u64;
      std::vector<float> f32;
      std::vector<double> f64;
      const bool read = message->tensors.ReadAll(&u8).ok() || message->tensors.ReadAll(&u64).ok() ||
                        message->tensors.ReadAll(&f32).ok() || message->tensors.ReadAll(&f64).ok();
      ASSERT_TRUE(read);
      total += u8.size() + 8 * u64.size() + 4 * f32.size() + 8 * f64.size();
    }
    EXPECT_LT(total, bytes.size());
  }
  EXPECT_GT(refused, 500);
}

TEST(CodecTest, TensorsThatClaimMoreThanFollowsAreRefusedBeforeMemoryIsTaken) {
  for (const uint64_t elements : {uint64_t{3}, uint64_t{1} << 40, uint64_t{1} << 62, UINT64_MAX}) {
    wire::RequestHead head;
    wire::TensorInfo& info = *head.add_tensors();
    info.set_type(wire::DATA_FLOAT64);
    info.set_elements(elements);
    const std::string text = head.SerializeAsString();
    const uint32_t prefix[2] = {0x31544c46, static_cast<uint32_t>(text.size())};
    std::string bytes(reinterpret_cast<const char*>(prefix), sizeof(prefix));
    bytes += text + std::string(16, 'x');
    EXPECT_EQ(DecodeRequest(SlicedPayload(bytes)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(CodecTest, ErrorsTravelWithCodeAndMessage) {
  const auto response = DecodeResponse(EncodeError(NotFound("no table {}", "emb"), true));
  ASSERT_TRUE(response.ok());
  EXPECT_TRUE(response->head.job_failed());
  EXPECT_EQ(StatusOf(response->head), NotFound("no table emb"));
  EXPECT_TRUE(StatusOf(DecodeResponse(EncodeResponse({}, {}))->head).ok());
}

}  // namespace
}  // namespace flotilla
