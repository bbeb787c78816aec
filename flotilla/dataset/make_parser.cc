#include "flotilla/dataset/make_parser.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "flotilla/base/nearest_name.h"
#include "flotilla/dataset/corpus_parser.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/csv_parser.h"
#include "flotilla/dataset/libffm_parser.h"
#include "flotilla/dataset/libsvm_parser.h"
#include "flotilla/dataset/multislot_parser.h"
#include "flotilla/dataset/scan_text.h"
#include "flotilla/schema/builtin_schemas.h"

namespace flotilla {
namespace {

using Inputs = std::span<const InputSpec>;
using ParserOr = StatusOr<std::unique_ptr<Parser>>;

// The values of the parameters that were given.
class Params {
 public:
  explicit Params(const ParserSpec& spec) : spec_(spec) {}

  const std::string& format() const { return spec_.format; }

  // Null when the parameter was not given.
  const std::string* Find(const std::string& name) const {
    const auto found = spec_.params.find(name);
    return found == spec_.params.end() ? nullptr : &found->second;
  }

  // The functions below leave *value unchanged when the parameter was not given.
  Status Read(const std::string& name, uint64_t* value) const {
    const std::string* text = Find(name);
    if (text == nullptr) return absl::OkStatus();
    const char* const end = text->data() + text->size();
    if (ScanUint64(text->data(), end, value) == end) return absl::OkStatus();
    return InvalidArgument("{}: {}: '{}' is not a whole number", format(), name, *text);
  }
  // Reads one of the words; the value is its index.
  template <typename T>
  Status Read(const std::string& name, std::span<const std::string_view> words, T* value) const {
    const std::string* text = Find(name);
    if (text == nullptr) return absl::OkStatus();
    const auto word = std::find(words.begin(), words.end(), *text);
    if (word == words.end()) {
      return InvalidArgument("{}: {}: '{}' is not one of {}", format(), name, *text,
                             fmt::join(words, ", "));
    }
    *value = static_cast<T>(word - words.begin());
    return absl::OkStatus();
  }
  Status Read(const std::string& name, LabelRule* value) const {
    const std::string* text = Find(name);
    if (text == nullptr) return absl::OkStatus();
    StatusOr<LabelRule> rule = LabelRule::FromText(*text);
    if (!rule.ok()) return Annotate(rule.status(), fmt::format("{}: {}", format(), name));
    *value = *std::move(rule);
    return absl::OkStatus();
  }
  void Read(const std::string& name, std::vector<std::string>* value) const {
    if (const std::string* text = Find(name)) *value = ItemsOfParam(*text);
  }

