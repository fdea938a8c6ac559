// Schedules, played by all members of a group at once in one thread: what everybody has in the end.
#include "millrace/ops/collective/schedule.h"

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using Chunks = std::vector<std::optional<std::string>>;  // a chunk is the story of its merges

// Plays one lane per member until nobody can go on. Empty if a member is left waiting, or something
// that nobody takes.
std::vector<Chunks> play_all(std::vector<Chunks> chunks, const std::vector<Lane>& lanes) {
  std::map<std::tuple<int, int, int, int>, std::string> on_the_way;  // from, to, chunk, stage
  std::vector<size_t> at(lanes.size());
  std::vector<bool> has_given(lanes.size());
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (int rank = 0; rank < static_cast<int>(lanes.size()); ++rank) {
      const auto r = static_cast<size_t>(rank);
      if (at[r] == lanes[r].size()) continue;
      const Move& move = lanes[r][at[r]];
      if (!has_given[r] && move.to != kNobody) {
        const auto& chunk = chunks[r][static_cast<size_t>(move.give)];
        REQUIRE(chunk.has_value());
        // Nobody gives the same piece twice.
        REQUIRE(
            on_the_way.emplace(std::tuple(rank, move.to, move.give, move.stage), *chunk).second);
      }
      has_given[r] = true;
      if (move.from != kNobody) {
        const auto came = on_the_way.find({move.from, rank, move.take, move.stage});
        if (came == on_the_way.end()) continue;
        auto& own = chunks[r][static_cast<size_t>(move.target())];
        switch (move.then) {
          case Move::Then::keep:
            own = came->second;
            break;
          case Move::Then::merge_before:
            own = str_cat("(", came->second, own.value(), ")");
            break;
          case Move::Then::merge_after:
            own = str_cat("(", own.value(), came->second, ")");
            break;
        }
        on_the_way.erase(came);
      }
      ++at[r];
      has_given[r] = false;
      goes_on = true;
    }
  }
  for (size_t r = 0; r < lanes.size(); ++r)
    if (at[r] != lanes[r].size()) return {};
  return on_the_way.empty() ? chunks : std::vector<Chunks>();
}

std::string letter(int rank) { return std::string(1, static_cast<char>('a' + rank)); }

// The letters of a story, each once and none left out.
bool tells_of_all(const std::string& story, int size) {
  std::multiset<char> letters;
  for (const char c : story)
    if (c != '(' && c != ')') letters.insert(c);
  for (int rank = 0; rank < size; ++rank)
    if (letters.count(letter(rank)[0]) != 1) return false;
  return static_cast<int>(letters.size()) == size;
}

template <class MakeLane>
std::vector<Chunks> with_everybody(int size, size_t num_chunks, MakeLane make) {
  std::vector<Chunks> chunks;
  std::vector<Lane> lanes;
  for (int rank = 0; rank < size; ++rank) {
    chunks.emplace_back(num_chunks, letter(rank));
    lanes.push_back(make(rank));
  }
  return play_all(std::move(chunks), lanes);
}

TEST_CASE("halving merges everybody's chunk in the same order for all") {
  for (int size = 1; size <= 17; ++size) {
    const auto after = with_everybody(size, 1, [&](int r) { return halving_reduce(r, size); });
    REQUIRE(after.size() == static_cast<size_t>(size));
    CHECK(tells_of_all(*after[0][0], size));
    for (const Chunks& chunks : after) CHECK(chunks[0] == after[0][0]);
  }
  CHECK(*with_everybody(4, 1, [](int r) { return halving_reduce(r, 4); })[2][0] == "((ab)(cd))");
}

TEST_CASE("a ring leaves each member its chunk of everybody's sum") {
  for (int size = 1; size <= 9; ++size) {
    const auto after = with_everybody(size, static_cast<size_t>(size),
                                      [&](int r) { return ring_reduce(r, size); });
    REQUIRE(after.size() == static_cast<size_t>(size));
    for (size_t rank = 0; rank < after.size(); ++rank)
      CHECK(tells_of_all(*after[rank][rank], size));
  }
}

TEST_CASE("a ring's all-reduce gives all chunks to all, the same to each") {
  for (int size = 1; size <= 9; ++size) {
    const auto after = with_everybody(size, static_cast<size_t>(size),
                                      [&](int r) { return ring_all_reduce(r, size); });
    REQUIRE(after.size() == static_cast<size_t>(size));
    for (const Chunks& chunks : after) {
      CHECK(chunks == after[0]);
      for (const auto& chunk : chunks) CHECK(tells_of_all(*chunk, size));
    }
  }
}

TEST_CASE("a flat gather gives all chunks to all") {
  for (int size = 1; size <= 9; ++size) {
    std::vector<Chunks> chunks;
    std::vector<Lane> lanes;
    for (int rank = 0; rank < size; ++rank) {
      chunks.emplace_back(static_cast<size_t>(size));
      chunks.back()[static_cast<size_t>(rank)] = letter(rank);
      lanes.push_back(flat_gather(rank, size));
    }
    const auto after = play_all(std::move(chunks), lanes);
    REQUIRE(after.size() == static_cast<size_t>(size));
    for (const Chunks& one : after) {
      for (int rank = 0; rank < size; ++rank) CHECK(one[static_cast<size_t>(rank)] == letter(rank));
    }
  }
}

TEST_CASE("a flat all-reduce gives all chunks to all, the same to each") {
  for (int size = 1; size <= 9; ++size) {
    const auto after = with_everybody(size, static_cast<size_t>(size),
                                      [&](int r) { return flat_all_reduce(r, size); });
    REQUIRE(after.size() == static_cast<size_t>(size));
    for (const Chunks& chunks : after) {
      CHECK(chunks == after[0]);
      for (const auto& chunk : chunks) CHECK(tells_of_all(*chunk, size));
    }
  }
}

TEST_CASE("a tree brings the source's chunk to everybody, whoever that is") {
  for (int size = 1; size <= 9; ++size) {
    for (int source = 0; source < size; ++source) {
      std::vector<Chunks> chunks(static_cast<size_t>(size), Chunks(1));
      chunks[static_cast<size_t>(source)][0] = "x";
      std::vector<Lane> lanes;
      for (int rank = 0; rank < size; ++rank) lanes.push_back(tree_broadcast(rank, size, source));
      const auto after = play_all(std::move(chunks), lanes);
      REQUIRE(after.size() == static_cast<size_t>(size));
      for (const Chunks& one : after) CHECK(one[0] == "x");
    }
  }
}

TEST_CASE("all-to-all brings chunk r of each to member r") {
  const int size = 5;
  std::vector<Chunks> chunks;
  std::vector<Lane> lanes;
  for (int rank = 0; rank < size; ++rank) {
    Chunks own(2 * static_cast<size_t>(size));
    for (int to = 0; to < size; ++to) own[static_cast<size_t>(to)] = letter(rank) + letter(to);
    chunks.push_back(own);
    lanes.push_back(all_to_all(rank, size));
  }
  const auto after = play_all(std::move(chunks), lanes);
  REQUIRE(after.size() == static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    for (int from = 0; from < size; ++from) {
      if (from == rank) continue;
      CHECK(after[static_cast<size_t>(rank)][static_cast<size_t>(size + from)] ==
            letter(from) + letter(rank));
    }
  }
}

TEST_CASE("a lane reads as a sentence") {
  CHECK(to_string(halving_reduce(0, 3)) ==
        "take 0 from 2 and merge after; give 0 to 1, take 0 from 1 and merge after; give 0 to 2");
}

}  // namespace
}  // namespace millrace
