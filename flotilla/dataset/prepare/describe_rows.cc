#include "flotilla/dataset/prepare/describe_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/label_rule.h"
#include "flotilla/dataset/libffm_parser.h"
#include "flotilla/dataset/prepare/label_tally.h"
#include "flotilla/dataset/scan_text.h"
#include "flotilla/schema/value.h"

namespace flotilla {
namespace {

constexpr char kLabelInput[] = "label", kGroupInput[] = "group", kBagInput[] = "features";
constexpr char kIndexes[] = "features";  // the vocabulary that all indexes share
constexpr uint64_t kMostPositions = 64;
constexpr uint64_t kMostFields = 4096;

const std::string* GivenParam(const ParserSpec& spec, const std::string& name) {
  const auto found = spec.params.find(name);
  return found == spec.params.end() ? nullptr : &found->second;
}

std::string FieldInput(size_t field) { return fmt::format("F{}", field); }

// The features of one field (libffm) or position (libsvm).
struct FieldTally {
  int64_t features = 0;
  int64_t rows = 0;  // that have it
  bool weighted = false;
  int64_t last_row = 0;  // that had it, counted from 1 in the slice
};

// What a worker finds in a slice.
struct RowTally {
  int64_t rows = 0;
  int64_t features = 0;                                          // of all rows
  int64_t grouped = 0;                                           // rows with a qid
  size_t fewest = std::numeric_limits<size_t>::max(), most = 0;  // features of a row
  bool weighted = false;
  std::vector<FieldTally> fields;  // at most kMostFields
  LabelTally labels;

  void Add(std::span<const LibffmFeature> row) {
    ++rows;
    features += static_cast<int64_t>(row.size());
    fewest = std::min(fewest, row.size());
    most = std::max(most, row.size());
    for (const LibffmFeature& feature : row) {
      weighted |= feature.value != 1;
      if (feature.field >= kMostFields) continue;
      if (feature.field >= fields.size()) fields.resize(feature.field + 1);
      FieldTally& field = fields[feature.field];
      ++field.features;
      field.weighted |= feature.value != 1;
      if (field.last_row != rows) ++field.rows;
      field.last_row = rows;
    }
  }

  void Merge(const RowTally& later) {
    rows += later.rows;
    features += later.features;
    grouped += later.grouped;
    fewest = std::min(fewest, later.fewest);
    most = std::max(most, later.most);
    weighted |= later.weighted;
    fields.resize(std::max(fields.size(), later.fields.size()));
    for (size_t f = 0; f < later.fields.size(); ++f) {
      fields[f].features += later.fields[f].features;
      fields[f].rows += later.fields[f].rows;
      fields[f].weighted |= later.fields[f].weighted;
    }
    labels.Merge(later.labels);
  }
};

// Reads rows of libsvm and libffm, with the parser that training uses as far as its inputs are
// known before the rows are: libffm without a list of fields is read as it is written.
class RowDescriber {
 public:
  RowDescriber(const ParserSpec& format, const DescribeRowsOptions& options)
      : format_(format), options_(options), scratch_(options.threads) {
    label_.role = Column::Role::kLabel;
    label_.task = options.task;
  }

  Status Init() {
    FL_RETURN_IF_ERROR(ReadLabelRule());
    std::vector<InputSpec> inputs = {{kLabelInput, InputKind::kLabel, 1}};
    if (is_libffm()) {
      for (const std::string& name : GivenFields()) {
        if (name != "-") inputs.push_back({name, InputKind::kIds, 1});
      }
      if (inputs.size() == 1) return absl::OkStatus();
      FL_ASSIGN_OR_RETURN(parser_, MakeParser(WithLabels(format_), inputs));
      return absl::OkStatus();
    }
    const size_t positions = GivenPositions();
    for (size_t i = 0; i < positions; ++i) inputs.push_back({FieldInput(i), InputKind::kIds, 1});
    if (positions == 0) inputs.push_back({kBagInput, InputKind::kIds, 1});
    ParserSpec format = WithLabels(format_);
    format.params.erase("group");
    FL_ASSIGN_OR_RETURN(parser_, MakeParser(format, inputs));
    format.params["group"] = GroupInput();
    inputs.push_back({GroupInput(), InputKind::kIds, 1});
    FL_ASSIGN_OR_RETURN(grouped_parser_, MakeParser(format, inputs));
    return absl::OkStatus();
  }

