// Generates invalid messages of many kinds, for tests that send them to servers and clients.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "flotilla/base/rng.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// Random numbers that depend only on the key.
class Draws {
 public:
  explicit Draws(const RngKey& key) : key_(key) {}
  uint64_t Below(uint64_t limit) { return key_.Below(draws_++, limit); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // A boundary value that is likely to cause errors, or a small number.
  uint64_t Number() {
    static constexpr uint64_t kNumbers[] = {
        0,         1,          2,          3,          16,        255,        65'535,
        INT32_MAX, 1ull << 31, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
    return OneIn(2) ? Below(8) : kNumbers[Below(std::size(kNumbers))];
  }

 private:
  const RngKey key_;
  uint64_t draws_ = 0;
};

inline void ChangeMessage(google::protobuf::Message* message, Draws* draws);

inline void SetSingular(google::protobuf::Message* message,
                        const google::protobuf::FieldDescriptor* field, Draws* draws) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection* reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->SetUInt32(message, field, static_cast<uint32_t>(draws->Number()));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection->SetUInt64(message, field, draws->Number());
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(message, field, static_cast<int64_t>(draws->Number()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(message, field, draws->OneIn(2));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field, static_cast<int>(draws->Below(20)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ChangeMessage(reflection->MutableMessage(message, field), draws);
    default:
      return;  // texts stay
  }
}

inline void ChangeRepeated(google::protobuf::Message* message,
                           const google::protobuf::FieldDescriptor* field, Draws* draws) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection* reflection = message->GetReflection();
  const int size = reflection->FieldSize(*message, field);
  if (size > 0 && draws->OneIn(3)) return reflection->RemoveLast(message, field);
  const uint64_t number = draws->Number();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    if (size > 0 && draws->OneIn(2)) {
      return reflection->SetRepeatedUInt32(message, field, static_cast<int>(draws->Below(size)),
                                           static_cast<uint32_t>(number));
    }
    reflection->AddUInt32(message, field, static_cast<uint32_t>(number));
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    if (size > 0 && draws->OneIn(2)) {
      return reflection->SetRepeatedUInt64(message, field, static_cast<int>(draws->Below(size)),
                                           number);
    }
    reflection->AddUInt64(message, field, number);
  }
}

// Changes the value of one field of the message.
inline void ChangeMessage(google::protobuf::Message* message, Draws* draws) {
  const auto* descriptor = message->GetDescriptor();
  if (descriptor->field_count() == 0) return;
  const google::protobuf::FieldDescriptor* field =
      descriptor->field(static_cast<int>(draws->Below(descriptor->field_count())));
  // Only the body that is set may change: others would make it a request without a body.
  if (field->containing_oneof() != nullptr &&
      !message->GetReflection()->HasField(*message, field)) {
    return ChangeMessage(message, draws);
  }
  if (field->is_repeated()) return ChangeRepeated(message, field, draws);
  SetSingular(message, field, draws);
}

// Changes, removes or adds bytes.
inline Payload ChangeBytes(const Payload& payload, Draws* draws) {
  std::string bytes(payload.size(), '\0');
  PayloadReader(payload).Read(bytes.data(), bytes.size());
  for (uint64_t n = 1 + draws->Below(3); n > 0 && !bytes.empty(); --n) {
    const uint64_t at = draws->Below(bytes.size());
    switch (draws->Below(3)) {
      case 0:
        bytes[at] = static_cast<char>(draws->Below(256));
        break;
      case 1:
        bytes.erase(at, draws->Below(12));
        break;
      case 2:
        bytes.insert(at, bytes.substr(draws->Below(bytes.size()), draws->Below(12)));
        break;
    }
  }
  Payload changed;
  changed.AddCopy(bytes.data(), bytes.size());
  return changed;
}

}  // namespace flotilla
