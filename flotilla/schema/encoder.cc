#include "flotilla/schema/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/base/scan_number.h"
#include "flotilla/tensor/append_row.h"

namespace flotilla {
namespace {

using Role = Column::Role;
using Coding = Column::Coding;

constexpr size_t kLogTable = 4096;

// log(1 + x) of small whole numbers, which most counts are.
const std::vector<double>& SmallLogs() {
  static const std::vector<double> logs = [] {
    std::vector<double> table(kLogTable);
    for (size_t x = 0; x < kLogTable; ++x) table[x] = std::log1p(static_cast<double>(x));
    return table;
  }();
  return logs;
}

double LogOf(double number) {
  if (!(number > 0)) return 0;
  if (number < static_cast<double>(kLogTable)) {
    const auto whole = static_cast<size_t>(number);
    if (static_cast<double>(whole) == number) return SmallLogs()[whole];
  }
  return std::log1p(number);
}

std::string Shown(std::string_view text) {
  return ShownText(text.data(), text.data() + text.size());
}

}  // namespace

// The ids of the values of a vocabulary: open addressing by key.
class Encoder::IdTable {
 public:
  // Value i has the id first + 2 + i.
  IdTable(std::span<const uint64_t> keys, uint64_t first) : other_(first + 1) {
    slots_.resize(std::bit_ceil(2 * keys.size() + 2));
    mask_ = slots_.size() - 1;
    for (size_t i = 0; i < keys.size(); ++i) {
      size_t at = keys[i] & mask_;
      while (slots_[at].id != 0 && slots_[at].key != keys[i]) at = (at + 1) & mask_;
      slots_[at] = {keys[i], first + 2 + i};
    }
  }

  void Prefetch(uint64_t key) const { __builtin_prefetch(&slots_[key & mask_]); }

  uint64_t Find(uint64_t key) const {
    for (size_t at = key & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id == 0) return other_;
      if (slot.key == key) return slot.id;
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint64_t id = 0;  // 0: empty; no value has it
  };

  const uint64_t other_;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

// What is done with one column.
struct Encoder::Op {
  enum class Kind { kNumber, kOneId, kCross, kList, kLabel, kWeight, kGroup };
  enum class Ids { kPlain, kModulo, kHash, kRange, kDirect, kTable };

  Op(const Schema& schema, size_t index, std::span<const double> borders)
      : column(index),
        spec(&schema.columns[index]),
        source(schema.Sources()[index]),
        reader(schema, index, borders) {}

  size_t column;
  const Column* spec;
  Kind kind = Kind::kOneId;
  int source;
  int field = -1;
  // Numbers: (log(x) or x, less `shift`) / `divisor`.
  double shift = 0;
  double divisor = 1;
  bool log = false;
  bool scaled = false;  // shift or divide
  // Ids.
  bool in_bag = false;  // one id of a bag that other columns fill too: the order of columns counts
  Ids ids = Ids::kPlain;
  uint64_t first = 0;
  uint64_t modulus = 1;
  uint64_t reciprocal = 0;  // of the modulus, times 2^64

  // hash % modulus with a multiplication: the estimated quotient is exact or one too small.
  uint64_t Modulo(uint64_t hash) const {
    const auto quotient =
        static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * reciprocal) >> 64);
    const uint64_t rest = hash - quotient * modulus;
    return rest < modulus ? rest : rest - modulus;
  }
  uint64_t seed = 0;
  uint64_t missing_id = 0;  // kHash: the id of a missing value
  const IdTable* table = nullptr;
  std::vector<size_t> members;  // of a cross: indexes of ops
  ColumnReader reader;
  std::unique_ptr<LabelReader> label;
};

StatusOr<std::unique_ptr<Encoder>> Encoder::Make(FittedSchema schema,
                                                 std::span<const InputSpec> inputs,
                                                 std::span<const std::string> absent) {
  std::unique_ptr<Encoder> encoder(new Encoder(std::move(schema), inputs));
  FL_RETURN_IF_ERROR(encoder->FindFields(absent));
  return encoder;
}

Encoder::Encoder(FittedSchema schema, std::span<const InputSpec> inputs)
    : fitted_(std::move(schema)),
      inputs_(inputs.begin(), inputs.end()),
      reads_(static_cast<size_t>(fitted_.schema().SourceCount())) {}

Encoder::~Encoder() = default;

