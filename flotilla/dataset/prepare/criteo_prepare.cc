#include "flotilla/dataset/prepare/criteo_prepare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/base/output_file.h"
#include "flotilla/base/rng.h"
#include "flotilla/base/staged_dir.h"
#include "flotilla/dataset/criteo_line.h"
#include "flotilla/dataset/epoch_ledger.h"
#include "flotilla/dataset/prepare/number_summary.h"
#include "flotilla/dataset/prepare/part_writer.h"
#include "flotilla/dataset/prepare/value_counter.h"

namespace flotilla {
namespace {

using Buckets = CriteoPrepareOptions::Buckets;

// Values are counted separately in every column.
uint64_t CategoryHash(int column, std::string_view value) {
  return HashBytes(value, static_cast<uint64_t>(column) + 1);
}

// The fields of a line.
struct Row {
  bool clicked = false;
  std::array<std::optional<int64_t>, kCriteoNumbers> numbers;
  std::array<std::string_view, kCriteoCategories> categories;

  void Label(bool value) { clicked = value; }
  void Number(int i, int64_t value) { numbers[i] = value; }
  void MissingNumber(int i) { numbers[i].reset(); }
  void Category(int c, std::string_view value) { categories[c] = value; }
};

void AppendRow(const Row& row, std::string* text) {
  text->push_back(row.clicked ? '1' : '0');
  for (const std::optional<int64_t>& number : row.numbers) {
    text->push_back('\t');
    if (number) fmt::format_to(std::back_inserter(*text), "{}", *number);
  }
  for (const std::string_view category : row.categories) {
    text->push_back('\t');
    text->append(category);
  }
  text->push_back('\n');
}

class Preparation {
 public:
  Preparation(const std::vector<std::string>& files, const CriteoPrepareOptions& options)
      : files_(files),
        options_(options),
        split_(RngKey(options.seed).With("criteo split")),
        counts_(options.memory_bytes),
        workers_(options.threads) {}

  // First pass: counts the categories of the training rows.
  Status Count();
  // Second, or only, pass: writes the rows.
  Status Write(const std::string& directory);
  StatusOr<CriteoPrepared> Finish() const;

 private:
  // Lines of one side of the split.
  struct Side {
    std::string text;
    int64_t lines = 0;
  };
  // The results of a worker for its slice.
  struct Found {
    Side train, test;
    std::array<std::vector<int64_t>, kCriteoNumbers> numbers;  // of the training rows
    std::array<int64_t, kCriteoNumbers> missing{};
    int64_t rare_fields = 0;
    ValueCounter::Batch categories;
    std::vector<std::string> bad;
  };

  bool has_recipe() const { return options_.buckets != Buckets::kNone || options_.min_count > 1; }
  bool IsTest(int64_t ordinal) const {
    return static_cast<double>(split_.Bits(static_cast<uint64_t>(ordinal)) >> 11) * 0x1p-53 <
           options_.test_share;
  }
  Status Pass(std::string_view stage, const std::function<void(const LineSlice&, Found*)>& work,
              const std::function<Status(Found*)>& commit);
  Status CountLine(int64_t ordinal, std::string_view line, Found* found) const;
  Status WriteLine(int64_t ordinal, std::string_view line, Found* found) const;
  void ApplyRecipe(Row* row, Found* found) const;
  Status CommitWrite(PartFileWriter* train, PartFileWriter* test, Found* found);

  // Constant after construction.
  const std::vector<std::string>& files_;
  const CriteoPrepareOptions& options_;
  const RngKey split_;

