#include "millrace/ops/collective/schedule.h"

#include <bit>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

int around(int rank, int size) { return (rank % size + size) % size; }

}  // namespace

Lane halving_reduce(int rank, int size, int chunk) {
  using Then = Move::Then;
  Lane lane;
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int last = std::bit_width(static_cast<unsigned>(core));
  // Who stands outside the largest power of two has a partner inside that speaks for both.
  if (rank >= core) {
    lane.push_back({.to = rank - core, .give = chunk});
    lane.push_back({.from = rank - core, .take = chunk, .stage = last});
    return lane;
  }
  const bool has_partner = rank + core < size;
  if (has_partner) lane.push_back({.from = rank + core, .take = chunk, .then = Then::merge_after});
  for (int distance = 1, stage = 1; distance < core; distance *= 2, ++stage) {
    const int other = rank ^ distance;
    lane.push_back({.to = other,
                    .give = chunk,
                    .from = other,
                    .take = chunk,
                    .then = other < rank ? Then::merge_before : Then::merge_after,
                    .stage = stage});
  }
  if (has_partner) lane.push_back({.to = rank + core, .give = chunk, .stage = last});
  return lane;
}

Lane flat_gather(int rank, int size) {
  Lane lane;
  for (int i = 1; i < size; ++i) lane.push_back({.to = around(rank + i, size), .give = rank});
  for (int i = 1; i < size; ++i) {
    const int from = around(rank - i, size);
    lane.push_back({.from = from, .take = from});
  }
  return lane;
}

Lane flat_all_reduce(int rank, int size, int first) {
  Lane lane;
  for (int i = 1; i < size; ++i) {
    const int to = around(rank + i, size);
    lane.push_back({.to = to, .give = first + to});
  }
  for (int i = 1; i < size; ++i) {
    lane.push_back(
        {.from = around(rank - i, size), .take = first + rank, .then = Move::Then::merge_after});
  }
  for (int i = 1; i < size; ++i)
    lane.push_back({.to = around(rank + i, size), .give = first + rank, .stage = 1});
  for (int i = 1; i < size; ++i) {
    const int from = around(rank - i, size);
    lane.push_back({.from = from, .take = first + from, .stage = 1});
  }
  return lane;
}

Lane ring_reduce(int rank, int size, int first) {
  Lane lane;
  const int right = around(rank + 1, size), left = around(rank - 1, size);
  // The last that is taken is the own chunk, so the first that is given is the one before it.
  for (int i = 1; i < size; ++i) {
    lane.push_back({.to = right,
                    .give = first + around(rank - i, size),
                    .from = left,
                    .take = first + around(rank - i - 1, size),
                    .then = Move::Then::merge_before});
  }
  return lane;
}

Lane ring_gather(int rank, int size, int first) {
  Lane lane;
  const int right = around(rank + 1, size), left = around(rank - 1, size);
  for (int i = 0; i + 1 < size; ++i) {
    lane.push_back({.to = right,
                    .give = first + around(rank - i, size),
                    .from = left,
                    .take = first + around(rank - i - 1, size),
                    .stage = 1});
  }
  return lane;
}

Lane ring_all_reduce(int rank, int size, int first) {
  Lane lane = ring_reduce(rank, size, first);
  const Lane gather = ring_gather(rank, size, first);
  lane.insert(lane.end(), gather.begin(), gather.end());
  return lane;
}

Lane tree_broadcast(int rank, int size, int source, int chunk) {
  Lane lane;
  const int place = around(rank - source, size);  // of the source: 0
  int reach = 1;
  if (place == 0) {
    reach = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  } else {
    // The parent is without the lowest bit; children are those with a lower bit set.
    reach = place & -place;
    lane.push_back({.from = around(place - reach + source, size), .take = chunk});
  }
  // The farthest child has the largest part of the tree below it, so it comes first.
  for (int distance = reach / 2; distance > 0; distance /= 2) {
    if (place + distance >= size) continue;
    lane.push_back({.to = around(place + distance + source, size), .give = chunk});
  }
  return lane;
}

Lane all_to_all(int rank, int size) {
  Lane lane;
  for (int i = 1; i < size; ++i) {
    const int to = around(rank + i, size), from = around(rank - i, size);
    lane.push_back({.to = to, .give = to, .from = from, .take = rank, .into = size + from});
  }
  return lane;
}

std::string to_string(const Lane& lane) {
  std::string text;
  for (const Move& move : lane) {
    if (!text.empty()) text += "; ";
    if (move.to != kNobody) str_append(&text, "give ", move.give, " to ", move.to);
    if (move.to != kNobody && move.from != kNobody) text += ", ";
    if (move.from != kNobody) str_append(&text, "take ", move.take, " from ", move.from);
    if (move.then == Move::Then::merge_before) text += " and merge before";
    if (move.then == Move::Then::merge_after) text += " and merge after";
  }
  return text;
}

}  // namespace millrace
