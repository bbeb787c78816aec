#include "flotilla/dataset/prepare/collect_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "flotilla/base/text_file.h"
#include "flotilla/dataset/csv_fields.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/prepare/label_tally.h"
#include "flotilla/dataset/prepare/moments.h"
#include "flotilla/dataset/prepare/quantile_summary.h"
#include "flotilla/dataset/prepare/value_counter.h"
#include "flotilla/schema/column_reader.h"
#include "flotilla/schema/label_reader.h"

namespace flotilla {
namespace {

using Role = Column::Role;

struct NumberTally {
  Moments moments;
  int64_t missing = 0;
  double min = 0;
  double max = 0;

  void Widen(double low, double high) {
    min = moments.count == 0 ? low : std::min(min, low);
    max = moments.count == 0 ? high : std::max(max, high);
  }
  void Merge(const NumberTally& other) {
    if (other.moments.count > 0) Widen(other.min, other.max);
    moments.Merge(other.moments);
    missing += other.missing;
  }
};

// What a worker finds in a slice: merged in the order of the slices, because sums of doubles depend
// on it.
struct SliceTally {
  int64_t rows = 0;
  std::vector<NumberTally> numbers;  // by column
  std::vector<LabelTally> labels;    // by column
  std::vector<int64_t> cut;          // by column
};

// By source: whether the files must have it. Columns to keep fill nothing, but a headerless file
// has them in their places.
std::vector<bool> SourcesToCount(const Schema& schema) {
  const std::vector<int> sources = schema.Sources();
  std::vector<bool> needed(static_cast<size_t>(schema.SourceCount()));
  for (size_t c = 0; c < sources.size(); ++c) {
    if (sources[c] < 0) continue;
    if (!schema.header || schema.columns[c].role != Role::kKeep) needed[sources[c]] = true;
  }
  return needed;
}

class Collector {
 public:
  Collector(const Schema& schema, const CollectOptions& options)
      : schema_(schema),
        options_(options),
        sources_(schema.Sources()),
        vocabulary_of_(schema.VocabularyIndexes()),
        fields_(schema, SourcesToCount(schema)),
        total_(Empty()),
        bad_rows_(options.max_bad_rows, options.log) {
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      readers_.emplace_back(schema, c, std::span<const double>());
      const Column& column = schema.columns[c];
      quantiles_.push_back(column.quantiles > 0 ? std::make_unique<QuantileSummary>() : nullptr);
      labels_.push_back(column.role == Role::kLabel && !column.classes.empty()
                            ? std::make_unique<LabelReader>(column, nullptr)
                            : nullptr);
      std::vector<size_t>& members = members_.emplace_back();
      for (const std::string& name : column.members) {
        members.push_back(static_cast<size_t>(schema.MemberOf(name) - schema.columns.data()));
      }
      const int v = vocabulary_of_[c];
      if (v < static_cast<int>(counters_.size())) continue;
      counters_.push_back(std::make_unique<ValueCounter>(options.vocabulary_bytes));
      first_column_.push_back(c);
    }
    for (int worker = 0; worker < options.threads; ++worker) {
      Scratch& scratch = scratch_.emplace_back();
      scratch.tally = Empty();
      scratch.batches.resize(counters_.size());
      scratch.quantiles.resize(schema.columns.size());
      scratch.codes.resize(schema.columns.size());
      scratch.lists.resize(schema.columns.size());
      scratch.numbers.resize(schema.columns.size());
    }
  }

  StatusOr<Statistics> Run(const std::vector<std::string>& files) {
    LinePassOptions pass{.threads = options_.threads,
                         .reader = options_.reader,
                         .on_progress = options_.on_progress};
    pass.reader.log = options_.log;
    pass.reader.header_lines = schema_.header ? 1 : 0;
    pass.reader.check_header = [this](std::string_view line) {
      const Status status = fields_.CheckHeader(line);
      const std::string note = fields_.TakeNote();
      if (!note.empty() && options_.log) options_.log(note);
      return status;
    };
    FL_RETURN_IF_ERROR(PassOverRows(
        files, pass,
        [&](int worker, std::string_view line) { return AddLine(line, &scratch_[worker]); },
        [&](int worker) { EndSlice(&scratch_[worker]); },
        [&](int worker, std::span<const std::string> bad) {
          return Commit(&scratch_[worker].tally, bad);
        }));
    if (total_.rows == 0) return InvalidArgument("{}: there is no row in the files", files[0]);
    return Result(files);
  }

