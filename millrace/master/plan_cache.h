// PlanCache: the prepared steps of one session, by feeds, fetches and targets.
//
// A step is prepared once, however many clients ask for it at the same time; all of them get the
// one that was made, or its error. Errors are not kept: the next one to ask tries again. What is
// kept is never invalidated: extending a graph does not change what a step over its older nodes
// does. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

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

  explicit PlanCache(Prepare prepare) : prepare_(std::move(prepare)) {}

  // Null if this has not been asked for before. `key` is cache_key() of the names as written.
  Ordered find(const std::string& key) const;
  // Answers with what is there, or once it has been prepared: inside this call, or on the thread
  // that finishes preparing. Errors: those of canonical() and of preparing.
  void get(const StepRequestNames& names, Done<Ordered> done);

  size_t num_prepared() const;

 private:
  struct Entry {
    Prepared ready;  // null while it is being prepared
    std::vector<Done<Prepared>> waiting;
  };
  // Answers with the prepared step of these canonical names.
  void get_canonical(const StepRequestNames& names, Done<Prepared> done);
  void finish(const std::string& key, Result<Prepared> result);

  const Prepare prepare_;
  mutable Mutex mutex_;
  // As clients write them, so that a repeated step needs no sorting; and sorted.
  absl::flat_hash_map<std::string, Ordered> ordered_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Entry> prepared_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