Status Encoder::FindFields(std::span<const std::string> absent) {
  const std::vector<InputSpec> expected = schema().Inputs();
  auto find = [](std::span<const InputSpec> among, const std::string& name) {
    return static_cast<size_t>(
        std::find_if(among.begin(), among.end(),
                     [&](const InputSpec& each) { return each.name == name; }) -
        among.begin());
  };
  for (const InputSpec& input : inputs_) {
    const size_t k = find(expected, input.name);
    if (k == expected.size()) return InvalidArgument("no column fills input {}", input.name);
    if (expected[k] != input) {
      return InvalidArgument("input {} has another kind or width than its {} columns", input.name,
                             expected[k].width);
    }
  }
  std::vector<int> columns_of(inputs_.size());
  std::vector<bool> is_bag(inputs_.size());
  // Crosses come last, when the codes of their members are known.
  for (const bool crosses : {false, true}) {
    for (size_t c = 0; c < schema().columns.size(); ++c) {
      const Column& column = schema().columns[c];
      if (column.role == Role::kIgnore || column.role == Role::kKeep) continue;
      if ((column.role == Role::kCross) != crosses) continue;
      const size_t field = find(inputs_, column.input_name());
      const bool optional = column.role == Role::kLabel || column.role == Role::kWeight ||
                            column.role == Role::kGroup;
      if (field == inputs_.size()) {
        if (optional) continue;
        return InvalidArgument("{}: the model has no input {}", PlaceOf(schema(), c),
                               column.input_name());
      }
      if (std::find(absent.begin(), absent.end(), column.input_name()) != absent.end()) {
        if (!optional) {
          return InvalidArgument("{}: the model needs input {}", PlaceOf(schema(), c),
                                 column.input_name());
        }
        absent_.emplace_back(static_cast<int>(field), column.role);
        continue;
      }
      FL_RETURN_IF_ERROR(AddOp(c, static_cast<int>(field)));
      const bool is_list = column.role == Role::kBag || column.role == Role::kSequence;
      is_bag[field] = is_bag[field] || is_list || (column.is_ids() && columns_of[field] > 0);
      ++columns_of[field];
    }
  }
  for (size_t field = 0; field < inputs_.size(); ++field) {
    if (is_bag[field]) bags_.push_back(static_cast<int>(field));
  }
  for (Op& op : ops_) op.in_bag = is_bag[op.field];
  return absl::OkStatus();
}

Status Encoder::AddOp(size_t c, int field) {
  const Column& column = schema().columns[c];
  const Statistics* statistics = fitted_.statistics();
  const NumberStatistics numbers = statistics ? statistics->numbers[c] : NumberStatistics();
  Op op(schema(), c, numbers.borders);
  op.field = field;
  op.seed = HashBytes(column.vocabulary_name());
  if (op.source >= 0) reads_[op.source] = true;
  switch (column.role) {
    case Role::kDense:
      op.kind = Op::Kind::kNumber;
      op.log = column.log;
      op.shift = column.log ? 0 : column.min;
      op.divisor = column.log ? 1 : column.diff;
      if (column.scale == Column::Scale::kMinMax) {
        op.shift = column.log ? LogOf(numbers.min) : numbers.min;
        op.divisor = (column.log ? LogOf(numbers.max) : numbers.max) - op.shift;
      } else if (column.scale == Column::Scale::kStandard) {
        op.shift = numbers.mean;
        op.divisor = numbers.deviation;
      }
      // A column with one value tells nothing: it is 0.
      if (op.divisor == 0) op.divisor = 1;
      op.scaled = op.shift != 0 || op.divisor != 1;
      break;
    case Role::kLabel:
      op.kind = Op::Kind::kLabel;
      op.label =
          std::make_unique<LabelReader>(column, statistics ? &statistics->labels[c] : nullptr);
      break;
    case Role::kWeight:
      op.kind = Op::Kind::kWeight;
      break;
    case Role::kGroup:
      op.kind = Op::Kind::kGroup;
      break;
    case Role::kCross:
      op.kind = Op::Kind::kCross;
      FL_RETURN_IF_ERROR(FindMembers(column, &op));
      break;
    case Role::kBag:
    case Role::kSequence:
      op.kind = Op::Kind::kList;
      break;
    default:
      break;
  }
  const FittedSchema::IdRange range = fitted_.id_ranges()[c];
  op.first = range.first;
  op.missing_id = KeyOfText({}, op.seed);
  if (op.reader.is_direct()) {
    op.ids = Op::Ids::kDirect;
  } else if (column.coding == Coding::kRange) {
    op.ids = Op::Ids::kRange;
    op.modulus = column.hash_dim;
  } else if (column.role == Role::kGroup || column.coding == Coding::kHash ||
             (column.is_counted() && range.size == 0)) {
    op.ids = Op::Ids::kHash;
  } else if (column.is_counted()) {
    op.ids = Op::Ids::kTable;
    const auto v = static_cast<size_t>(schema().VocabularyIndexes()[c]);
    tables_.resize(std::max(tables_.size(), v + 1));
    if (tables_[v] == nullptr) {
      tables_[v] = std::make_unique<IdTable>(statistics->vocabularies[v].keys, range.first);
    }
    op.table = tables_[v].get();
  } else if (!column.number) {
    op.ids = Op::Ids::kModulo;
    op.modulus = schema().hash_dim;
  }
  op.reciprocal = UINT64_MAX / op.modulus;
  ops_.push_back(std::move(op));
  return absl::OkStatus();
}