 private:
  struct Scratch {
    SliceTally tally;
    std::vector<ValueCounter::Batch> batches;    // by vocabulary
    std::vector<std::vector<double>> quantiles;  // by column: numbers of the slice
    // The current row, by column.
    std::vector<uint64_t> codes;
    std::vector<std::vector<uint64_t>> lists;
    std::vector<double> numbers;  // NaN: missing
    CsvRow row;
  };

  SliceTally Empty() const {
    SliceTally tally;
    tally.numbers.resize(schema_.columns.size());
    tally.labels.resize(schema_.columns.size());
    tally.cut.resize(schema_.columns.size());
    return tally;
  }

  Status Unexpected(size_t column, size_t offset, const Scratch& scratch, std::string_view expected,
                    std::string_view found) const {
    return BadRow(scratch.row.begin(sources_[column]) + offset + 1, "{}: expected {}, found '{}'",
                  PlaceOf(schema_, column), expected,
                  ShownText(found.data(), found.data() + found.size()));
  }

  void EndSlice(Scratch* scratch) const {
    for (size_t v = 0; v < counters_.size(); ++v) counters_[v]->Add(&scratch->batches[v]);
    for (size_t c = 0; c < quantiles_.size(); ++c) {
      if (quantiles_[c] == nullptr) continue;
      quantiles_[c]->Add(scratch->quantiles[c]);
      scratch->quantiles[c].clear();
    }
  }

  // A row is read whole before any of it is counted: bad rows do not count.
  Status AddLine(std::string_view line, Scratch* scratch) const {
    if (fields_.IsBlank(line)) return absl::OkStatus();
    FL_RETURN_IF_ERROR(fields_.Split(line, &scratch->row));
    for (size_t c = 0; c < schema_.columns.size(); ++c) {
      FL_RETURN_IF_ERROR(ReadColumn(c, scratch));
    }
    for (size_t c = 0; c < schema_.columns.size(); ++c) CountColumn(c, scratch);
    ++scratch->tally.rows;
    return absl::OkStatus();
  }

  Status ReadColumn(size_t c, Scratch* scratch) const {
    using Read = ColumnReader::Read;
    const Column& column = schema_.columns[c];
    const ColumnReader& reader = readers_[c];
    std::string_view cell;
    if (sources_[c] >= 0) cell = scratch->row.sources()[sources_[c]];
    switch (column.role) {
      case Role::kDense:
      case Role::kWeight: {
        double& number = scratch->numbers[c];
        const Read read = reader.Number(cell, &number);
        if (read == Read::kBad) return Unexpected(c, 0, *scratch, "a number", cell);
        if (read == Read::kMissing) number = std::nan("");
        if (column.role == Role::kWeight && number < 0) {
          return Unexpected(c, 0, *scratch, "a weight of at least 0", cell);
        }
        return absl::OkStatus();
      }
      case Role::kBucket:
        if (column.quantiles > 0) {
          double& number = scratch->numbers[c];
          const Read read = reader.Number(cell, &number);
          if (read == Read::kBad) return Unexpected(c, 0, *scratch, "a number", cell);
          if (read == Read::kMissing) number = std::nan("");
          return absl::OkStatus();
        }
        [[fallthrough]];
      case Role::kId:
      case Role::kTime:
        if (reader.Code(cell, &scratch->codes[c]) == Read::kBad) {
          return Unexpected(c, 0, *scratch, reader.expected(), cell);
        }
        return absl::OkStatus();
      case Role::kBag:
      case Role::kSequence:
        return ReadList(c, cell, scratch);
      case Role::kLabel: {
        float label = 0;
        const bool read = labels_[c] == nullptr || labels_[c]->Read(cell, &label);
        // A class may be spelled like a missing value.
        if (reader.IsMissing(cell) && (labels_[c] == nullptr || !read)) {
          return BadRow(scratch->row.begin(sources_[c]) + 1, "{}", MissingLabel(schema_, c));
        }
        if (!read) return Unexpected(c, 0, *scratch, labels_[c]->expected(), cell);
        scratch->numbers[c] = label;
        return absl::OkStatus();
      }
      default:
        return absl::OkStatus();
    }
  }

  Status ReadList(size_t c, std::string_view cell, Scratch* scratch) const {
    const Column& column = schema_.columns[c];
    std::vector<uint64_t>& codes = scratch->lists[c];
    codes.clear();
    const bool used = column.is_counted() || column.length > 0;
    if (!used || readers_[c].IsMissing(cell)) return absl::OkStatus();
    ForEachItem(cell, column.separator, schema_.trim, [&](std::string_view item, size_t) {
      if (column.weighted) item = item.substr(0, item.rfind(':'));
      uint64_t code = 0;
      readers_[c].ItemCode(item, &code);
      codes.push_back(code);
      return true;
    });
    return absl::OkStatus();
  }

