#include "flotilla/trainer/log_lines.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace flotilla {
namespace {

constexpr size_t kMaxFiles = 20;
constexpr size_t kMaxElements = 20;

std::string MetricsText(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.metrics) text += fmt::format(", {}={:.4f}", name, value);
  return text;
}

}  // namespace

std::string FileListLine(std::span<const std::string> files) {
  std::string names;
  for (size_t i = 0; i < std::min(files.size(), kMaxFiles); ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", files[i]);
  }
  if (files.size() > kMaxFiles) names += fmt::format(", .. {} in all", files.size());
  return fmt::format("file list: [{}]", names);
}

std::string EpochFinishedLine(int64_t epoch, const Report& report) {
  const std::string rate =
      report.seconds > 0
          ? fmt::format(", {:.0f} examples/s", static_cast<double>(report.rows) / report.seconds)
          : "";
  return fmt::format("epoch {} finished, use time={:.2f}{}, loss={:.4f}{}", epoch, report.seconds,
                     rate, report.loss, MetricsText(report));
}

std::string EpochTestLine(int64_t epoch, const Report& report) {
  return fmt::format("epoch {} test, use time={:.2f}, loss={:.4f}{}", epoch, report.seconds,
                     report.loss, MetricsText(report));
}

std::string TrainBatchLine(const Progress& progress) {
  std::string line = fmt::format("TRAIN --> pass: {} batch: {} loss: {:.6f}", progress.epoch,
                                 progress.batches, progress.loss);
  if (!std::isnan(progress.auc)) line += fmt::format(" auc: {:.6f}", progress.auc);
  if (!std::isnan(progress.auc_window)) {
    line += fmt::format(", batch_auc: {:.6f}", progress.auc_window);
  }
  return line;
}

std::string TestBatchLine(int64_t batch, double loss, double auc) {
  std::string line = fmt::format("TEST --> batch: {} loss: {:.6f}", batch, loss);
  if (!std::isnan(auc)) line += fmt::format(" auc: {:.6f}", auc);
  return line;
}

std::string FetchHandlerLine(int64_t epoch, std::span<const std::pair<std::string, double>> values,
                             std::time_t now) {
  std::string line = fmt::format("epoch -> {}", epoch);
  for (const auto& [name, value] : values) line += fmt::format(", {} -> {:.6f}", name, value);
  return line + fmt::format(", at: {:%a %b %e %H:%M:%S %Y}", fmt::localtime(now));
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
