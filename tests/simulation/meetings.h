// Meetings: what members of a group of collectives may get from each other, whatever happens to
// them.
//
// Every step of a member brings a number that nobody else ever brings. A collective that was
// answered OK has one number of each member: the meeting. All that one step gets must be of one
// meeting, all who were in a meeting must get the same of it, and nobody meets an earlier step of a
// member after a later one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/tensor/tensor.h"

namespace millrace::simulation {

class Meetings {
 public:
  explicit Meetings(size_t members) : sent_(members), last_(members) {}

  // What every member does in each of its steps; the nodes are called so, too.
  enum class Kind : uint8_t { ring, tree, gather, broadcast, twice };
  static constexpr std::pair<Kind, const char*> kKinds[] = {{Kind::ring, "ring"},
                                                            {Kind::tree, "tree"},
                                                            {Kind::gather, "gather"},
                                                            {Kind::broadcast, "broadcast"},
                                                            {Kind::twice, "twice"}};

  // A new number for a step of `member`.
  int64_t next(size_t member);
  // What it feeds for sums: its number `width` times in its own place, zeros in those of others.
  Tensor addend(size_t member, int64_t number, int64_t width) const;

  // A step of `member` got these tensors, of these kinds; `source` is who gives in a broadcast.
  // Empty if that may be so, else what is wrong.
  std::string met(size_t member, int64_t number, size_t source, int64_t width,
                  const std::vector<Kind>& kinds, const std::vector<Tensor>& got);
  uint64_t times_met(size_t member) const { return last_[member].times; }

 private:
  using Numbers = std::vector<int64_t>;  // by member; 0 where a broadcast does not tell
  struct Last {
    Numbers numbers;
    uint64_t times = 0;
  };
  std::string merge(const Tensor& got, int64_t width, Numbers* numbers) const;

  int64_t last_number_ = 0;
  std::vector<std::set<int64_t>> sent_;
  std::vector<Last> last_;
  std::map<std::pair<size_t, int64_t>, Numbers> meetings_;  // by each of their members' numbers
};

}  // namespace millrace::simulation
