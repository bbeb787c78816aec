#include "flotilla/communicator/touched_rows.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace flotilla {
namespace {

constexpr int64_t kWord = 8;  // counters that are read at once

uint64_t LoadWord(const std::atomic<uint8_t>* counters) {
  using Word [[gnu::may_alias]] = uint64_t;
  return __atomic_load_n(reinterpret_cast<const Word*>(counters), __ATOMIC_RELAXED);
}

}  // namespace

TouchedRows::TouchedRows(std::span<const TableSpec> tables) : tables_(tables.size()) {
  for (size_t t = 0; t < tables.size(); ++t) {
    Table& table = tables_[t];
    table.taken.resize(kLists);
    if (tables[t].rows == 0 || tables[t].rows > kMaxCounters) continue;
    table.rows = tables[t].rows;
    const auto words = static_cast<size_t>((table.rows + kWord - 1) / kWord);
    table.counters = std::make_unique<std::atomic<uint8_t>[]>(words * kWord);
  }
}

void TouchedRows::Add(int worker, int table, std::span<const uint64_t> ids) {
  Table& t = tables_[table];
  t.rows > 0 ? Count(t, ids) : Append(t.lists[worker % kLists], ids);
}

void TouchedRows::Add(int worker, int table, std::span<const uint32_t> ids) {
  Table& t = tables_[table];
  t.rows > 0 ? Count(t, ids) : Append(t.lists[worker % kLists], ids);
}

// Not atomic: increments of two workers may count as one. The stored value is never 0, so that Take
// does not miss the row. No branch: which counters are saturated is hard to predict.
template <typename Id>
void TouchedRows::Count(Table& table, std::span<const Id> ids) {
  for (const Id id : ids) {
    std::atomic<uint8_t>& counter = table.counters[id];
    const uint8_t count = counter.load(std::memory_order_relaxed);
    counter.store(static_cast<uint8_t>(count + (count != 255)), std::memory_order_release);
  }
}

template <typename Id>
void TouchedRows::Append(List& list, std::span<const Id> ids) {
  MutexLock lock(list.mutex);
  list.ids.insert(list.ids.end(), ids.begin(), ids.end());
}

TouchedIds TouchedRows::Take(int index, uint32_t min_count) {
  Table& table = tables_[index];
  return table.rows > 0 ? TakeCounted(table, min_count) : TakeListed(table, min_count);
}

// Most rows are touched seldom, so counters are read in words: a counter that is large enough has a
// bit at or above the highest bit of `wanted`.
TouchedIds TouchedRows::TakeCounted(Table& table, uint32_t min_count) {
  const uint32_t wanted = std::clamp<uint32_t>(min_count, 1, 255);
  const uint64_t large = 0x0101010101010101u * (256 - std::bit_floor(wanted));
  TouchedIds result;
  for (int64_t first = 0; first < table.rows; first += kWord) {
    if ((LoadWord(&table.counters[first]) & large) == 0) continue;
    for (int64_t id = first; id < std::min(first + kWord, table.rows); ++id) {
      std::atomic<uint8_t>& counter = table.counters[id];
      if (counter.load(std::memory_order_relaxed) < wanted) continue;
      result.counts.push_back(counter.exchange(0, std::memory_order_acquire));
      result.ids.push_back(static_cast<uint64_t>(id));
    }
  }
  return result;
}

size_t TouchedRows::SwapLists(Table& table) {
  size_t occurrences = 0;
  for (int i = 0; i < kLists; ++i) {
    table.taken[i].clear();
    {
      MutexLock lock(table.lists[i].mutex);
      std::swap(table.taken[i], table.lists[i].ids);
    }
    occurrences += table.taken[i].size();
  }
  return occurrences;
}

// Kept ids come first, so they have the first positions.
void TouchedRows::CountOccurrences(Table& table) {
  const size_t added = SwapLists(table);
  table.unique.Reset(table.kept.size() + added);
  table.positions.resize(table.kept.size());
  table.unique.Add(table.kept, table.positions);
  table.counts = std::move(table.kept_counts);
  for (const std::vector<uint64_t>& ids : table.taken) {
    table.positions.resize(ids.size());
    table.unique.Add(ids, table.positions);
    table.counts.resize(table.unique.ids().size(), 0);
    for (uint32_t position : table.positions) ++table.counts[position];
  }
}

TouchedIds TouchedRows::TakeListed(Table& table, uint32_t min_count) {
  CountOccurrences(table);
  table.kept.clear();
  table.kept_counts.clear();
  TouchedIds result;
  const std::vector<uint64_t>& ids = table.unique.ids();
  for (size_t i = 0; i < table.counts.size(); ++i) {
    if (table.counts[i] >= min_count) {
      result.ids.push_back(ids[i]);
      result.counts.push_back(static_cast<uint8_t>(std::min<uint32_t>(table.counts[i], 255)));
    } else {
      table.kept.push_back(ids[i]);
      table.kept_counts.push_back(table.counts[i]);
    }
  }
  return result;
}

}  // namespace flotilla