  ValueCounter counts_;
  std::array<NumberSummary, kCriteoNumbers> summaries_;
  std::vector<Found> workers_;
  // Written by commits.
  std::array<int64_t, kCriteoNumbers> missing_{};
  int64_t rare_fields_ = 0;
  int64_t train_rows_ = 0, test_rows_ = 0;
  DatasetCounts bad_;
  int64_t all_lines_ = 0;  // of the input, known after the first pass
};

Status Preparation::Pass(std::string_view stage,
                         const std::function<void(const LineSlice&, Found*)>& work,
                         const std::function<Status(Found*)>& commit) {
  EpochLedger ledger(options_.max_bad_rows, files_[0]);
  FL_RETURN_IF_ERROR(ledger.Start(0));
  LinePassOptions pass{.threads = options_.threads, .reader = options_.reader};
  int64_t lines = 0;
  if (options_.on_progress) {
    pass.on_progress = [&](PassProgress progress) {
      if (all_lines_ > 0) {  // more accurate than the bytes of compressed files
        progress.fraction = static_cast<double>(progress.lines) / static_cast<double>(all_lines_);
      }
      options_.on_progress(stage, progress);
      lines = progress.lines;
    };
  }
  const Status status = PassOverLines(
      files_, pass,
      [&](int worker, const LineSlice& slice) {
        workers_[worker].bad.clear();
        work(slice, &workers_[worker]);
      },
      [&](int worker, const LineSlice&) {
        for (const std::string& bad : workers_[worker].bad) {
          FL_RETURN_IF_ERROR(ledger.SkipBadRow(bad));
        }
        return commit(&workers_[worker]);
      });
  all_lines_ = lines;
  bad_ = ledger.counts();
  return status;
}

Status Preparation::CountLine(int64_t ordinal, std::string_view line, Found* found) const {
  if (IsBlankCriteoLine(line)) return absl::OkStatus();
  Row row;
  FL_RETURN_IF_ERROR(WalkCriteoLine(line, &row));
  if (IsTest(ordinal)) return absl::OkStatus();
  for (int c = 0; c < kCriteoCategories; ++c) {
    if (!row.categories[c].empty()) found->categories.Add(CategoryHash(c, row.categories[c]));
  }
  return absl::OkStatus();
}

Status Preparation::Count() {
  auto work = [this](const LineSlice& slice, Found* found) {
    ForEachLine(
        files_, options_.reader, slice,
        [&](int64_t ordinal, std::string_view line) { return CountLine(ordinal, line, found); },
        &found->bad);
    counts_.Add(&found->categories);
  };
  return Pass("count", work, [](Found*) { return absl::OkStatus(); });
}

void Preparation::ApplyRecipe(Row* row, Found* found) const {
  if (options_.buckets == Buckets::kLog2) {
    for (std::optional<int64_t>& number : row->numbers) {
      if (number) number = LogSquaredBucket(*number);
    }
  }
  if (options_.min_count < 2) return;
  const uint64_t least = static_cast<uint64_t>(options_.min_count);
  for (int c = 0; c < kCriteoCategories; ++c) {
    std::string_view& value = row->categories[c];
    if (value.empty() || counts_.CountOf(CategoryHash(c, value)) >= least) continue;
    value = kRareCategory;
    ++found->rare_fields;
  }
}

Status Preparation::WriteLine(int64_t ordinal, std::string_view line, Found* found) const {
  if (IsBlankCriteoLine(line)) return absl::OkStatus();
  Row row;
  FL_RETURN_IF_ERROR(WalkCriteoLine(line, &row));
  const bool is_test = IsTest(ordinal);
  Side& side = is_test ? found->test : found->train;
  ++side.lines;
  if (has_recipe()) {
    ApplyRecipe(&row, found);
    AppendRow(row, &side.text);
  } else {
    side.text.append(line);
    side.text.push_back('\n');
  }
  for (int i = 0; i < kCriteoNumbers && !is_test; ++i) {
    if (row.numbers[i]) {
      found->numbers[i].push_back(*row.numbers[i]);
    } else {
      ++found->missing[i];
    }
  }
  return absl::OkStatus();
}

Status Preparation::CommitWrite(PartFileWriter* train, PartFileWriter* test, Found* found) {
  FL_RETURN_IF_ERROR(train->Append(found->train.text, found->train.lines));
  FL_RETURN_IF_ERROR(test->Append(found->test.text, found->test.lines));
  for (int i = 0; i < kCriteoNumbers; ++i) missing_[i] += std::exchange(found->missing[i], 0);
  rare_fields_ += std::exchange(found->rare_fields, 0);
  return absl::OkStatus();
}

Status Preparation::Write(const std::string& directory) {
  PartFileWriter train(directory + "/train", options_.part_rows);
  PartFileWriter test(directory + "/test", options_.part_rows);
  auto work = [this](const LineSlice& slice, Found* found) {
    for (Side* side : {&found->train, &found->test}) {
      side->text.clear();
      side->lines = 0;
    }
    ForEachLine(
        files_, options_.reader, slice,
        [&](int64_t ordinal, std::string_view line) { return WriteLine(ordinal, line, found); },
        &found->bad);
    for (int i = 0; i < kCriteoNumbers; ++i) {
      summaries_[i].Add(found->numbers[i]);
      found->numbers[i].clear();
    }
  };
  FL_RETURN_IF_ERROR(
      Pass("write", work, [&](Found* found) { return CommitWrite(&train, &test, found); }));
  FL_RETURN_IF_ERROR(train.Finish());
  FL_RETURN_IF_ERROR(test.Finish());
  train_rows_ = train.lines();
  test_rows_ = test.lines();
  return absl::OkStatus();
}

StatusOr<CriteoPrepared> Preparation::Finish() const {
  if (train_rows_ == 0) {
    return InvalidArgument("no training rows in {} file(s), first {}: {} test rows, {} bad ones",
                           files_.size(), files_[0], test_rows_, bad_.skipped);
  }
  CriteoPrepared result;
  result.skipped = bad_.skipped;
  result.samples = bad_.samples;
  result.rare_fields = rare_fields_;
  result.exact_counts = counts_.exact();
  result.likely_excess = counts_.likely_excess();
  result.distinct_values = counts_.distinct();
  CriteoStatistics& statistics = result.statistics;
  for (int i = 0; i < kCriteoNumbers; ++i) {
    statistics.columns[i] = {.count = summaries_[i].count(),
                             .missing = missing_[i],
                             .min = summaries_[i].min(),
                             .p95 = summaries_[i].Percentile(95),
                             .exact = summaries_[i].exact()};
  }
  statistics.train_rows = train_rows_;
  statistics.test_rows = test_rows_;
  statistics.seed = options_.seed;
  statistics.test_share = options_.test_share;
  statistics.buckets = options_.buckets == Buckets::kLog2 ? "log2" : "none";
  statistics.min_count = options_.min_count;
  return result;
}

Status CheckOptions(const std::vector<std::string>& files, const CriteoPrepareOptions& options) {
  if (files.empty()) return InvalidArgument("no files given");
  if (!(options.test_share >= 0 && options.test_share < 1)) {
    return InvalidArgument("test_share {} is not in [0, 1)", options.test_share);
  }
  if (options.part_rows < 1) return InvalidArgument("part_rows {} is below 1", options.part_rows);
  if (options.threads < 1) return InvalidArgument("threads {} is below 1", options.threads);
  if (options.min_count > 1 && std::find(files.begin(), files.end(), "-") != files.end()) {
    return InvalidArgument(
        "-: min_count reads the input twice, to count and to write, and standard input can be read "
        "only once: put it into a file first");
  }
  return absl::OkStatus();
}

}  // namespace

int64_t LogSquaredBucket(int64_t x) {
  if (x <= 2) return x;
  const double log = std::log(static_cast<double>(x));
  return static_cast<int64_t>(std::floor(log * log));
}

StatusOr<CriteoPrepared> PrepareCriteo(const std::vector<std::string>& files,
                                       const std::string& out,
                                       const CriteoPrepareOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(files, options));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<StagedDir> staged, StagedDir::Make(out));
  FL_RETURN_IF_ERROR(MakeEmptyDirectory(staged->path() + "/train"));
  if (options.test_share > 0) FL_RETURN_IF_ERROR(MakeEmptyDirectory(staged->path() + "/test"));
  // On the heap because it is large.
  const auto preparation = std::make_unique<Preparation>(files, options);
  if (options.min_count > 1) FL_RETURN_IF_ERROR(preparation->Count());
  FL_RETURN_IF_ERROR(preparation->Write(staged->path()));
  FL_ASSIGN_OR_RETURN(CriteoPrepared result, preparation->Finish());
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(staged->path() + "/statistics.json"));
  FL_RETURN_IF_ERROR(file.Write(ToText(result.statistics)));
  FL_RETURN_IF_ERROR(file.Finish());
  FL_RETURN_IF_ERROR(staged->Publish());
  return result;
}

}  // namespace flotilla
