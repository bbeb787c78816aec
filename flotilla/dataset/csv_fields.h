// Finds the fields of a schema in the lines of CSV and TSV files: by name through the header, in
// any order, or by position. Shared by whatever reads rows of a schema; it does not interpret
// values.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/csv_cells.h"
#include "flotilla/schema/schema.h"

namespace flotilla {

// The fields of one line, in memory that is reused. Not thread-safe; each thread has its own.
class CsvRow {
 public:
  // By source of the schema (Schema::Sources); absent fields are empty.
  std::span<const std::string_view> sources() const { return sources_; }
  // Offset in the line of the text of a source; 0 when it is absent.
  size_t begin(int source) const;

 private:
  friend class CsvFields;
  CsvCells cells_;
  std::vector<std::string_view> ordered_;
  std::span<const std::string_view> sources_;
  const std::vector<int>* layout_ = nullptr;
};

// Thread-safe. With a header, columns of the file that the schema does not list are ignored and
// named in TakeNote. The first header line fixes the order: it must be the same in all files that
// one object reads, because a line does not say which file it is from.
class CsvFields {
 public:
  // `needed`, by source: whether the field must be there. Used fields that are not needed may be
  // absent: from the header, or from the lines of a headerless file, which then have that many
  // fields less. REQUIRES: the schema outlives the object.
  CsvFields(const Schema& schema, std::vector<bool> needed);

  // BadRow (parser.h) when the header lacks a needed column, names one twice or has another order
  // than the first one.
  Status CheckHeader(std::string_view line) const;
  // The columns that are ignored, once; empty: none.
  std::string TakeNote() const;

  // Whether the line is not a row.
  bool IsBlank(std::string_view line) const;
  // Splits a line; the row is valid while `line` is. BadRow when it has more or fewer columns or
  // malformed quotes, or is the header again.
  Status Split(std::string_view line, CsvRow* row) const;

 private:
  // Which source each field of a line is; -1: ignored.
  struct Layout {
    std::vector<int> sources;
    bool in_order = false;  // field i is source i, for all of them
    std::string header;     // as it was read
  };

  StatusOr<Layout> LayoutOf(std::string_view header) const;

  // Constant after construction.
  const Schema& schema_;
  const CsvForm form_;
  const std::vector<bool> needed_;
  std::vector<bool> used_;  // by source: the schema does not ignore it
  Layout all_;              // the columns of a headerless file
  Layout short_;            // without those that may be absent

  // Set by the first header; the reader passes it on before any row of the file.
  mutable std::atomic<const Layout*> layout_ = nullptr;
  mutable Mutex mutex_;
  mutable std::unique_ptr<const Layout> bound_ FL_GUARDED_BY(mutex_);
  mutable std::string note_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