  StatusOr<DescribedRows> Run(const std::vector<std::string>& files) {
    LinePassOptions pass{.threads = options_.threads,
                         .reader = options_.reader,
                         .on_progress = options_.on_progress};
    pass.reader.log = options_.log;
    BadRowLimit limit(options_.max_bad_rows, options_.log);
    FL_RETURN_IF_ERROR(PassOverRows(
        files, pass,
        [&](int worker, std::string_view line) { return AddLine(line, &scratch_[worker]); },
        [](int) {},
        [&](int worker, std::span<const std::string> bad) {
          total_.Merge(std::exchange(scratch_[worker].tally, {}));
          return limit.Add(bad);
        }));
    if (total_.rows == 0) return InvalidArgument("{}: there is no row in the files", files[0]);
    if (total_.most == 0) return InvalidArgument("{}: no row has a feature", files[0]);
    DescribedRows described{.format = format_, .features = {}};
    described.features.rows = total_.rows;
    FL_RETURN_IF_ERROR(Annotate(DescribeLabel(&described), "label"));
    FL_RETURN_IF_ERROR(is_libffm() ? DescribeFields(&described) : DescribeFeatures(&described));
    return described;
  }

 private:
  struct Scratch {
    RowTally tally;
    Batch batch;
    std::vector<LibffmFeature> features;
  };

  bool is_libffm() const { return format_.format == "libffm"; }

  // Parameters, which MakeParser checks.
  std::string GroupInput() const {
    const std::string* const given = GivenParam(format_, "group");
    return given != nullptr ? *given : kGroupInput;
  }
  size_t GivenPositions() const {
    uint64_t positions = 0;
    if (const std::string* const given = GivenParam(format_, "positions")) {
      ScanUint64(given->data(), given->data() + given->size(), &positions);
    }
    return std::min<uint64_t>(positions, kMostFields);
  }
  std::vector<std::string> GivenFields() const {
    const std::string* const given = GivenParam(format_, "fields");
    return given == nullptr ? std::vector<std::string>() : ItemsOfParam(*given);
  }

  Status ReadLabelRule() {
    const std::string* const given = GivenParam(format_, "labels");
    labels_are_given_ = given != nullptr;
    if (given == nullptr) return absl::OkStatus();
    StatusOr<LabelRule> rule = LabelRule::FromText(*given);
    if (!rule.ok()) return Annotate(rule.status(), format_.format + ": labels");
    rule_ = *std::move(rule);
    for (const std::string& name : rule_.ClassNames()) label_.classes.push_back({name});
    return absl::OkStatus();
  }
  ParserSpec WithLabels(ParserSpec format) const {
    format.params["labels"] = rule_.text();
    return format;
  }

  Status AddLine(std::string_view line, Scratch* scratch) const {
    const char* const end = line.data() + line.size();
    const char* p = SkipBlanks(line.data(), end);
    if (AtEndOrComment(p, end)) return absl::OkStatus();
    const char* const word = p;
    float label = 0;
    FL_RETURN_IF_ERROR(rule_.Read(line, &p, &label));
    const std::string_view text(word, p - word);
    p = SkipBlanks(p, end);
    const bool grouped = !is_libffm() && std::string_view(p, end - p).starts_with("qid:");
    scratch->features.clear();
    const Parser* const parser = grouped ? grouped_parser_.get() : parser_.get();
    FL_RETURN_IF_ERROR(parser != nullptr ? ParseFeatures(*parser, line, scratch)
                                         : ReadFeatures(line, p, scratch));
    RowTally& tally = scratch->tally;
    tally.Add(scratch->features);
    tally.grouped += grouped ? 1 : 0;
    if (!label_.classes.empty()) {
      tally.labels.AddClass(static_cast<int64_t>(label));
    } else if (labels_are_given_) {
      tally.labels.AddText(CanonicalText(label));
    } else {
      tally.labels.AddText(text);
    }
    return absl::OkStatus();
  }

  // The features of a libffm line, by field.
  Status ReadFeatures(std::string_view line, const char* p, Scratch* scratch) const {
    const char* const end = line.data() + line.size();
    while (!AtEndOrComment(p, end)) {
      const size_t column = p - line.data() + 1;
      LibffmFeature feature;
      FL_RETURN_IF_ERROR(ReadLibffmFeature(line, &p, &feature));
      if (feature.field >= kMostFields) {
        return BadRow(column, "expected a field below {}, found {}", kMostFields, feature.field);
      }
      if (feature.value != 0) scratch->features.push_back(feature);
    }
    return absl::OkStatus();
  }

