#include "flotilla/dataset/prepare/describe_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "flotilla/base/hash.h"
#include "flotilla/base/scan_number.h"
#include "flotilla/dataset/csv_fields.h"
#include "flotilla/dataset/prepare/value_counter.h"
#include "flotilla/schema/value.h"

namespace flotilla {
namespace {

constexpr size_t kDistinctBytes = size_t{16} << 20;  // of memory, by column
constexpr size_t kMaxTexts = 10000;                  // by column
constexpr size_t kMaxBad = 5;
constexpr std::array<std::string_view, 6> kMarkers = {"?", "NA", "N/A", "NULL", "null", "\\N"};
constexpr std::array<TimeFormat, 4> kTimes = {TimeFormat::kHours, TimeFormat::kSeconds,
                                              TimeFormat::kMilliseconds, TimeFormat::kIso};

// Whether the text is a time of this form in our days: any ten digits are seconds since 1970, but
// most such numbers mean something else.
bool IsLikelyTime(std::string_view text, TimeFormat format, double number) {
  constexpr double kFirst = 946684800, kLast = 2208988800;  // 2000 .. 2039
  TimeOfWeek time;
  if (!ReadTime(text, format, &time)) return false;
  if (format == TimeFormat::kHours) return text[0] < '4';
  if (format == TimeFormat::kSeconds) return number >= kFirst && number < kLast;
  if (format == TimeFormat::kMilliseconds) return number >= 1e3 * kFirst && number < 1e3 * kLast;
  return true;
}

// Whether the text, which is a number, means a whole one: any 1.25e30 has no fraction as a double.
bool IsWholeText(std::string_view text, double number) {
  constexpr double kExact = 0x1p53;
  if (number != std::floor(number)) return false;
  return std::abs(number) < kExact || text.find_first_of("eE") == std::string_view::npos;
}

struct ColumnTally {
  int64_t count = 0, missing = 0, whole = 0, fractions = 0, decimal_commas = 0;
  double min = 0, max = 0, sum = 0;
  std::array<int64_t, kTimes.size()> times = {};
  absl::flat_hash_map<std::string, int64_t> texts;

  void AddText(std::string_view text, int64_t times_seen) {
    const auto found = texts.find(absl::string_view(text.data(), text.size()));
    if (found != texts.end()) {
      found->second += times_seen;
    } else if (texts.size() < kMaxTexts) {
      texts.emplace(std::string(text), times_seen);
    }
  }
  void Widen(double low, double high) {
    const bool first = whole + fractions == 0;
    min = first ? low : std::min(min, low);
    max = first ? high : std::max(max, high);
  }
  void Merge(const ColumnTally& other) {
    if (other.whole + other.fractions > 0) Widen(other.min, other.max);
    count += other.count;
    missing += other.missing;
    whole += other.whole;
    fractions += other.fractions;
    decimal_commas += other.decimal_commas;
    sum += other.sum;
    for (size_t t = 0; t < times.size(); ++t) times[t] += other.times[t];
    // In the order of the texts: which ones are kept does not depend on the hash table.
    std::vector<std::pair<std::string_view, int64_t>> sorted(other.texts.begin(),
                                                             other.texts.end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [text, seen] : sorted) AddText(text, seen);
  }
};

class Describer {
 public:
  Describer(const DetectedCsv& form, const DescribeOptions& options)
      : options_(options), schema_(form.form), marked_(kMarkers.size()) {
    for (const std::string& name : form.names) {
      Column column;
      column.name = name;
      column.role = Column::Role::kKeep;
      schema_.columns.push_back(std::move(column));
      counters_.push_back(std::make_unique<ValueCounter>(kDistinctBytes));
    }
    fields_ = std::make_unique<CsvFields>(schema_, std::vector<bool>(form.names.size(), true));
    total_.resize(form.names.size());
    scratch_.resize(options.threads);
    for (Scratch& scratch : scratch_) Reset(&scratch);
    for (Scratch& scratch : scratch_) scratch.batches.resize(form.names.size());
  }

  StatusOr<TableSummary> Run(const std::vector<std::string>& files) {
    LinePassOptions pass{.threads = options_.threads,
                         .reader = options_.reader,
                         .on_progress = options_.on_progress};
    pass.reader.log = options_.log;
    pass.reader.header_lines = schema_.header ? 1 : 0;
    pass.reader.check_header = [this](std::string_view line) { return fields_->CheckHeader(line); };
    const Status status = PassOverRows(
        files, pass,
        [&](int worker, std::string_view line) { return AddLine(line, &scratch_[worker]); },
        [&](int worker) {
          for (size_t c = 0; c < counters_.size(); ++c) {
            counters_[c]->Add(&scratch_[worker].batches[c]);
          }
        },
        [&](int worker, std::span<const std::string> bad) {
          return Commit(&scratch_[worker], bad);
        });
    if (!status.ok() && status.code() != absl::StatusCode::kCancelled) return status;
    if (summary_.rows == 0) return InvalidArgument("{}: there is no row in the files", files[0]);
    summary_.complete = status.ok();
    return Result();
  }

