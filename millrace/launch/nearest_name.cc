#include "millrace/launch/nearest_name.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace millrace {
namespace {

constexpr size_t kLongestText = 64;

// The distance of Damerau and Levenshtein in its restricted form: no part is edited twice.
size_t distance(std::string_view a, std::string_view b) {
  std::array<std::vector<size_t>, 3> rows;
  for (std::vector<size_t>& row : rows) row.resize(b.size() + 1);
  std::iota(rows[0].begin(), rows[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t>& row = rows[i % 3];
    const std::vector<size_t>& above = rows[(i + 2) % 3];
    const std::vector<size_t>& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names) {
  text = text.substr(0, kLongestText);
  std::string_view nearest;
  size_t least = kLongestText;
  for (std::string_view name : names) {
    const size_t far = distance(text, name.substr(0, kLongestText));
    if (far * 3 > std::max(text.size(), name.size()) || far >= least) continue;
    nearest = name;
    least = far;
  }
  return nearest;
}

}  // namespace millrace
