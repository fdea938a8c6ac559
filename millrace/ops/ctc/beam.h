// CtcBeam: the label lists that a sequence most probably spells, found a step at a time. It follows
// the `width` best lists so far and forgets the others.
//
//   CtcBeam<float> beam(classes, width);
//   for (each step) MR_TRY(beam.step(logits, probe));
//   MR_ASSIGN(auto best, beam.best(3, Runs::kept));
//
// The last class is the blank. A list is a node that knows the one it grew from; nodes from which
// no list that is followed has grown are given back. Owned by one kernel run, on one thread.
#pragma once

#include <deque>
#include <set>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"

namespace millrace {

// Whether a label that follows itself in a list is told once.
enum class Runs : uint8_t { kept, merged };

template <class T>
struct CtcPath {
  std::vector<int32_t> labels;
  T log_probability = 0;
};

template <class T>
class CtcBeam {
 public:
  // Of at least one class. With the usual number of nodes it takes about a gigabyte.
  CtcBeam(int64_t classes, int64_t width, size_t most_nodes = size_t{1} << 23);

  // Errors: CANCELLED; RESOURCE_EXHAUSTED if it needs more nodes.
  Status step(std::span<const T> logits, CancelProbe& probe);
  // The most probable first. Errors: INVALID_ARGUMENT if so many are not followed.
  Result<std::vector<CtcPath<T>>> best(int64_t number, Runs runs) const;

 private:
  // The logarithms of how probable it is that the steps so far spell a list, by what came last.
  struct Chances {
    T total, blank, label;
    static Chances none();
  };
  struct Node {
    Node* parent = nullptr;
    int32_t label = -1;
    int64_t uses = 0;  // children, and being followed; -1: it is free
    uint64_t since = 0;
    bool is_followed = false;
    Chances before, now;
    absl::flat_hash_map<int32_t, Node*> children;
  };
  // The best first; of equal ones the older.
  struct IsBetter {
    bool operator()(const Node* a, const Node* b) const;
  };

  Node* new_node(Node* parent, int32_t label);
  void let_go(Node* node);
  void follow(Node* node);
  void unfollow(Node* node);
  bool can_follow(T chance) const;
  Status grow(Node* node, std::span<const T> logits, T offset, CancelProbe& probe);

  const int64_t classes_, width_;
  const size_t most_nodes_;
  std::deque<Node> nodes_;
  std::vector<Node*> free_;
  std::set<Node*, IsBetter> followed_;
  std::vector<Node*> dropped_;  // in this step
  uint64_t next_ = 0;
};

extern template class CtcBeam<float>;
extern template class CtcBeam<double>;

}  // namespace millrace