 private:
  struct Scratch {
    int64_t rows = 0;
    std::vector<ColumnTally> columns;
    std::vector<bool> marked;
    std::vector<ValueCounter::Batch> batches;
    CsvRow row;
  };

  void Reset(Scratch* scratch) const {
    scratch->rows = 0;
    scratch->columns.assign(schema_.columns.size(), {});
    scratch->marked.assign(kMarkers.size(), false);
  }

  Status AddLine(std::string_view line, Scratch* scratch) const {
    if (fields_->IsBlank(line)) return absl::OkStatus();
    FL_RETURN_IF_ERROR(fields_->Split(line, &scratch->row));
    for (size_t c = 0; c < schema_.columns.size(); ++c) {
      AddCell(scratch->row.sources()[c], c, scratch);
    }
    ++scratch->rows;
    return absl::OkStatus();
  }

  void AddCell(std::string_view text, size_t c, Scratch* scratch) const {
    ColumnTally& tally = scratch->columns[c];
    const auto marker = std::find(kMarkers.begin(), kMarkers.end(), text);
    if (marker != kMarkers.end()) scratch->marked[marker - kMarkers.begin()] = true;
    if (marker != kMarkers.end() || IsMissingText(text)) {
      ++tally.missing;
      return;
    }
    double number = 0;
    const char* const end = text.data() + text.size();
    bool is_number = ScanDouble(text.data(), end, &number) == end;
    if (!is_number && IsDecimalComma(text)) {
      ++tally.decimal_commas;
      is_number = schema_.delimiter != ',';
      if (is_number) number = FromDecimalComma(text);
    }
    if (is_number) {
      tally.Widen(number, number);
      tally.sum += number;
      ++(IsWholeText(text, number) && !IsDecimalComma(text) ? tally.whole : tally.fractions);
    }
    for (size_t t = 0; t < kTimes.size(); ++t) {
      // Only while all values are times: the rest of the column need not be tried.
      if (tally.times[t] == tally.count) tally.times[t] += IsLikelyTime(text, kTimes[t], number);
    }
    ++tally.count;
    tally.AddText(text, 1);
    scratch->batches[c].Add(HashBytes(CanonicalText(text)));
  }

  Status Commit(Scratch* scratch, std::span<const std::string> bad) {
    summary_.rows += scratch->rows;
    summary_.bad_rows += static_cast<int64_t>(bad.size());
    for (const std::string& each : bad) {
      if (summary_.bad.size() < kMaxBad) summary_.bad.push_back(each);
    }
    for (size_t c = 0; c < total_.size(); ++c) total_[c].Merge(scratch->columns[c]);
    for (size_t m = 0; m < marked_.size(); ++m) marked_[m] = marked_[m] || scratch->marked[m];
    Reset(scratch);
    if (options_.max_rows > 0 && summary_.rows >= options_.max_rows) {
      return absl::CancelledError("enough rows");
    }
    return absl::OkStatus();
  }

  TableSummary Result() {
    for (size_t m = 0; m < marked_.size(); ++m) {
      if (marked_[m]) summary_.markers.emplace_back(kMarkers[m]);
    }
    for (size_t c = 0; c < total_.size(); ++c) {
      const ColumnTally& tally = total_[c];
      ColumnSummary& column = summary_.columns.emplace_back();
      column.name = schema_.columns[c].name;
      column.count = tally.count;
      column.missing = tally.missing;
      column.whole = tally.whole;
      column.fractions = tally.fractions;
      column.decimal_commas = tally.decimal_commas;
      column.min = tally.min;
      column.max = tally.max;
      const int64_t numbers = tally.whole + tally.fractions;
      column.mean = numbers == 0 ? 0 : tally.sum / static_cast<double>(numbers);
      for (size_t t = 0; t < kTimes.size(); ++t) {
        if (tally.count > 0 && tally.times[t] == tally.count) column.times.push_back(kTimes[t]);
      }
      column.at_least = !counters_[c]->exact();
      column.distinct = counters_[c]->distinct();
      column.top.assign(tally.texts.begin(), tally.texts.end());
      std::sort(column.top.begin(), column.top.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
      });
      if (column.top.size() > options_.top) column.top.resize(options_.top);
      if (column.at_least) {
        column.distinct = static_cast<int64_t>(kDistinctBytes / 34);
      }
    }
    return summary_;
  }

  // Constant after construction.
  const DescribeOptions& options_;
  Schema schema_;
  std::unique_ptr<const CsvFields> fields_;

  std::vector<std::unique_ptr<ValueCounter>> counters_;  // by column; thread-safe
  std::vector<Scratch> scratch_;                         // by worker
  // Changed by commits only, which run one at a time.
  std::vector<ColumnTally> total_;
  std::vector<bool> marked_;
  TableSummary summary_;
};

}  // namespace

StatusOr<TableSummary> DescribeColumns(const std::vector<std::string>& files,
                                       const DetectedCsv& form, const DescribeOptions& options) {
  if (files.empty()) return InvalidArgument("there are no files to look at");
  return Describer(form, options).Run(files);
}

}  // namespace flotilla
