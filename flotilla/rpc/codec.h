// Encodes and decodes messages: a small prefix, a head (ps.proto), then the tensors as raw memory.
// docs/wire_protocol.md specifies it. The tensors are never encoded element by element:
// senders add slices, receivers copy each once to its destination.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"
#include "flotilla/rpc/ps.pb.h"

namespace flotilla {

// Increased when the protocol changes: both sides must have the same version.
inline constexpr uint32_t kProtocolVersion = 6;

// An element of half the size of a float, as kernels/bfloat16.h converts it.
struct Bfloat16 {
  uint16_t bits = 0;
};

// The tensors of a message that is being built.
class TensorWriter {
 public:
  // The slice's bytes are elements of that type: uint64_t, float, double, uint8_t or Bfloat16.
  template <typename Element>
  void Add(ByteSlice slice);
  // The same for elements that are copied now.
  template <typename Element>
  void AddCopy(std::span<const Element> elements);
  // Floats, rounded to bfloat16 and copied now.
  void AddHalf(std::span<const float> elements);
  // The elements of a vector that is moved in.
  template <typename Vector>
  void AddOwned(Vector vector) {
    auto owner = std::make_shared<const Vector>(std::move(vector));
    Add<typename Vector::value_type>(SliceOf(owner, 0, owner->size()));
  }

  const std::vector<wire::TensorInfo>& infos() const { return infos_; }
  const Payload& bytes() const { return bytes_; }

 private:
  std::vector<wire::TensorInfo> infos_;
  Payload bytes_;
};

// The tensors of a message that arrived, one after another. Every call checks type and number of
// elements before it takes memory; an error names the position of the tensor and both sides.
class TensorReader {
 public:
  TensorReader() = default;
  // `infos` describe exactly the bytes that `bytes` has left.
  TensorReader(std::vector<wire::TensorInfo> infos, PayloadReader bytes)
      : infos_(std::move(infos)), bytes_(std::move(bytes)) {}

  bool done() const { return next_ == infos_.size(); }
  size_t left() const { return infos_.size() - next_; }
  // The number of elements of the next tensor; 0 at the end.
  uint64_t next_elements() const { return done() ? 0 : infos_[next_].elements(); }

  // Fills `out` with the next tensor, which must have the same number of elements.
  template <typename Element>
  Status Read(std::span<Element> out);
  // The same for a tensor that was written by AddHalf.
  Status ReadHalf(std::span<float> out);
  // The next tensor, which must have `count` floats, in place in the message or, if it is not
  // contiguous there, in `copy`. Valid as long as the reader and the copy.
  StatusOr<std::span<const float>> ReadInPlace(size_t elements, AlignedVector<float>* copy);
  // Scatters the next tensor, which must be (rows, width): row i goes to place(i).
  template <typename Element, typename Place>
  Status ReadRows(size_t rows, size_t width, Place place) {
    FL_RETURN_IF_ERROR(Check<Element>(rows * width));
    for (size_t i = 0; i < rows; ++i) FL_CHECK(bytes_.Read(place(i), width * sizeof(Element)));
    ++next_;
    return absl::OkStatus();
  }
  // Resizes `out` to the size of the next tensor and fills it.
  template <typename Vector>
  Status ReadAll(Vector* out) {
    FL_RETURN_IF_ERROR(Check<typename Vector::value_type>(next_elements()));
    out->resize(next_elements());
    return Read(std::span<typename Vector::value_type>(*out));
  }
  // Appends the next tensor to `out`.
  template <typename Vector>
  Status ReadMore(Vector* out) {
    FL_RETURN_IF_ERROR(Check<typename Vector::value_type>(next_elements()));
    const size_t before = out->size();
    out->resize(before + next_elements());
    return Read(std::span<typename Vector::value_type>(*out).subspan(before));
  }
  // Ok, or an error if tensors are left.
  Status Finish() const;

 private:
  // Checks that the next tensor exists and has this number of elements of this type.
  template <typename Element>
  Status Check(size_t elements) const;

  std::vector<wire::TensorInfo> infos_;
  size_t next_ = 0;
  PayloadReader bytes_;
};

struct RequestMessage {
  wire::RequestHead head;
  TensorReader tensors;
};
struct ResponseMessage {
  wire::ResponseHead head;
  TensorReader tensors;
};

// Fills the head's list of tensors from `tensors`.
Payload EncodeRequest(wire::RequestHead head, const TensorWriter& tensors);
Payload EncodeResponse(wire::ResponseHead head, const TensorWriter& tensors);
// A response that carries an error and no tensors.
Payload EncodeError(const Status& error, bool job_failed);

// InvalidArgument for bytes that are not such a message: wrong magic, a head that does not parse or
// is larger than 8 MB, tensors whose sizes do not add up to the bytes that follow.
StatusOr<RequestMessage> DecodeRequest(Payload payload);
StatusOr<ResponseMessage> DecodeResponse(Payload payload);

// Checks a global step that was received. InvalidArgument for one that no job reaches: counting on
// from it would overflow.
StatusOr<int64_t> StepOf(uint64_t step);

// The status that a response carries.
Status StatusOf(const wire::ResponseHead& head);

}  // namespace flotilla
