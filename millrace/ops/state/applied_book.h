// AppliedBook: which updates under leases a device has applied, so that each happens once.
//
// An update is named by its element (the queue's incarnation and the number), the step's number
// under the lease, and the updating node. For each queue the book keeps what it was told of the
// queue's elements, a watermark and the exceptions to it, and single updates of open elements only.
// So its size is that of what is lent at the time and of the steps that are under way.
//
//   begin -> run    the caller applies it, and calls end() with what came of it
//         -> done   it was applied, or its element has ended: nothing is to be done
//         -> wait   another attempt is at it: ask again when that has ended
//
// Knows no time, thread or value. Not thread-safe. docs/design/once.md tells what it is for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/ops/state/lease.h"

namespace millrace {

// What an update is called that is made once.
struct UpdateName {
  uint64_t queue = 0, number = 0;  // the element's
  uint64_t step = 0;
  std::string update;
  friend bool operator==(const UpdateName&, const UpdateName&) = default;
};

class AppliedBook {
 public:
  enum class Verdict : uint8_t { run, done, wait };
  enum class Outcome : uint8_t { applied, failed };

  // Of how many queues' lives it knows at most; the one that was not heard of for longest goes
  // first. A lease from a queue that it has forgotten is one that it never heard of.
  explicit AppliedBook(size_t most_queues = 10'000) : most_queues_(most_queues) {}

  // `lease` has an element. What it says of its queue is noted.
  Verdict begin(const Lease& lease, std::string_view update);
  // What began with `run` has ended.
  void end(const Lease& lease, std::string_view update, Outcome outcome);

  // The same, of one that has been applied, whatever it was thought to be.
  void note_applied(const UpdateName& name);

  // What outlives the owner's process, for one queue: what was under way there is not applied.
  struct Part {
    struct Element {
      uint64_t number = 0, settled = 0;
      struct Update {
        uint64_t step = 0;
        std::string update;
        friend bool operator==(const Update&, const Update&) = default;
      };
      std::vector<Update> applied = {};
      friend bool operator==(const Element&, const Element&) = default;
    };
    uint64_t queue = 0, horizon = 0;
    std::vector<uint64_t> open = {};
    std::vector<Element> elements = {};
    friend bool operator==(const Part&, const Part&) = default;
  };
  struct Changes {
    bool is_all = false;  // what is not among the parts is forgotten
    std::vector<Part> parts;
  };
  // The queues of which something has changed since this was called last; all of them, if `all` or
  // if one was forgotten.
  Changes take_changes(bool all);
  // What a part says of its queue replaces what was known of it.
  void put_back(const Part& part);

  // How many single updates it keeps in mind, and how many elements and exceptions.
  size_t num_updates() const;
  size_t num_elements() const;
  // "queue 7: all below 4 but 2; 2: settled 1, 1 add applied", for transcripts.
  std::string description() const;

 private:
  enum class State : uint8_t { running, applied };
  struct StepUpdate {
    uint64_t step = 0;
    std::string update;
  };
  // The same without a text of its own: what is looked for.
  struct StepUpdateView {
    uint64_t step = 0;
    std::string_view update;
    StepUpdateView(uint64_t step, std::string_view update) : step(step), update(update) {}
    StepUpdateView(const StepUpdate& name)  // NOLINT(google-explicit-constructor)
        : step(name.step), update(name.update) {}
    friend auto operator<=>(const StepUpdateView&, const StepUpdateView&) = default;
  };
  struct InOrder {
    using is_transparent = void;
    bool operator()(const StepUpdateView& a, const StepUpdateView& b) const { return a < b; }
  };
  using Updates = std::map<StepUpdate, State, InOrder>;
  struct Element {
    uint64_t settled = 0;  // the updates of steps below it are applied
    Updates updates = {};

    // Forgets the updates of steps below; the last of them, for another one to take its place.
    Updates::node_type settle(uint64_t below);
  };
  struct Queue {
    uint64_t horizon = 0;
    std::vector<uint64_t> open = {};  // exceptions below the horizon, ascending
    std::map<uint64_t, Element> elements = {};
    uint64_t last_heard = 0;
    bool is_changed = true;

    bool has_ended(uint64_t number) const;
    void hear(const Lease& lease);
    Part part(uint64_t incarnation) const;
  };

  Queue& queue_of(uint64_t incarnation);

  const size_t most_queues_;
  uint64_t times_heard_ = 0;
  bool has_forgotten_ = false;  // since take_changes()
  std::map<uint64_t, Queue> queues_;
};

}  // namespace millrace