  void CountColumn(size_t c, Scratch* scratch) const {
    const Column& column = schema_.columns[c];
    ValueCounter::Batch* const batch =
        vocabulary_of_[c] < 0 ? nullptr : &scratch->batches[vocabulary_of_[c]];
    const uint64_t code = scratch->codes[c];
    switch (column.role) {
      case Role::kDense:
        CountNumber(c, scratch);
        break;
      case Role::kBucket:
        if (column.quantiles > 0) {
          CountNumber(c, scratch);
          const double number = scratch->numbers[c];
          if (!std::isnan(number)) scratch->quantiles[c].push_back(number);
          break;
        }
        [[fallthrough]];
      case Role::kId:
        if (batch != nullptr && code != kMissingCode) batch->Add(code);
        break;
      case Role::kCross: {
        if (batch == nullptr) break;
        uint64_t cross = HashBytes(column.vocabulary_name());
        for (const size_t member : members_[c]) cross = KeyOfCross(cross, scratch->codes[member]);
        batch->Add(cross);
        break;
      }
      case Role::kBag:
      case Role::kSequence:
        CountList(c, batch, scratch);
        break;
      case Role::kLabel:
        if (labels_[c] != nullptr) {
          scratch->tally.labels[c].AddClass(static_cast<int64_t>(scratch->numbers[c]));
        } else {
          scratch->tally.labels[c].AddText(scratch->row.sources()[sources_[c]]);
        }
        break;
      default:
        break;
    }
  }

  void CountNumber(size_t c, Scratch* scratch) const {
    NumberTally& tally = scratch->tally.numbers[c];
    const double number = scratch->numbers[c];
    if (std::isnan(number)) {
      ++tally.missing;
      return;
    }
    tally.Widen(number, number);
    const Column& column = schema_.columns[c];
    tally.moments.Add(column.log ? std::log1p(std::max(number, 0.0)) : number);
  }

  void CountList(size_t c, ValueCounter::Batch* batch, Scratch* scratch) const {
    const std::vector<uint64_t>& codes = scratch->lists[c];
    const auto length = static_cast<size_t>(schema_.columns[c].length);
    size_t first = 0;
    if (length > 0 && codes.size() > length) {
      first = codes.size() - length;
      ++scratch->tally.cut[c];
    }
    if (batch == nullptr) return;
    for (size_t i = first; i < codes.size(); ++i) batch->Add(codes[i]);
  }

  Status Commit(SliceTally* tally, std::span<const std::string> bad) {
    total_.rows += tally->rows;
    for (size_t c = 0; c < schema_.columns.size(); ++c) {
      total_.numbers[c].Merge(tally->numbers[c]);
      total_.labels[c].Merge(tally->labels[c]);
      total_.cut[c] += tally->cut[c];
    }
    *tally = Empty();
    return bad_rows_.Add(bad);
  }

  StatusOr<Statistics> Result(const std::vector<std::string>& files) const {
    Statistics statistics;
    statistics.schema = SchemaKey(schema_);
    statistics.files = FilesOfStatistics(files);
    statistics.rows = total_.rows;
    statistics.cut = total_.cut;
    for (size_t c = 0; c < schema_.columns.size(); ++c) {
      const Column& column = schema_.columns[c];
      const NumberTally& tally = total_.numbers[c];
      NumberStatistics& number = statistics.numbers.emplace_back();
      number = {.count = tally.moments.count,
                .missing = tally.missing,
                .min = tally.min,
                .max = tally.max,
                .mean = tally.moments.mean,
                .deviation = tally.moments.deviation(),
                .borders = {}};
      if (quantiles_[c] != nullptr) number.borders = quantiles_[c]->Borders(column.quantiles);
      LabelStatistics& label = statistics.labels.emplace_back();
      if (column.role == Role::kLabel) {
        const StatusOr<LabelStatistics> decided = total_.labels[c].Decide(column);
        if (!decided.ok()) {
          return InvalidArgument("label {}: {}", PlaceOf(schema_, c), Message(decided.status()));
        }
        label = *decided;
        const std::string rare = total_.labels[c].RareValues(column);
        if (!rare.empty() && options_.log) {
          options_.log(fmt::format(
              "label {}: {}, and the task is {}: if these rows are errors, remove them, or list "
              "the classes in the schema, label(A,B), and skip the rows with --max_bad_rows",
              column.name, rare, NameOf(label.task)));
        }
      }
      if (total_.cut[c] > 0 && options_.log) {
        options_.log(
            fmt::format("{}: {} of {} sequences are longer than {}; their oldest values "
                        "are cut (length=N changes it)",
                        PlaceOf(schema_, c), total_.cut[c], total_.rows, column.length));
      }
    }
    for (size_t v = 0; v < counters_.size(); ++v) {
      statistics.vocabularies.push_back(VocabularyOf(v));
    }
    return statistics;
  }