  // The features of a line by input, those of a single bag by position.
  Status ParseFeatures(const Parser& parser, std::string_view line, Scratch* scratch) const {
    Batch& batch = scratch->batch;
    batch.fields.resize(parser.inputs().size());
    batch.Clear();
    FL_RETURN_IF_ERROR(parser.Parse(line, &batch));
    const size_t inputs = parser.inputs().size() - (&parser == grouped_parser_.get() ? 1 : 0);
    for (size_t i = 1; i < inputs; ++i) {
      const RaggedIds& ids = batch.fields[i].ids;
      for (size_t k = 0; k < ids.ids.size(); ++k) {
        scratch->features.push_back({.field = IsBag() ? k : i - 1,
                                     .index = ids.ids[k],
                                     .value = ids.weights.empty() ? 1 : ids.weights[k]});
      }
    }
    return absl::OkStatus();
  }
  bool IsBag() const { return !is_libffm() && GivenPositions() == 0; }

  Status DescribeLabel(DescribedRows* described) const {
    FL_ASSIGN_OR_RETURN(const LabelStatistics label, total_.labels.Decide(label_));
    std::vector<std::string> classes = label.classes;
    for (const std::vector<std::string>& listed : label_.classes) classes.push_back(listed[0]);
    LabelFeature feature{.input = kLabelInput,
                         .task = label.task,
                         .classes = static_cast<int64_t>(classes.size()),
                         .mean = label.mean,
                         .deviation = label.deviation};
    if (label.task == LabelTask::kRegression) feature.classes = 0;
    if (!labels_are_given_) {
      using Texts = std::vector<std::string>;
      const bool binary = classes == Texts{"0", "1"} || classes == Texts{"-1", "1"};
      described->format.params["labels"] = label.task == LabelTask::kRegression ? "number"
                                           : binary                             ? "binary"
                                                    : fmt::format("{}", fmt::join(classes, ","));
    } else if (label_.classes.empty() && label.task != LabelTask::kRegression) {
      // Labels stay as they are written, so they must be class numbers.
      for (size_t k = 0; k < classes.size(); ++k) {
        if (classes[k] == fmt::to_string(k)) continue;
        return InvalidArgument(
            "labels={} leaves the labels as they are, and classes are numbered from 0, not {}: "
            "leave the parameter out, or list the labels: labels={}",
            rule_.text(), classes[k], fmt::join(classes, ","));
      }
    }
    described->features.labels = {feature};
    return absl::OkStatus();
  }

  static Feature FeatureOf(std::string input, bool single, bool weighted) {
    return {.input = std::move(input),
            .kind = single && !weighted ? Feature::Kind::kId : Feature::Kind::kBag,
            .width = 1,
            .weighted = weighted,
            .length = 0,
            .vocabulary = kIndexes};
  }

  Status DescribeFeatures(DescribedRows* described) const {
    Features& features = described->features;
    if (total_.grouped > 0 && total_.grouped < total_.rows) {
      return InvalidArgument("{} of {} rows have a group, qid:<number>: all of them must, or none",
                             total_.grouped, total_.rows);
    }
    if (total_.grouped == 0 && GivenParam(format_, "group") != nullptr) {
      return InvalidArgument("the format parameter group is given, and no row has qid:<number>");
    }
    if (total_.grouped > 0) {
      features.group = described->format.params["group"] = GroupInput();
    }
    const bool fits = options_.positions && total_.fewest == total_.most && total_.most >= 2 &&
                      total_.most <= kMostPositions;
    const bool given = GivenParam(format_, "positions") != nullptr;
    if (given ? GivenPositions() == 0 : !fits) {
      features.features.push_back(FeatureOf(kBagInput, false, total_.weighted));
      features.features.back().mean_ids = PerRow(total_.features);
      return absl::OkStatus();
    }
    described->format.params["positions"] = fmt::to_string(total_.most);
    for (size_t i = 0; i < total_.most; ++i) {
      features.features.push_back(FeatureOf(FieldInput(i), true, total_.fields[i].weighted));
    }
    return absl::OkStatus();
  }

