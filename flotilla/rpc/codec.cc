#include "flotilla/rpc/codec.h"

#include <string>
#include <type_traits>

#include "flotilla/kernels/bfloat16.h"

namespace flotilla {

namespace {

constexpr uint32_t kMagic = 0x31544c46;  // the letters FLT1
// A parsed head takes many times its encoded size.
constexpr size_t kMaxHeadBytes = size_t{8} << 20;

struct Prefix {
  uint32_t magic = kMagic;
  uint32_t head_bytes = 0;
};

template <typename Element>
constexpr wire::DataType TypeOf() {
  if constexpr (std::is_same_v<Element, uint8_t>) return wire::DATA_UINT8;
  if constexpr (std::is_same_v<Element, uint64_t>) return wire::DATA_UINT64;
  if constexpr (std::is_same_v<Element, float>) return wire::DATA_FLOAT32;
  if constexpr (std::is_same_v<Element, double>) return wire::DATA_FLOAT64;
  if constexpr (std::is_same_v<Element, Bfloat16>) return wire::DATA_BFLOAT16;
  return wire::DATA_UNKNOWN;
}

// 0 for a type that this version does not know.
size_t ElementBytes(wire::DataType type) {
  switch (type) {
    case wire::DATA_UINT8:
      return 1;
    case wire::DATA_BFLOAT16:
      return 2;
    case wire::DATA_FLOAT32:
      return 4;
    case wire::DATA_UINT64:
    case wire::DATA_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

// The name of a type that was received and may be invalid.
std::string TypeName(wire::DataType type) {
  return ElementBytes(type) == 0 ? fmt::format("type {}", static_cast<int>(type))
                                 : wire::DataType_Name(type);
}

constexpr size_t kMaxErrorBytes = 64 << 10;

template <typename Head>
Payload Encode(Head head, const TensorWriter& tensors) {
  head.clear_tensors();
  for (const wire::TensorInfo& info : tensors.infos()) *head.add_tensors() = info;
  const size_t head_bytes = head.ByteSizeLong();
  FL_CHECK(head_bytes <= kMaxHeadBytes);
  auto front = std::make_shared<std::string>(sizeof(Prefix) + head_bytes, '\0');
  const Prefix prefix{.head_bytes = static_cast<uint32_t>(head_bytes)};
  std::memcpy(front->data(), &prefix, sizeof(prefix));
  head.SerializeToArray(front->data() + sizeof(prefix), static_cast<int>(head_bytes));
  Payload payload;
  payload.Add(SliceOf(std::shared_ptr<const std::string>(front), 0, front->size()));
  payload.Add(tensors.bytes());
  return payload;
}

// Whether the tensors that a head lists are exactly `bytes` long, without overflow.
Status CheckSizes(const google::protobuf::RepeatedPtrField<wire::TensorInfo>& infos, size_t bytes) {
  size_t left = bytes;
  for (const wire::TensorInfo& info : infos) {
    const size_t element = ElementBytes(info.type());
    if (element == 0) return InvalidArgument("tensor of {}", TypeName(info.type()));
    if (info.elements() > left / element) {
      return InvalidArgument("tensors of more bytes than the {} that follow the head", bytes);
    }
    left -= info.elements() * element;
  }
  if (left > 0) return InvalidArgument("{} bytes behind the last tensor", left);
  return absl::OkStatus();
}

template <typename Message>
StatusOr<Message> Decode(Payload payload) {
  PayloadReader reader(std::move(payload));
  Prefix prefix;
  if (!reader.Read(&prefix, sizeof(prefix)) || prefix.magic != kMagic) {
    return InvalidArgument("not a message of this protocol");
  }
  if (prefix.head_bytes > kMaxHeadBytes || prefix.head_bytes > reader.left()) {
    return InvalidArgument("message with a head of {} bytes, {} follow", prefix.head_bytes,
                           reader.left());
  }
  std::string bytes(prefix.head_bytes, '\0');
  reader.Read(bytes.data(), bytes.size());
  Message message;
  if (!message.head.ParseFromString(bytes)) return InvalidArgument("message with a broken head");
  const auto& infos = message.head.tensors();
  FL_RETURN_IF_ERROR(CheckSizes(infos, reader.left()));
  message.tensors = TensorReader({infos.begin(), infos.end()}, std::move(reader));
  return message;
}

}  // namespace

template <typename Element>
void TensorWriter::Add(ByteSlice slice) {
  wire::TensorInfo& info = infos_.emplace_back();
  info.set_type(TypeOf<Element>());
  info.set_elements(slice.size / sizeof(Element));
  bytes_.Add(std::move(slice));
}

template <typename Element>
void TensorWriter::AddCopy(std::span<const Element> elements) {
  AddOwned(std::vector<Element>(elements.begin(), elements.end()));
}

void TensorWriter::AddHalf(std::span<const float> elements) {
  std::vector<Bfloat16> halves(elements.size());
  kernels::ToBfloat16(static_cast<int64_t>(elements.size()), elements.data(),
                      reinterpret_cast<uint16_t*>(halves.data()));
  AddOwned(std::move(halves));
}

template <typename Element>
Status TensorReader::Check(size_t elements) const {
  if (done()) return InvalidArgument("the message has {} tensors, one more is needed", next_);
  const wire::TensorInfo& info = infos_[next_];
  if (info.type() != TypeOf<Element>()) {
    return InvalidArgument("tensor {} is of {}, expected {}", next_, TypeName(info.type()),
                           TypeName(TypeOf<Element>()));
  }
  if (info.elements() != elements) {
    return InvalidArgument("tensor {} has {} elements, expected {}", next_, info.elements(),
                           elements);
  }
  return absl::OkStatus();
}

template <typename Element>
Status TensorReader::Read(std::span<Element> out) {
  FL_RETURN_IF_ERROR(Check<Element>(out.size()));
  FL_CHECK(bytes_.Read(out.data(), out.size_bytes()));
  ++next_;
  return absl::OkStatus();
}

StatusOr<std::span<const float>> TensorReader::ReadInPlace(size_t elements,
                                                           AlignedVector<float>* copy) {
  FL_RETURN_IF_ERROR(Check<float>(elements));
  const std::byte* place = bytes_.ReadInPlace(elements * sizeof(float), alignof(float));
  if (place != nullptr) {
    ++next_;
    return std::span(reinterpret_cast<const float*>(place), elements);
  }
  copy->resize(elements);
  FL_RETURN_IF_ERROR(Read(std::span<float>(*copy)));
  return std::span<const float>(*copy);
}

Status TensorReader::ReadHalf(std::span<float> out) {
  FL_RETURN_IF_ERROR(Check<Bfloat16>(out.size()));
  std::vector<Bfloat16> halves(out.size());
  FL_RETURN_IF_ERROR(Read(std::span<Bfloat16>(halves)));
  kernels::FromBfloat16(static_cast<int64_t>(out.size()),
                        reinterpret_cast<const uint16_t*>(halves.data()), out.data());
  return absl::OkStatus();
}

Status TensorReader::Finish() const {
  if (done()) return absl::OkStatus();
  return InvalidArgument("the message has {} tensors, expected {}", infos_.size(), next_);
}

template void TensorWriter::Add<uint8_t>(ByteSlice);
template void TensorWriter::Add<uint64_t>(ByteSlice);
template void TensorWriter::Add<float>(ByteSlice);
template void TensorWriter::Add<double>(ByteSlice);
template void TensorWriter::Add<Bfloat16>(ByteSlice);
template void TensorWriter::AddCopy<uint8_t>(std::span<const uint8_t>);
template void TensorWriter::AddCopy<uint64_t>(std::span<const uint64_t>);
template void TensorWriter::AddCopy<float>(std::span<const float>);
template void TensorWriter::AddCopy<double>(std::span<const double>);
template Status TensorReader::Check<uint8_t>(size_t) const;
template Status TensorReader::Check<uint64_t>(size_t) const;
template Status TensorReader::Check<float>(size_t) const;
template Status TensorReader::Check<double>(size_t) const;
template Status TensorReader::Read<uint8_t>(std::span<uint8_t>);
template Status TensorReader::Read<uint64_t>(std::span<uint64_t>);
template Status TensorReader::Read<float>(std::span<float>);
template Status TensorReader::Read<double>(std::span<double>);
template Status TensorReader::Read<Bfloat16>(std::span<Bfloat16>);

Payload EncodeRequest(wire::RequestHead head, const TensorWriter& tensors) {
  return Encode(std::move(head), tensors);
}

Payload EncodeResponse(wire::ResponseHead head, const TensorWriter& tensors) {
  return Encode(std::move(head), tensors);
}

Payload EncodeError(const Status& error, bool job_failed) {
  wire::ResponseHead head;
  head.set_code(static_cast<uint32_t>(error.code()));
  // The message may quote the request, and must fit into a head.
  head.set_message(std::string(Message(error).substr(0, kMaxErrorBytes)));
  head.set_job_failed(job_failed);
  return EncodeResponse(std::move(head), {});
}

StatusOr<RequestMessage> DecodeRequest(Payload payload) {
  return Decode<RequestMessage>(std::move(payload));
}

StatusOr<ResponseMessage> DecodeResponse(Payload payload) {
  return Decode<ResponseMessage>(std::move(payload));
}

StatusOr<int64_t> StepOf(uint64_t step) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  if (step <= kMost) return static_cast<int64_t>(step);
  return InvalidArgument("a global step of {}, at most {} can be", step, kMost);
}

Status StatusOf(const wire::ResponseHead& head) {
  if (head.code() == 0) return absl::OkStatus();
  // A code that this version does not know becomes kUnknown.
  return Status(static_cast<absl::StatusCode>(head.code()), head.message());
}

}  // namespace flotilla