  VocabularyStatistics VocabularyOf(size_t v) const {
    const Column& column = schema_.columns[first_column_[v]];
    const ValueCounter& counter = *counters_[v];
    VocabularyStatistics vocabulary;
    vocabulary.name = column.vocabulary_name();
    vocabulary.values = counter.added();
    vocabulary.hashed = !counter.exact();
    if (vocabulary.hashed) {
      if (options_.log) {
        options_.log(
            fmt::format("vocabulary {} has too many distinct values to count them: their "
                        "64-bit hashes are the ids",
                        vocabulary.name));
      }
      return vocabulary;
    }
    vocabulary.distinct = counter.distinct();
    const int64_t least = column.min_count > 0 ? column.min_count : schema_.min_count;
    int64_t kept = 0;
    for (const auto& [key, count] :
         counter.AtLeast(static_cast<uint32_t>(std::min<int64_t>(least, UINT32_MAX)))) {
      vocabulary.keys.push_back(key);
      kept += count;
    }
    vocabulary.rare = vocabulary.values - kept;
    return vocabulary;
  }

  // Constant after construction.
  const Schema& schema_;
  const CollectOptions& options_;
  const std::vector<int> sources_;        // by column
  const std::vector<int> vocabulary_of_;  // by column
  const CsvFields fields_;
  std::vector<ColumnReader> readers_;                 // by column
  std::vector<std::unique_ptr<LabelReader>> labels_;  // by column: of labels with listed classes
  std::vector<std::vector<size_t>> members_;          // by column: of crosses
  std::vector<size_t> first_column_;                  // by vocabulary

  std::vector<std::unique_ptr<ValueCounter>> counters_;      // by vocabulary; thread-safe
  std::vector<std::unique_ptr<QuantileSummary>> quantiles_;  // by column; thread-safe
  std::vector<Scratch> scratch_;                             // by worker
  // Changed by commits only, which run one at a time.
  SliceTally total_;
  BadRowLimit bad_rows_;
};

}  // namespace

StatusOr<Statistics> CollectStatistics(const std::vector<std::string>& files, const Schema& schema,
                                       const CollectOptions& options) {
  FL_RETURN_IF_ERROR(schema.Validate());
  if (files.empty()) return InvalidArgument("there are no files to collect statistics from");
  return Collector(schema, options).Run(files);
}

std::vector<Statistics::File> FilesOfStatistics(const std::vector<std::string>& files) {
  std::vector<Statistics::File> named;
  for (const std::string& file : files) {
    const StatusOr<FileStamp> stamp = StampOf(file);
    named.push_back(
        {.name = file.substr(file.rfind('/') + 1), .bytes = stamp.ok() ? stamp->bytes : 0});
  }
  return named;
}

StatusOr<FittedSchema> FitSchema(const Schema& schema, const std::string& statistics_path,
                                 const std::vector<std::string>& files,
                                 const CollectOptions& options) {
  if (!statistics_path.empty() && StampOf(statistics_path).ok()) {
    FL_ASSIGN_OR_RETURN(Statistics statistics, ReadStatistics(statistics_path));
    std::string reason = CheckFits(statistics, schema).ok()
                             ? DifferenceOfFiles(statistics, FilesOfStatistics(files))
                             : "the schema has changed since it was made";
    if (reason.empty()) return FittedSchema::Make(schema, std::move(statistics));
    if (options.log) {
      options.log(fmt::format("{}: collecting the statistics again: {}", statistics_path, reason));
    }
  }
  FL_ASSIGN_OR_RETURN(Statistics statistics, CollectStatistics(files, schema, options));
  if (!statistics_path.empty()) {
    FL_RETURN_IF_ERROR(WriteStatistics(statistics_path, statistics));
  }
  return FittedSchema::Make(schema, std::move(statistics));
}

}  // namespace flotilla