  // The inputs of libffm rows with their fields; without a list, fields that no row has get none.
  std::vector<std::pair<std::string, FieldTally>> UsedFields() const {
    std::vector<std::pair<std::string, FieldTally>> used;
    for (const std::string& name : GivenFields()) {
      if (name == "-") continue;
      const size_t f = used.size();
      used.emplace_back(name, f < total_.fields.size() ? total_.fields[f] : FieldTally());
    }
    if (!used.empty()) return used;
    for (size_t f = 0; f < total_.fields.size(); ++f) {
      if (total_.fields[f].features > 0) used.emplace_back(FieldInput(f), total_.fields[f]);
    }
    return used;
  }

  double PerRow(int64_t features) const {
    return static_cast<double>(features) / static_cast<double>(total_.rows);
  }

  Status DescribeFields(DescribedRows* described) const {
    described->features.rows = total_.rows;
    const auto used = UsedFields();
    const auto several = std::find_if_not(used.begin(), used.end(), [this](const auto& each) {
      return each.second.features == total_.rows && each.second.rows == total_.rows;
    });
    const auto [given, added] =
        described->format.params.try_emplace("single", several == used.end() ? "yes" : "no");
    const bool single = given->second == "yes";
    if (single && several != used.end()) {
      return InvalidArgument(
          "single=yes is given, and input {} does not have one feature in every row: {} of {} rows "
          "have it, with {} features",
          several->first, several->second.rows, total_.rows, several->second.features);
    }
    for (const auto& [input, field] : used) {
      described->features.features.push_back(FeatureOf(input, single, field.weighted));
      described->features.features.back().mean_ids = PerRow(field.features);
    }
    return absl::OkStatus();
  }

  // Constant after Init.
  const ParserSpec& format_;
  const DescribeRowsOptions& options_;
  bool labels_are_given_ = false;
  LabelRule rule_ = LabelRule::kNumber;
  Column label_;                            // with the classes that the given rule lists
  std::unique_ptr<Parser> parser_;          // null: libffm whose fields are not known
  std::unique_ptr<Parser> grouped_parser_;  // libsvm: of rows with a qid

  std::vector<Scratch> scratch_;  // by worker
  RowTally total_;                // changed by commits only, which run one at a time
};

StatusOr<DescribedRows> DescribeCriteo(const ParserSpec& format, std::optional<LabelTask> task) {
  if (task.value_or(LabelTask::kClick) != LabelTask::kClick) {
    return InvalidArgument("criteo: labels are clicks, 0 or 1, and the task is {}", NameOf(*task));
  }
  DescribedRows described{.format = format, .features = {}};
  FL_RETURN_IF_ERROR(MakeParser(format, CriteoInputs()).status());
  uint64_t hash_dim = CriteoOptions().hash_dim;
  if (const std::string* const given = GivenParam(format, "hash_dim")) {
    ScanUint64(given->data(), given->data() + given->size(), &hash_dim);
  }
  // Tables of fixed size have at most 2^32 rows.
  if (hash_dim <= std::numeric_limits<uint32_t>::max()) {
    described.features.id_rows = static_cast<int64_t>(hash_dim);
  }
  for (const InputSpec& input : CriteoInputs()) {
    if (input.kind == InputKind::kLabel) {
      described.features.labels.push_back({.input = input.name});
      continue;
    }
    const bool is_ids = input.kind == InputKind::kIds;
    described.features.features.push_back(
        {.input = input.name,
         .kind = is_ids ? Feature::Kind::kId : Feature::Kind::kNumber,
         .width = input.width,
         .weighted = false,
         .length = 0,
         .vocabulary = is_ids ? input.name : ""});
  }
  return described;
}

}  // namespace

StatusOr<DescribedRows> DescribeRows(const ParserSpec& format,
                                     const std::vector<std::string>& files,
                                     const DescribeRowsOptions& options) {
  if (format.format == "criteo") return DescribeCriteo(format, options.task);
  if (format.format != "libsvm" && format.format != "libffm") {
    return InvalidArgument("rows of the format {} do not define the features of a model",
                           format.format);
  }
  if (files.empty()) return InvalidArgument("there are no files to read rows from");
  RowDescriber describer(format, options);
  FL_RETURN_IF_ERROR(describer.Init());
  return describer.Run(files);
}

}  // namespace flotilla
