#include "flotilla/dataset/csv_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "flotilla/base/scan_number.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/schema/schema_words.h"

namespace flotilla {
namespace {

using Role = Column::Role;

constexpr size_t kMaxNamed = 20;

std::string Shown(std::string_view text) {
  return ShownText(text.data(), text.data() + text.size());
}

// "a, b, c, .."
std::string Listed(const std::vector<std::string>& names) {
  const auto count = static_cast<ptrdiff_t>(std::min(names.size(), kMaxNamed));
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + count, ", "),
                     names.size() > kMaxNamed ? ", .." : "");
}

// By source: whether the schema uses the field at all.
std::vector<bool> UsedSources(const Schema& schema) {
  std::vector<bool> used(static_cast<size_t>(schema.SourceCount()));
  const std::vector<int> sources = schema.Sources();
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (sources[c] >= 0 && schema.columns[c].role != Role::kIgnore) used[sources[c]] = true;
  }
  return used;
}

}  // namespace

size_t CsvRow::begin(int source) const {
  const auto at = std::find(layout_->begin(), layout_->end(), source);
  const auto field = static_cast<size_t>(at - layout_->begin());
  return field < cells_.size() ? cells_.begin(field) : 0;
}

CsvFields::CsvFields(const Schema& schema, std::vector<bool> needed)
    : schema_(schema), form_(schema), needed_(std::move(needed)), used_(UsedSources(schema)) {
  for (size_t source = 0; source < used_.size(); ++source) {
    all_.sources.push_back(static_cast<int>(source));
    if (needed_[source] || !used_[source]) short_.sources.push_back(static_cast<int>(source));
  }
  all_.in_order = true;
  short_.in_order = short_.sources.size() == all_.sources.size();
}

StatusOr<CsvFields::Layout> CsvFields::LayoutOf(std::string_view header) const {
  CsvCells cells;
  FL_RETURN_IF_ERROR(cells.Split(header, form_, kMaxSchemaColumns));
  if (cells.has_more()) {
    return BadRow(cells.rest() + 1, "the header has more than {} columns", kMaxSchemaColumns);
  }
  const std::vector<std::string> names = schema_.SourceNames();
  Layout layout;
  layout.header = header;
  std::vector<bool> found(names.size());
  std::vector<std::string> unlisted, all;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string name(cells.text(i));
    if (!name.empty() && std::find(all.begin(), all.end(), name) != all.end()) {
      return BadRow(cells.begin(i) + 1, "the header names two columns '{}'", Shown(name));
    }
    all.push_back(name);
    const auto at = std::find(names.begin(), names.end(), name);
    const auto source = static_cast<size_t>(at - names.begin());
    const bool listed = at != names.end() && !name.empty();
    if (listed) found[source] = true;
    if (!listed) unlisted.push_back(name.empty() ? "(without a name)" : name);
    layout.sources.push_back(listed && used_[source] ? static_cast<int>(source) : -1);
  }
  for (size_t source = 0; source < names.size(); ++source) {
    if (found[source] || !used_[source] || !needed_[source]) continue;
    // A header that is not split at all is one with another delimiter.
    const std::string hint =
        all.size() > 1
            ? std::string()
            : fmt::format(" (the schema separates columns by '{}')",
                          schema_.delimiter == '\t' ? "\\t" : std::string(1, schema_.delimiter));
    return BadRow(1, "the file has no column '{}', which the schema lists; its columns are {}{}",
                  names[source], Listed(all), hint);
  }
  layout.in_order = layout.sources == all_.sources;
  // Columns that the schema ignores without naming them were ignored on purpose.
  const bool on_purpose = schema_.ignore_rest || std::count(names.begin(), names.end(), "") > 0;
  MutexLock lock(mutex_);
  if (bound_ == nullptr && !unlisted.empty() && !on_purpose) {
    note_ = fmt::format("ignored columns, which the schema does not list: {}", Listed(unlisted));
  }
  return layout;
}

Status CsvFields::CheckHeader(std::string_view line) const {
  if (const Layout* bound = layout_.load(std::memory_order_acquire)) {
    if (bound->header == line) return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(Layout layout, LayoutOf(line));
  MutexLock lock(mutex_);
  if (bound_ == nullptr) {
    bound_ = std::make_unique<const Layout>(std::move(layout));
    layout_.store(bound_.get(), std::memory_order_release);
    return absl::OkStatus();
  }
  if (bound_->sources == layout.sources) return absl::OkStatus();
  return BadRow(1,
                "the columns stand in another order than in the first file that was read, whose "
                "header is '{}': read the files separately or reorder one of them",
                Shown(bound_->header));
}

std::string CsvFields::TakeNote() const {
  MutexLock lock(mutex_);
  return std::exchange(note_, {});
}

bool CsvFields::IsBlank(std::string_view line) const {
  return std::all_of(line.begin(), line.end(), [this](char c) {
    return form_.trim && flotilla::IsBlank(c) && c != form_.delimiter;
  });
}

Status CsvFields::Split(std::string_view line, CsvRow* row) const {
  const Layout* bound = layout_.load(std::memory_order_acquire);
  const Layout* used = bound != nullptr ? bound : &all_;
  CsvCells& cells = row->cells_;
  FL_RETURN_IF_ERROR(cells.Split(line, form_, used->sources.size()));
  if (bound == nullptr && cells.size() == short_.sources.size()) used = &short_;
  const size_t columns = used->sources.size();
  if (cells.size() < columns) {
    return BadRow(line.size() + 1, "expected {} columns, the line ends after {}", columns,
                  cells.size());
  }
  if (bound != nullptr && line == bound->header) {
    return BadRow(1, "the header again, '{}': remove the line", Shown(line));
  }
  if (cells.has_more() && (bound != nullptr || !schema_.ignore_rest)) {
    return BadRow(cells.rest() + 1, "expected the end of the line after {} columns", columns);
  }
  row->layout_ = &used->sources;
  row->sources_ = cells.texts();
  if (used->in_order) return absl::OkStatus();
  row->ordered_.assign(all_.sources.size(), std::string_view());
  for (size_t i = 0; i < columns; ++i) {
    if (used->sources[i] >= 0) row->ordered_[used->sources[i]] = cells.text(i);
  }
  row->sources_ = row->ordered_;
  return absl::OkStatus();
}

}  // namespace flotilla
