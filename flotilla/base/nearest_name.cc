#include "flotilla/base/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace flotilla {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // edit distances of a's first i letters to b's first j
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string_view WithoutDashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// Whether `name` is one of the words of the candidate, or consists of the first letters of all its
// words.
bool Abbreviates(std::string_view name, std::string_view candidate) {
  std::string initials;
  while (!candidate.empty()) {
    const std::string_view word = candidate.substr(0, candidate.find('_'));
    if (word == name) return true;
    initials += word.substr(0, 1);
    candidate.remove_prefix(std::min(candidate.size(), word.size() + 1));
  }
  return initials.size() > 1 && initials == name;
}

}  // namespace

std::string NearestName(std::string_view name, std::span<const std::string> known) {
  name = WithoutDashes(name);
  if (name.empty()) return {};
  for (const std::string& candidate : known) {
    if (WithoutDashes(candidate).starts_with(name)) return candidate;
  }
  for (const std::string& candidate : known) {
    if (Abbreviates(name, WithoutDashes(candidate))) return candidate;
  }
  std::string nearest;
  size_t least = name.size();
  for (const std::string& candidate : known) {
    const std::string_view bare = WithoutDashes(candidate);
    const size_t distance = EditDistance(name, bare);
    if (distance < least && 2 * distance <= std::max(name.size(), bare.size())) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> known) {
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) return fmt::format(", did you mean {}?", nearest);
  return fmt::format("; known: {}", fmt::join(known, ", "));
}

}  // namespace flotilla
