#include "flotilla/report/log_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "flotilla/base/human.h"
#include "flotilla/report/progress.h"

namespace flotilla {
namespace {

constexpr size_t kMaxElements = 20;

std::string MetricsText(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.metrics)
    text += fmt::format(", {}={}", name, HumanFigure(value));
  return text;
}

}  // namespace

std::string EpochFinishedLine(int64_t epoch, const Report& report, std::string_view unit) {
  const std::string rate =
      report.seconds > 0
          ? fmt::format(", {:.0f} {}/s", static_cast<double>(report.rows) / report.seconds,
                        RateUnit(unit))
          : "";
  const std::string bad =
      report.bad_batches > 0 ? fmt::format(", bad_batches={}", report.bad_batches) : "";
  return fmt::format("epoch {} finished, use time={:.2f}{}, loss={}{}{}", epoch, report.seconds,
                     rate, HumanFigure(report.loss), MetricsText(report), bad);
}

std::string EpochTestLine(int64_t epoch, const Report& report) {
  return fmt::format("epoch {} test, use time={:.2f}, loss={}{}", epoch, report.seconds,
                     HumanFigure(report.loss), MetricsText(report));
}

std::string FetchedText(std::string_view info, std::string_view name, std::span<const int64_t> dims,
                        std::span<const float> values) {
  const auto shown = values.first(std::min(values.size(), kMaxElements));
  const std::string more =
      values.size() > shown.size() ? fmt::format(", .. {} more", values.size() - shown.size()) : "";
  return fmt::format("{}{}{}\n\tdim: {}\n\tdtype: float\n\tdata: [{:.6g}{}]", info,
                     info.empty() ? "" : "\t", name, fmt::join(dims, ", "), fmt::join(shown, ", "),
                     more);
}

}  // namespace flotilla
