// WaitingNodes: the nodes of a step that have begun and not answered, as one that waits for a
// queue's element or runs a program's function: so that whoever asks what a step waits for is told.
// Transfers are not among them; the rendezvous knows what they wait for.
//
// A list through the nodes themselves: what answers at once is never listed, and to list the others
// allocates nothing. Any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/mutex.h"

namespace millrace {

class WaitingNodes {
 public:
  // One node's place in the list. Whoever adds it keeps it, and its texts, until it is removed.
  struct Place {
    std::string_view node, op;
    Place* previous = nullptr;
    Place* next = nullptr;
    bool is_listed = false;
  };
  struct Named {
    std::string_view node, op;  // valid as long as the graph
  };

  void add(Place& place) {
    MutexLock lock(mutex_);
    place.previous = newest_;
    if (newest_ != nullptr) newest_->next = &place;
    newest_ = &place;
    place.is_listed = true;
    ++size_;
  }
  // Does nothing if it was never added.
  void remove(Place& place) {
    if (!place.is_listed) return;
    MutexLock lock(mutex_);
    if (place.previous != nullptr) place.previous->next = place.next;
    (place.next != nullptr ? place.next->previous : newest_) = place.previous;
    place.is_listed = false;
    --size_;
  }

  // Some of them, at most `most`, the newest first; and how many there are.
  std::pair<std::vector<Named>, size_t> newest(size_t most) const {
    MutexLock lock(mutex_);
    std::vector<Named> some;
    for (const Place* at = newest_; at != nullptr && some.size() < most; at = at->previous)
      some.push_back({at->node, at->op});
    return {std::move(some), size_};
  }

 private:
  mutable Mutex mutex_;
  Place* newest_ MR_GUARDED_BY(mutex_) = nullptr;
  size_t size_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