 private:
  const ParserSpec& spec_;
};

constexpr std::string_view kNoYes[] = {"no", "yes"};
constexpr std::string_view kCriteoNumeric[] = {"seeds", "log", "statistics"};

ParserOr MakeCorpus(const Params& params, Inputs inputs) {
  CorpusOptions options;
  FL_RETURN_IF_ERROR(params.Read("vocabulary", &options.vocabulary));
  return CorpusParser::Make(inputs, options);
}

Status ReadCriteoNumbers(const Params& params, CriteoOptions* options) {
  const std::string* text = params.Find("statistics");
  const std::string* file = params.Find("statistics_file");
  const int wanted = options->numeric == CriteoOptions::Numeric::kStatistics ? 1 : 0;
  if ((text != nullptr) + (file != nullptr) != wanted) {
    return InvalidArgument("{}: numeric=statistics needs one of statistics_file and statistics",
                           params.format());
  }
  if (wanted == 0) return absl::OkStatus();
  const auto read = file != nullptr ? ReadCriteoStatistics(*file) : CriteoStatisticsFromText(*text);
  if (!read.ok()) return Annotate(read.status(), params.format());
  options->statistics = *read;
  return absl::OkStatus();
}

ParserOr MakeCriteo(const Params& params, Inputs inputs) {
  CriteoOptions options;
  FL_RETURN_IF_ERROR(params.Read("hash_dim", &options.hash_dim));
  FL_RETURN_IF_ERROR(params.Read("numeric", kCriteoNumeric, &options.numeric));
  FL_RETURN_IF_ERROR(ReadCriteoNumbers(params, &options));
  return CriteoParser::Make(inputs, options);
}

StatusOr<Schema> SchemaOf(const Params& params, const Schema& defaults) {
  const std::string* text = params.Find("schema");
  const std::string* file = params.Find("schema_file");
  if ((text == nullptr) == (file == nullptr)) {
    return InvalidArgument("{}: set either schema or schema_file", params.format());
  }
  std::string content;
  if (file != nullptr) {
    FL_ASSIGN_OR_RETURN(content, ReadSchemaFile(*file));
    text = &content;
  } else if (const std::string_view builtin = BuiltinSchema(*text); !builtin.empty()) {
    content = builtin;
    text = &content;
  }
  StatusOr<Schema> schema = Schema::FromText(*text, defaults);
  if (!schema.ok()) return Annotate(schema.status(), file != nullptr ? *file : params.format());
  return schema;
}

Schema TsvDefaults() {
  Schema schema;
  schema.delimiter = '\t';
  schema.quotes = false;
  return schema;
}

StatusOr<FittedSchema> FittedSchemaOf(const Params& params, const Schema& defaults) {
  FL_ASSIGN_OR_RETURN(Schema schema, SchemaOf(params, defaults));
  const std::string* text = params.Find("statistics");
  const std::string* file = params.Find("statistics_file");
  if (text != nullptr && file != nullptr) {
    return InvalidArgument("{}: set either statistics or statistics_file", params.format());
  }
  // `flotilla data stats` writes them beside the schema.
  std::string beside;
  const std::string* const schema_file = params.Find("schema_file");
  if (file == nullptr && text == nullptr && schema_file != nullptr && schema.NeedsStatistics()) {
    beside = *schema_file + ".stats";
    if (std::error_code error; std::filesystem::exists(beside, error)) file = &beside;
  }
  std::optional<Statistics> statistics;
  if (file != nullptr) {
    FL_ASSIGN_OR_RETURN(statistics, ReadStatistics(*file));
  } else if (text != nullptr) {
    FL_ASSIGN_OR_RETURN(statistics, StatisticsFromText(*text));
  }
  StatusOr<FittedSchema> fitted = FittedSchema::Make(std::move(schema), std::move(statistics));
  if (!fitted.ok()) return Annotate(fitted.status(), file != nullptr ? *file : params.format());
  return fitted;
}

ParserOr MakeCsv(const Params& params, Inputs inputs) {
  FL_ASSIGN_OR_RETURN(const FittedSchema schema, FittedSchemaOf(params, {}));
  return CsvParser::Make(inputs, schema);
}

ParserOr MakeTsv(const Params& params, Inputs inputs) {
  FL_ASSIGN_OR_RETURN(const FittedSchema schema, FittedSchemaOf(params, TsvDefaults()));
  return CsvParser::Make(inputs, schema);
}

ParserOr MakeLibffm(const Params& params, Inputs inputs) {
  LibffmOptions options;
  FL_RETURN_IF_ERROR(params.Read("labels", &options.labels));
  FL_RETURN_IF_ERROR(params.Read("single", kNoYes, &options.single));
  params.Read("fields", &options.fields);
  return LibffmParser::Make(inputs, options);
}

ParserOr MakeLibsvm(const Params& params, Inputs inputs) {
  LibsvmOptions options;
  FL_RETURN_IF_ERROR(params.Read("labels", &options.labels));
  FL_RETURN_IF_ERROR(params.Read("first_index", &options.first_index));
  FL_RETURN_IF_ERROR(params.Read("positions", &options.positions));
  if (const std::string* group = params.Find("group"); group != nullptr) options.group = *group;
  return LibsvmParser::Make(inputs, options);
}

ParserOr MakeMultislot(const Params& params, Inputs inputs) {
  MultislotOptions options;
  params.Read("single", &options.single_id_slots);
  if (options.single_id_slots == std::vector<std::string>{"all"}) {
    options.single_id_slots.clear();
    options.all_single = true;
  }
  return MultislotParser::Make(inputs, options);
}

struct Entry {
  ParserFormat format;
  ParserOr (*make)(const Params& params, Inputs inputs);
};

constexpr std::string_view kLabelsHelp =
    "binary: -1 and 0 become 0, 1 stays; whole: class numbers as written; number: any number; "
    "A,B,..: the numbers of class 0, 1, ..";
const std::vector<ParserFormat::Param>& SchemaParams() {
  static const std::vector<ParserFormat::Param> params = {
      {"schema", "the columns, see docs/data_formats.md: \"age:number city:category click:label\""},
      {"schema_file", "a file with the schema, as words or JSON"},
      {"statistics", "the content of a statistics file"},
      {"statistics_file",
       "the statistics of the schema, from `flotilla data stats` (default: schema_file + .stats)"}};
  return params;
}

const std::vector<Entry>& Table() {
  static const std::vector<Entry> table = {
      {{"corpus",
        "a sentence per line: ids separated by blanks",
        {{"vocabulary", "size of the vocabulary, ids must be below it; 0: any id", "0"}}},
       MakeCorpus},
      {{"criteo",
        "label, 13 numbers and 26 categories, separated by tabs",
        {{"hash_dim", "number of hash buckets, ids are below it", "1000001"},
         {"numeric",
          "seeds: (x - min) / diff with fixed values; log: log(1 + x); statistics: (x - min) / "
          "(p95 - min)",
          "seeds"},
         {"statistics", "numeric=statistics: the content of a statistics file"},
         {"statistics_file", "numeric=statistics: the statistics.json of `flotilla data criteo`"}}},
       MakeCriteo},
      {{"csv", "columns separated by commas, described by a schema", SchemaParams()}, MakeCsv},
      {{"libffm",
        "<label> <field>:<index>:<value> ..",
        {{"fields", "the inputs of fields 0, 1, ..; - skips a field (F0,F1,..)"},
         {"labels", kLabelsHelp, "binary"},
         {"single", "yes: each id input has one feature in every row", "no"}}},
       MakeLibffm},
      {{"libsvm",
        "<label> <index>:<value> ..; also SVMlight and libFM",
        {{"first_index", "the index of element 0 of a dense input", "1"},
         {"group", "the id input that qid:NUMBER fills, with exactly one id in every row"},
         {"labels", kLabelsHelp, "binary"},
         {"positions", "every row has N features, of which number i (from 0) fills the input Fi"}}},
       MakeLibsvm},
      {{"multislot",
        "for each input <n> v1 .. vn, separated by blanks",
        {{"single", "the id inputs with exactly one id in every row, or all (none)"}}},
       MakeMultislot},
      {{"tsv", "columns separated by tabs and without quotes, described by a schema",
        SchemaParams()},
       MakeTsv},
  };
  return table;
}

// The names of all items, as a list for an error message.
template <typename Things, typename NameOf>
std::string Names(const Things& things, NameOf name_of) {
  std::vector<std::string_view> names;
  for (const auto& each : things) names.push_back(name_of(each));
  return fmt::format("{}", fmt::join(names, ", "));
}

StatusOr<const Entry*> FindEntry(const ParserSpec& spec) {
  for (const Entry& entry : Table()) {
    if (entry.format.name == spec.format) return &entry;
  }
  return InvalidArgument("unknown data format {}; known: {}", spec.format,
                         Names(Table(), [](const Entry& entry) { return entry.format.name; }));
}

Status CheckParams(const ParserSpec& spec, const ParserFormat& format) {
  std::vector<std::string> known;
  for (const ParserFormat::Param& param : format.params) known.emplace_back(param.name);
  for (const auto& given : spec.params) {
    if (std::find(known.begin(), known.end(), given.first) == known.end()) {
      return InvalidArgument("{}: unknown parameter {}{}", spec.format, given.first,
                             DidYouMean(given.first, known));
    }
  }
  return absl::OkStatus();
}

Status CheckHasSchema(const ParserSpec& spec) {
  if (spec.format == "csv" || spec.format == "tsv") return absl::OkStatus();
  return InvalidArgument("rows of the format {} have no schema", spec.format);
}

}  // namespace

std::vector<ParserFormat> ParserFormats() {
  std::vector<ParserFormat> formats;
  for (const Entry& entry : Table()) formats.push_back(entry.format);
  return formats;
}

ParserSpec WithDefaults(ParserSpec spec) {
  for (const Entry& entry : Table()) {
    if (entry.format.name != spec.format) continue;
    for (const ParserFormat::Param& param : entry.format.params) {
      if (!param.otherwise.empty())
        spec.params.try_emplace(std::string(param.name), param.otherwise);
    }
  }
  return spec;
}

Status CheckFormat(const ParserSpec& spec) {
  FL_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(spec));
  return CheckParams(spec, entry->format);
}