Status Encoder::FindMembers(const Column& column, Op* op) const {
  for (const std::string& name : column.members) {
    const Column* member = schema().MemberOf(name);
    const auto found = std::find_if(ops_.begin(), ops_.end(),
                                    [&](const Op& other) { return other.spec == member; });
    FL_CHECK(found != ops_.end());
    op->members.push_back(static_cast<size_t>(found - ops_.begin()));
  }
  return absl::OkStatus();
}

inline uint64_t Encoder::IdOf(const Op& op, uint64_t code) const {
  switch (op.ids) {
    case Op::Ids::kPlain:
      return code;
    case Op::Ids::kModulo:
      return op.Modulo(code);
    case Op::Ids::kHash:
      return code == kMissingCode ? op.missing_id : code;
    case Op::Ids::kRange:
      return code == kMissingCode ? op.first : op.first + 1 + op.Modulo(code);
    case Op::Ids::kDirect:
      return code == kMissingCode ? op.first : op.first + 1 + code;
    case Op::Ids::kTable:
      return code == kMissingCode ? op.first : op.table->Find(code);
  }
  return 0;
}

Status Encoder::Unexpected(const Op& op, std::string_view expected, std::string_view found) const {
  return InvalidArgument("{}: expected {}, found '{}'", PlaceOf(schema(), op.column), expected,
                         Shown(found));
}

inline Status Encoder::EncodeNumber(const Op& op, std::string_view cell, Field* field,
                                    CellPlace* place) const {
  double number = 0;
  float value = 0;
  const ColumnReader::Read read = op.reader.Number(cell, &number);
  if (read == ColumnReader::Read::kValue) {
    if (op.log) number = LogOf(number);
    if (op.scaled) number = (number - op.shift) / op.divisor;
  }
  if (read == ColumnReader::Read::kBad || !ToFloat(number, &value)) {
    place->offset = 0;
    return InvalidArgument(
        "{}: expected a number, found '{}'{}", PlaceOf(schema(), op.column), Shown(cell),
        read == ColumnReader::Read::kBad ? "" : " (too large: its square must fit float32)");
  }
  field->values.push_back(value);
  return absl::OkStatus();
}

Status Encoder::ReadItem(const Op& op, std::string_view item, size_t offset, uint64_t* code,
                         float* weight, CellPlace* place) const {
  *weight = 1;
  place->offset = offset;
  if (op.spec->weighted) {
    const size_t colon = item.rfind(':');
    if (colon != std::string_view::npos) {
      const char* const end = item.data() + item.size();
      if (ScanFloat(item.data() + colon + 1, end, weight) != end) {
        place->offset = offset + colon + 1;
        return Unexpected(op, "a number as the weight after ':'", item.substr(colon + 1));
      }
      item = item.substr(0, colon);
    }
  }
  if (op.reader.ItemCode(item, code) == ColumnReader::Read::kBad) {
    return Unexpected(op, op.reader.expected(), item);
  }
  return absl::OkStatus();
}

