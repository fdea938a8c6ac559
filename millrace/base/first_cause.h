// FirstCause: of the errors that several parts of one thing end with, the one to tell.
//
// The first error that is a cause wins. A consequence stands in only until a cause comes, and OK
// changes nothing. This is the only place that says so.
//
// A value; whoever owns it guards it.
#pragma once

#include <utility>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

class FirstCause {
 public:
  FirstCause() = default;
  explicit FirstCause(Status status) : status_(std::move(status)) {}

  // True if `status` is the one to tell from now on.
  bool add(Status status) {
    if (status.ok() || !(ok() || (status_.is_consequence() && !status.is_consequence())))
      return false;
    status_ = std::move(status);
    return true;
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline Status first_cause(std::vector<Status> outcomes) {
  FirstCause first;
  for (Status& outcome : outcomes) first.add(std::move(outcome));
  return first.status();
}

}  // namespace millrace