StatusOr<std::unique_ptr<Parser>> MakeParser(const ParserSpec& spec,
                                             std::span<const InputSpec> inputs) {
  FL_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(spec));
  FL_RETURN_IF_ERROR(CheckParams(spec, entry->format));
  return entry->make(Params(spec), inputs);
}

StatusOr<std::vector<InputSpec>> InputsOfFormat(const ParserSpec& spec) {
  if (spec.format == "criteo") return CriteoInputs();
  if (spec.format != "csv" && spec.format != "tsv") {
    return InvalidArgument("rows of the format {} do not define which inputs they fill",
                           spec.format);
  }
  FL_ASSIGN_OR_RETURN(const Schema schema, SchemaTextOfSpec(spec));
  return schema.Inputs();
}

std::vector<std::string> ItemsOfParam(std::string_view text) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", begin), text.size());
    if (end > begin) items.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

ParserSpec SpecOf(const FittedSchema& schema) {
  ParserSpec spec{.format = "csv", .params = {{"schema", schema.schema().ToJson()}}};
  if (const Statistics* statistics = schema.statistics()) {
    spec.params["statistics"] = StatisticsToText(*statistics);
  }
  return spec;
}

StatusOr<Schema> SchemaTextOfSpec(const ParserSpec& spec) {
  FL_RETURN_IF_ERROR(CheckHasSchema(spec));
  return SchemaOf(Params(spec), spec.format == "tsv" ? TsvDefaults() : Schema());
}

StatusOr<FittedSchema> SchemaOfSpec(const ParserSpec& spec) {
  FL_RETURN_IF_ERROR(CheckHasSchema(spec));
  return FittedSchemaOf(Params(spec), spec.format == "tsv" ? TsvDefaults() : Schema());
}

}  // namespace flotilla