Status Encoder::EncodeList(const Op& op, std::string_view cell, Field* field,
                           CellPlace* place) const {
  if (op.reader.IsMissing(cell)) return absl::OkStatus();
  RaggedIds& ids = field->ids;
  const size_t before = ids.ids.size();
  Status status;
  ForEachItem(cell, op.spec->separator, schema().trim, [&](std::string_view item, size_t offset) {
    uint64_t code = 0;
    float weight = 1;
    status = ReadItem(op, item, offset, &code, &weight, place);
    if (!status.ok()) return false;
    ids.ids.push_back(IdOf(op, code));
    if (op.spec->weighted) ids.weights.push_back(weight);
    return true;
  });
  FL_RETURN_IF_ERROR(status);
  const size_t count = ids.ids.size() - before;
  const auto length = static_cast<size_t>(op.spec->length);
  if (op.kind == Op::Kind::kList && length > 0 && count > length) {
    // The newest values stand last.
    const auto cut = [&](auto* values) {
      const auto first = values->begin() + static_cast<ptrdiff_t>(before);
      values->erase(first, first + static_cast<ptrdiff_t>(count - length));
    };
    cut(&ids.ids);
    if (op.spec->weighted) cut(&ids.weights);
    cut_.fetch_add(1, std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

Status Encoder::EncodeWeight(const Op& op, std::string_view cell, Field* field) const {
  double number = 0;
  float weight = 1;
  const ColumnReader::Read read = op.reader.Number(cell, &number);
  if (read == ColumnReader::Read::kValue && (number < 0 || !ToFloat(number, &weight))) {
    return Unexpected(op, "a weight of at least 0", cell);
  }
  if (read == ColumnReader::Read::kBad) return Unexpected(op, "a weight of at least 0", cell);
  field->values.push_back(weight);
  return absl::OkStatus();
}

Status Encoder::EncodeRow(std::span<const std::string_view> cells,
                          std::span<const uint64_t* const> given, Batch* batch,
                          CellPlace* place) const {
  constexpr size_t kFew = 128;
  uint64_t few[kFew];
  thread_local std::vector<uint64_t> many;
  if (ops_.size() > kFew) many.resize(ops_.size());
  uint64_t* const codes = ops_.size() > kFew ? many.data() : few;
  // First the codes of all ids, so that the slots of the vocabularies are on their way to the cache
  // when they are looked up.
  for (size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    Field* const field = &batch->fields[op.field];
    std::string_view cell;
    if (op.source >= 0) {
      cell = cells[op.source];
      *place = {.source = op.source, .offset = 0};
    }
    switch (op.kind) {
      case Op::Kind::kOneId:
        if (!given.empty() && given[op.source] != nullptr) {
          codes[i] = *given[op.source];
        } else if (op.reader.Code(cell, &codes[i]) == ColumnReader::Read::kBad) {
          return Unexpected(op, op.reader.expected(), cell);
        }
        if (op.in_bag) field->ids.ids.push_back(IdOf(op, codes[i]));
        if (op.table != nullptr) op.table->Prefetch(codes[i]);
        break;
      case Op::Kind::kNumber:
        FL_RETURN_IF_ERROR(EncodeNumber(op, cell, field, place));
        break;
      case Op::Kind::kCross:
        codes[i] = op.seed;
        for (const size_t member : op.members) codes[i] = KeyOfCross(codes[i], codes[member]);
        if (op.table != nullptr) op.table->Prefetch(codes[i]);
        break;
      case Op::Kind::kList:
        FL_RETURN_IF_ERROR(EncodeList(op, cell, field, place));
        break;
      case Op::Kind::kLabel: {
        float label = 0;
        if (!op.label->Read(cell, &label)) {
          if (op.reader.IsMissing(cell))
            return InvalidArgument("{}", MissingLabel(schema(), op.column));
          return Unexpected(op, op.label->expected(), cell);
        }
        field->values.push_back(label);
        break;
      }
      case Op::Kind::kWeight:
        FL_RETURN_IF_ERROR(EncodeWeight(op, cell, field));
        break;
      case Op::Kind::kGroup:
        op.reader.Code(cell, &codes[i]);
        break;
    }
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    const bool one_id = (op.kind == Op::Kind::kOneId && !op.in_bag) ||
                        op.kind == Op::Kind::kCross || op.kind == Op::Kind::kGroup;
    if (!one_id) continue;
    batch->fields[op.field].ids.ids.push_back(IdOf(op, codes[i]));
  }
  for (const auto& [index, role] : absent_) {
    Field& field = batch->fields[index];
    if (role == Role::kGroup) field.ids.ids.push_back(0);
    if (role != Role::kGroup) field.values.push_back(role == Role::kWeight ? 1.0f : 0.0f);
  }
  return absl::OkStatus();
}

// Null: none or several.
const Encoder::Op* Encoder::OnlyOpOf(int source) const {
  const Op* found = nullptr;
  for (const Op& op : ops_) {
    if (op.source != source) continue;
    if (found != nullptr) return nullptr;
    found = &op;
  }
  return found;
}

bool Encoder::takes_code(int source) const {
  const Op* const op = OnlyOpOf(source);
  return op != nullptr && op->kind == Op::Kind::kOneId && op->reader.takes_any_text();
}

uint64_t Encoder::CodeOf(int source, std::string_view cell) const {
  uint64_t code = 0;
  OnlyOpOf(source)->reader.Code(cell, &code);
  return code;
}

Status Encoder::Encode(std::span<const std::string_view> cells,
                       std::span<const uint64_t* const> codes, Batch* batch,
                       CellPlace* place) const {
  for (const int field : bags_) BeginBag(&batch->fields[field].ids);
  Status status = EncodeRow(cells, codes, batch, place);
  if (status.ok()) {
    for (const int field : bags_) {
      if (EndBag(&batch->fields[field].ids)) continue;
      *place = {};
      status = InvalidArgument("expected fewer than 2^32 ids in a batch");
    }
  }
  return EndRow(inputs_, std::move(status), batch);
}

}  // namespace flotilla
