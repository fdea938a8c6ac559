// PlanCache: the prepared steps of one session, by feeds, fetches and targets.
//
// A step is prepared once, however many clients ask for it at the same time; all of them get the
// one that was made, or its error. Errors are not kept: the next one to ask tries again. What is
// kept is never invalidated: extending a graph does not change what a step over its older nodes
// does. But of all steps only so many are kept; the one that was asked for least recently goes
// first, and is prepared anew should anybody come back to it. Steps under way keep what they run.
// Any thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/master/prepared_step.h"

namespace millrace {

class PlanCache {
 public:
  using Prepared = std::shared_ptr<const PreparedStep>;
  using Ordered = std::shared_ptr<const OrderedStep>;
  // Prepares a step for canonical names; answers once, from any thread.
  using Prepare = std::function<void(const StepRequestNames&, Done<Prepared>)>;

  // Keeps at most `most` steps, at least one. The same names in another order count as another.
  PlanCache(size_t most, Prepare prepare) : most_(most), prepare_(std::move(prepare)) {}

  // Null if there is none for these names in this order. `hash` is hash_of(request).
  Ordered find(uint64_t hash, const RunStepRequest& request);
  // Answers with what is there, or once it has been prepared: inside this call, or on the thread
  // that finishes preparing. Errors: those of canonical() and of preparing.
  void get(StepRequestNames names, Done<Ordered> done);

  // How many are prepared, with those that only steps under way or callables still have.
  size_t num_prepared() const;

 private:
  struct Kept {
    uint64_t hash = 0;
    Ordered step;
    mutable uint64_t last_use = 0;  // by the count of uses; not part of what it is
  };
  // What is looked for: names that somebody else owns.
  template <class Names>
  struct Wanted {
    uint64_t hash = 0;
    const Names& names;
  };
  // Names are compared when hashes are equal.
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Kept& kept) const { return kept.hash; }
    template <class Names>
    size_t operator()(const Wanted<Names>& wanted) const {
      return wanted.hash;
    }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const Kept& a, const Kept& b) const { return a.step->names == b.step->names; }
    template <class Names>
    bool operator()(const Kept& kept, const Wanted<Names>& wanted) const {
      return kept.hash == wanted.hash && same_names(kept.step->names, wanted.names);
    }
  };
  struct Entry {
    std::weak_ptr<const PreparedStep> ready;
    std::vector<Done<Prepared>> waiting;  // not empty while it is being prepared
  };

  template <class Names>
  Ordered find_wanted(const Wanted<Names>& wanted);
  void keep(const Ordered& step);
  // Takes the one out that was asked for least recently.
  Ordered take_oldest() MR_REQUIRES(mutex_);
  // Answers with the prepared step of these canonical names.
  void get_canonical(const StepRequestNames& names, Done<Prepared> done);
  void finish(const StepRequestNames& names, Result<Prepared> result);

  const size_t most_;
  const Prepare prepare_;
  mutable Mutex mutex_;
  uint64_t uses_ MR_GUARDED_BY(mutex_) = 0;
  // As clients write them, so that a repeated step needs no sorting; and sorted.
  absl::flat_hash_set<Kept, Hash, Same> ordered_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<StepRequestNames, Entry> prepared_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
