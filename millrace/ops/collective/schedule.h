// Schedules: which chunk goes from whom to whom, in which order. Pure: a function of the rank and
// the size of the group, so that each member computes its own part and all of them fit together.
//
// A lane is a sequence of moves; lanes know nothing of each other and run side by side. A move lays
// a chunk out for one member, takes one from another, and merges what came with its own. The order
// in which chunks are merged depends on ranks alone: the same tensors make the same sums, to the
// bit, on every member and in every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

inline constexpr int kNobody = -1;
inline constexpr int kSame = -1;

struct Move {
  enum class Then : uint8_t {
    keep,          // what came is the chunk from now on
    merge_before,  // what came, merged with the own one
    merge_after,   // the own one, merged with what came
  };
  int to = kNobody;
  int give = 0;  // chunk
  int from = kNobody;
  int take = 0;  // chunk, as the other one counts
  int into =
      kSame;  // the own chunk that it becomes or is merged with; kSame: the one of that number
  Then then = Then::keep;
  int stage = 0;  // tells apart the times that one chunk goes from the same member to the same one

  int target() const { return into == kSame ? take : into; }
  friend bool operator==(const Move&, const Move&) = default;
};
using Lane = std::vector<Move>;

// Everybody has chunk `chunk`, and gets the merge of all of them: in log2(size) exchanges of the
// whole chunk, two more if size is no power of two.
Lane halving_reduce(int rank, int size, int chunk = 0);

// Everybody has chunks first .. first + size, and gets the merge of chunk first + rank: each chunk
// travels once around the ring and grows.
Lane ring_reduce(int rank, int size, int first = 0);
// Everybody has chunk first + rank and gets all: each chunk travels once around the ring.
Lane ring_gather(int rank, int size, int first = 0);
// Both, one after the other.
Lane ring_all_reduce(int rank, int size, int first = 0);

// Everybody has chunk `rank` and gets all, straight from each: in one exchange.
Lane flat_gather(int rank, int size);

// Everybody has chunks first .. first + size, and gets the merge of all of each: each chunk goes
// from everybody straight to one member, and its merge from there to everybody, in two exchanges.
Lane flat_all_reduce(int rank, int size, int first = 0);

// `source` has the chunk, and everybody gets it: down a binomial tree.
Lane tree_broadcast(int rank, int size, int source, int chunk = 0);

// Chunk r of each member goes to member r; chunk size + r is what came from there, its own left
// out.
Lane all_to_all(int rank, int size);

// "give 0 to 1, take 3 from 2 and merge before; …", for people and tests.
std::string to_string(const Lane& lane);

}  // namespace millrace
