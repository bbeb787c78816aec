#include "flotilla/table/initializer.h"

#include <algorithm>
#include <cmath>

namespace flotilla {

namespace {

using Kind = InitializerSpec::Kind;

// Converts Xavier and MSRA to the equivalent uniform or normal distribution.
InitializerSpec Resolve(const InitializerSpec& spec, const Fans& fans) {
  if (spec.kind != Kind::kXavier && spec.kind != Kind::kMsra) return spec;
  const double variance = spec.kind == Kind::kXavier ? 2 / (fans.in + fans.out) : 2 / fans.in;
  const double limit = std::sqrt(3 * variance);
  return spec.a == 0 ? Uniform(-limit, limit) : Normal(0, std::sqrt(variance));
}

Status Check(const InitializerSpec& spec) {
  if (!std::isfinite(spec.a) || !std::isfinite(spec.b)) {
    return InvalidArgument("initializer: {} and {} must be finite", spec.a, spec.b);
  }
  if (spec.kind == Kind::kUniform && !(spec.a < spec.b)) {
    return InvalidArgument("initializer: uniform over [{}, {}) is empty", spec.a, spec.b);
  }
  if ((spec.kind == Kind::kNormal || spec.kind == Kind::kTruncatedNormal) && spec.b < 0) {
    return InvalidArgument("initializer: deviation {} is negative", spec.b);
  }
  if ((spec.kind == Kind::kXavier || spec.kind == Kind::kMsra) && spec.a != 0 && spec.a != 1) {
    return InvalidArgument("initializer: {} is neither 0 (uniform) nor 1 (normal)", spec.a);
  }
  return absl::OkStatus();
}

}  // namespace

Fans FansOf(std::span<const int64_t> shape) {
  if (shape.empty()) return {};
  const auto columns = static_cast<double>(shape.back());
  if (shape.size() == 1) return {columns, columns};
  double rows = 1;
  for (int64_t dim : shape.first(shape.size() - 1)) rows *= static_cast<double>(dim);
  return {rows, columns};
}

Fans FansOf(const TableSpec& table) {
  const auto dim = static_cast<double>(table.dim);
  return {table.rows > 0 ? static_cast<double>(table.rows) : dim, dim};
}

StatusOr<Initializer> Initializer::Make(const InitializerSpec& spec, const Fans& fans) {
  FL_RETURN_IF_ERROR(Check(spec));
  const InitializerSpec plain = Resolve(spec, fans);
  Initializer initializer;
  initializer.kind_ = plain.kind;
  initializer.base_ = static_cast<float>(plain.a);
  if (plain.kind == Kind::kUniform) {
    initializer.scale_ = static_cast<float>(plain.b - plain.a);
    initializer.below_ = std::nextafter(static_cast<float>(plain.b), initializer.base_);
  } else {
    initializer.scale_ = static_cast<float>(plain.b);
  }
  return initializer;
}

void Initializer::Fill(const RngKey& key, int64_t n, float* out) const {
  switch (kind_) {
    case Kind::kUniform:
      // base + scale * u can round up to the high end, which the range excludes.
      for (int64_t i = 0; i < n; ++i) {
        out[i] = std::min(base_ + scale_ * key.Uniform(static_cast<uint64_t>(i)), below_);
      }
      return;
    case Kind::kNormal:
      for (int64_t i = 0; i < n; ++i) {
        out[i] = base_ + scale_ * key.Normal(static_cast<uint64_t>(i));
      }
      return;
    case Kind::kTruncatedNormal:
      return FillTruncated(key, n, out);
    default:
      std::fill(out, out + n, base_);
  }
}

void Initializer::FillTruncated(const RngKey& key, int64_t n, float* out) const {
  for (int64_t i = 0; i < n; ++i) {
    // Each redraw of a position uses a separate counter, above all positions.
    float draw = key.Normal(static_cast<uint64_t>(i));
    for (uint64_t attempt = 1; std::fabs(draw) > 2; ++attempt) {
      draw = key.Normal(static_cast<uint64_t>(i) + (attempt << 40));
    }
    out[i] = base_ + scale_ * draw;
  }
}

}  // namespace flotilla
