#include "flotilla/dataset/prepare/check_rows.h"

#include <algorithm>

#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

// The results of a worker for its slice.
struct Found {
  Batch batch;
  std::vector<CheckReport::Ids> ids;
  std::vector<std::string> bad;
};

CheckReport::Ids IdsOf(const RaggedIds& ids, int64_t rows) {
  CheckReport::Ids result{.all = static_cast<int64_t>(ids.ids.size())};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = static_cast<int64_t>(ids.row(row).size());
    result.most = std::max(result.most, count);
    result.empty += count == 0;
  }
  return result;
}

void Parse(const std::vector<std::string>& files, const Parser& parser,
           const LineReaderOptions& reader, const LineSlice& slice, Found* found) {
  const std::span<const InputSpec> inputs = parser.inputs();
  found->batch.fields.resize(inputs.size());
  found->batch.Clear();
  found->bad.clear();
  ForEachLine(
      files, reader, slice,
      [&](int64_t, std::string_view line) { return parser.Parse(line, &found->batch); },
      &found->bad);
  found->ids.assign(inputs.size(), {});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != InputKind::kIds) continue;
    found->ids[i] = IdsOf(found->batch.fields[i].ids, found->batch.rows);
  }
}

void Add(const Found& found, CheckReport* report) {
  report->rows += found.batch.rows;
  for (size_t i = 0; i < found.ids.size(); ++i) {
    CheckReport::Ids& ids = report->ids[i];
    ids.all += found.ids[i].all;
    ids.most = std::max(ids.most, found.ids[i].most);
    ids.empty += found.ids[i].empty;
  }
}

}  // namespace

StatusOr<CheckReport> CheckRows(const std::vector<std::string>& files, const Parser& parser,
                                const CheckRowsOptions& options) {
  LinePassOptions pass;
  pass.threads = options.threads;
  pass.on_progress = options.on_progress;
  pass.reader = ReaderOptionsFor(parser, options.reader, options.log);
  CheckReport report;
  report.ids.resize(parser.inputs().size());
  std::vector<Found> found(options.threads);
  const Status status = PassOverLines(
      files, pass,
      [&](int worker, const LineSlice& slice) {
        Parse(files, parser, pass.reader, slice, &found[worker]);
      },
      [&](int worker, const LineSlice& slice) -> Status {
        report.lines =
            slice.first + std::count(slice.lines.text.begin(), slice.lines.text.end(), '\n');
        Add(found[worker], &report);
        for (std::string& bad : found[worker].bad) {
          report.bad.push_back(std::move(bad));
          report.complete = static_cast<int64_t>(report.bad.size()) <= options.max_bad_rows;
          if (!report.complete) return absl::CancelledError("one bad row too many");
        }
        return absl::OkStatus();
      });
  if (!status.ok() && report.complete) return status;
  if (report.rows == 0 && report.bad.empty()) {
    return InvalidArgument("no rows in {} file(s), first {}", files.size(), files[0]);
  }
  return report;
}

}  // namespace flotilla
