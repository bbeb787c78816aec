#include "flotilla/kernels/text.h"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/text.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

// ---- Positions ----

using ByteTag = hn::CappedTag<uint8_t, 64>;

// Bit i is set where byte i is the one in `wanted`.
HWY_INLINE uint64_t MatchingBytes(const char* text, hn::Vec<ByteTag> wanted) {
  const ByteTag d;
  uint64_t bits = 0;
  const auto found = hn::Eq(hn::LoadU(d, reinterpret_cast<const uint8_t*>(text)), wanted);
  hn::StoreMaskBits(d, found, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

// Appends the indices of the set bits. They are written eight at a time, including unused ones,
// because a branch on their number would be unpredictable.
HWY_INLINE uint32_t* AppendBits(uint64_t bits, uint32_t first, uint32_t* out) {
  const int count = std::popcount(bits);
  for (int i = 0; i < count; i += 8) {
    for (int k = 0; k < 8; ++k) {
      out[i + k] = first + static_cast<uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
  }
  return out + count;
}

int64_t FindByte(std::string_view text, char byte, int64_t limit, uint32_t* positions) {
  const ByteTag d;
  const auto wanted = hn::Set(d, static_cast<uint8_t>(byte));
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  const auto size = static_cast<int64_t>(text.size());
  uint32_t* out = positions;
  for (int64_t at = 0; at < size; at += width) {
    uint64_t bits = 0;
    if (at + width <= size) {
      bits = MatchingBytes(text.data() + at, wanted);
    } else if (size >= width) {  // the last bytes of the text, without those already seen
      bits = MatchingBytes(text.data() + size - width, wanted) >> (width - (size - at));
    } else {
      for (int64_t i = 0; i < size; ++i) bits |= uint64_t{text[i] == byte} << i;
    }
    if (out - positions + std::popcount(bits) > limit) return -1;
    out = AppendBits(bits, static_cast<uint32_t>(at), out);
  }
  return out - positions;
}

// ---- Fields ----

// 64-bit integers, one or a whole vector of them: the interface that the functions below are
// written against.
struct OneNumber {
  using V = uint64_t;
  static constexpr int kCount = 1;
  static V Set(uint64_t x) { return x; }
  static V Load(const uint64_t* p) { return *p; }
  static V Load(const uint32_t* p) { return *p; }
  static void Store(V a, uint64_t* p) { *p = a; }
  static void Store(V a, int32_t* p) { *p = static_cast<int32_t>(a); }
  // Eight bytes from text + offset on.
  static V Gather(const char* text, V offset) {
    uint64_t word;
    std::memcpy(&word, text + offset, 8);
    return word;
  }
  static V Add(V a, V b) { return a + b; }
  static V Sub(V a, V b) { return a - b; }
  static V Mul(V a, V b) { return a * b; }
  static V And(V a, V b) { return a & b; }
  static V Or(V a, V b) { return a | b; }
  static V Xor(V a, V b) { return a ^ b; }
  static V AndNot(V a, V b) { return ~a & b; }
  static V Min(V a, V b) { return a < b ? a : b; }
  template <int kBits>
  static V Left(V a) {
    return a << kBits;
  }
  template <int kBits>
  static V Right(V a) {
    return a >> kBits;
  }
  static V LeftBy(V a, V bits) { return bits < 64 ? a << bits : 0; }
  // All bits set, or none.
  static V Equal(V a, V b) { return a == b ? ~V{0} : 0; }
  static V Less(V a, V b) { return a < b ? ~V{0} : 0; }
  // One bit per element, set if the element is not zero.
  static uint32_t NotZero(V a) { return a != 0; }
};

#if HWY_TARGET == HWY_AVX3  // the other targets multiply 64 bits no faster in vectors
struct Numbers {
  using D = hn::ScalableTag<uint64_t>;
  using V = hn::Vec<D>;
  static constexpr int kCount = 8;
  static HWY_INLINE V Set(uint64_t x) { return hn::Set(D(), x); }
  static HWY_INLINE V Load(const uint64_t* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE V Load(const uint32_t* p) {
    return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<uint32_t, D>(), p));
  }
  static HWY_INLINE void Store(V a, uint64_t* p) { hn::StoreU(a, D(), p); }
  static HWY_INLINE void Store(V a, int32_t* p) {
    const hn::Rebind<int32_t, D> low;
    hn::StoreU(hn::BitCast(low, hn::TruncateTo(hn::Rebind<uint32_t, D>(), a)), low, p);
  }
  static HWY_INLINE V Gather(const char* text, V offset) {
    const hn::RebindToSigned<D> di;
    return hn::GatherOffset(D(), reinterpret_cast<const uint64_t*>(text), hn::BitCast(di, offset));
  }
  static HWY_INLINE V Add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V Sub(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE V Mul(V a, V b) { return hn::Mul(a, b); }
  static HWY_INLINE V And(V a, V b) { return hn::And(a, b); }
  static HWY_INLINE V Or(V a, V b) { return hn::Or(a, b); }
  static HWY_INLINE V Xor(V a, V b) { return hn::Xor(a, b); }
  static HWY_INLINE V AndNot(V a, V b) { return hn::AndNot(a, b); }
  static HWY_INLINE V Min(V a, V b) { return hn::Min(a, b); }
  template <int kBits>
  static HWY_INLINE V Left(V a) {
    return hn::ShiftLeft<kBits>(a);
  }
  template <int kBits>
  static HWY_INLINE V Right(V a) {
    return hn::ShiftRight<kBits>(a);
  }
  static HWY_INLINE V LeftBy(V a, V bits) { return hn::Shl(a, bits); }
  static HWY_INLINE V Equal(V a, V b) { return hn::VecFromMask(D(), hn::Eq(a, b)); }
  static HWY_INLINE V Less(V a, V b) { return hn::VecFromMask(D(), hn::Lt(a, b)); }
  static HWY_INLINE uint32_t NotZero(V a) {
    uint8_t bits[8] = {};
    hn::StoreMaskBits(D(), hn::Ne(a, hn::Zero(D())), bits);
    return bits[0];
  }
};
#else
using Numbers = OneNumber;
#endif

// Several of them, processed in lockstep: the chains of dependent products then overlap.
template <class N, int kTimes>
struct Together {
  struct V {
    typename N::V part[kTimes];
  };
  template <class F>
  static HWY_INLINE V Each(F f) {
    V result;
    for (int i = 0; i < kTimes; ++i) result.part[i] = f(i);
    return result;
  }
  static HWY_INLINE V Set(uint64_t x) {
    return Each([&](int) FL_LANES { return N::Set(x); });
  }
  static HWY_INLINE V Add(const V& a, const V& b) {
    return Each([&](int i) FL_LANES { return N::Add(a.part[i], b.part[i]); });
  }
  static HWY_INLINE V Mul(const V& a, const V& b) {
    return Each([&](int i) FL_LANES { return N::Mul(a.part[i], b.part[i]); });
  }
  static HWY_INLINE V Or(const V& a, const V& b) {
    return Each([&](int i) FL_LANES { return N::Or(a.part[i], b.part[i]); });
  }
  static HWY_INLINE V Xor(const V& a, const V& b) {
    return Each([&](int i) FL_LANES { return N::Xor(a.part[i], b.part[i]); });
  }
  template <int kBits>
  static HWY_INLINE V Left(const V& a) {
    return Each([&](int i) FL_LANES { return N::template Left<kBits>(a.part[i]); });
  }
  template <int kBits>
  static HWY_INLINE V Right(const V& a) {
    return Each([&](int i) FL_LANES { return N::template Right<kBits>(a.part[i]); });
  }
};

template <class N, int kBits, class V = typename N::V>
HWY_INLINE V RotateLeft(V a) {
  return N::Xor(N::template Left<kBits>(a), N::template Right<64 - kBits>(a));
}

// XXH64 of ten bytes: one round for the first eight, then the last two.
template <class N, class V = typename N::V>
HWY_INLINE V HashOfTen(V two, V eight) {
  constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu,
                     kPrime3 = 0x165667B19E3779F9u, kPrime4 = 0x85EBCA77C2B2AE63u,
                     kPrime5 = 0x27D4EB2F165667C5u;
  const V p1 = N::Set(kPrime1), p2 = N::Set(kPrime2), p5 = N::Set(kPrime5);
  const V head = N::Or(N::template Left<16>(eight), two);
  const V ninth = N::template Right<56>(N::template Left<8>(eight));
  const V tenth = N::template Right<56>(eight);
  V h = N::Xor(N::Mul(RotateLeft<N, 31>(N::Mul(head, p2)), p1), N::Set(kPrime5 + 10));
  h = N::Add(N::Mul(RotateLeft<N, 27>(h), p1), N::Set(kPrime4));
  h = N::Mul(RotateLeft<N, 11>(N::Xor(h, N::Mul(ninth, p5))), p1);
  h = N::Mul(RotateLeft<N, 11>(N::Xor(h, N::Mul(tenth, p5))), p1);
  h = N::Mul(N::Xor(h, N::template Right<33>(h)), p2);
  h = N::Mul(N::Xor(h, N::template Right<29>(h)), N::Set(kPrime3));
  return N::Xor(h, N::template Right<32>(h));
}

uint32_t HashFieldsOfEight(std::string_view text, const uint32_t* separators, int n,
                           const uint64_t* twos, uint64_t* hashes) {
  using N = Numbers;
  const N::V last = N::Set(text.size() - 8);
  uint32_t others = 0;
  const auto hash = [&]<int kTimes>(int first) FL_LANES {
    using M = Together<N, kTimes>;
    typename M::V two, eight;
    for (int k = 0; k < kTimes; ++k) {
      const int i = first + k * N::kCount;
      const typename N::V separator = N::Load(separators + i);
      const typename N::V next = N::Load(separators + i + 1);
      // A field too close to the end to read eight bytes is read from an earlier position instead.
      eight.part[k] = N::Gather(text.data(), N::Min(N::Add(separator, N::Set(1)), last));
      two.part[k] = N::Load(twos + i);
      others |= N::NotZero(N::Xor(N::Sub(next, separator), N::Set(9))) << i;
    }
    const typename M::V hashed = HashOfTen<M>(two, eight);
    for (int k = 0; k < kTimes; ++k) N::Store(hashed.part[k], hashes + first + k * N::kCount);
  };
  int i = 0;
  for (; i + 4 * N::kCount <= n; i += 4 * N::kCount) hash.template operator()<4>(i);
  for (; i < n; i += N::kCount) hash.template operator()<1>(i);
  return others;
}

// The value of eight digits, the first in the lowest byte; the bytes are their values, not ASCII.
template <class N, class V = typename N::V>
HWY_INLINE V ValueOfEightDigits(V digits) {
  const V pairs = N::Add(N::Mul(digits, N::Set(10)), N::template Right<8>(digits));
  const V even = N::Set(0x000000FF000000FF);
  const V first = N::Mul(N::And(pairs, even), N::Set(0x000F424000000064));
  const V second = N::Mul(N::And(N::template Right<16>(pairs), even), N::Set(0x0000271000000001));
  return N::template Right<32>(N::Add(first, second));
}

uint32_t ReadShortNumbers(std::string_view text, const uint32_t* separators, int n,
                          int32_t* values) {
  using N = Numbers;
  using V = N::V;
  const V one = N::Set(1), last = N::Set(text.size() - 8);
  uint32_t others = 0;
  for (int i = 0; i < n; i += N::kCount) {
    const V begin = N::Add(N::Load(separators + i), one);
    const V length = N::Sub(N::Load(separators + i + 1), begin);
    V word = N::Xor(N::Gather(text.data(), N::Min(begin, last)), N::Set(0x3030303030303030));
    V minus = N::Equal(N::And(word, N::Set(0xFF)), N::Set('-' ^ '0'));
    minus = N::And(minus, N::Less(one, length));
    // A sign counts as a zero, and the digits are padded with leading zeros.
    word = N::AndNot(N::And(minus, N::Set(0xFF)), word);
    word = N::LeftBy(word, N::Sub(N::Set(64), N::template Left<3>(length)));
    // Bytes above 9.
    const V high = N::Or(N::Add(word, N::Set(0x7676767676767676)), word);
    V bad = N::And(high, N::Set(0x8080808080808080));
    bad = N::Or(bad, N::Or(N::Less(N::Set(7), length), N::Less(last, begin)));
    const V value = ValueOfEightDigits<N>(word);
    N::Store(N::Sub(N::Xor(value, minus), minus), values + i);
    others |= N::NotZero(bad) << i;
  }
  return others;
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(FindByte);
HWY_EXPORT(HashFieldsOfEight);
HWY_EXPORT(ReadShortNumbers);

int64_t FindByte(std::string_view text, char byte, int64_t limit, uint32_t* positions) {
  return HWY_DYNAMIC_DISPATCH(FindByte)(text, byte, limit, positions);
}

uint32_t HashFieldsOfEight(std::string_view text, const uint32_t* separators, int n,
                           const uint64_t* twos, uint64_t* hashes) {
  return HWY_DYNAMIC_DISPATCH(HashFieldsOfEight)(text, separators, n, twos, hashes);
}

uint32_t ReadShortNumbers(std::string_view text, const uint32_t* separators, int n,
                          int32_t* values) {
  return HWY_DYNAMIC_DISPATCH(ReadShortNumbers)(text, separators, n, values);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
