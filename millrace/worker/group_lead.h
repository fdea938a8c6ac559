// GroupLead: the task that leads, towards those who ask it: it enters their questions into its book
// (group_book.h) and answers when the book does, when they are cancelled, or when their time is
// over. Any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/op/rendezvous.h"
#include "millrace/worker/group_book.h"

namespace millrace {

class GroupLead : public std::enable_shared_from_this<GroupLead> {
 public:
  // `task`: how answers call this one. What `host` refers to outlives what is under way.
  GroupLead(std::string task, const Host& host) : host_(host), book_(std::move(task)) {}

  // A question of that kind (collective_words.h) from a device. `cancellation` may be null, and
  // lives until the answer. Errors: INVALID_ARGUMENT for what is none; those of the book.
  void serve(std::string_view kind, std::string_view rest, std::string_view asker,
             Cancellation* cancellation, Done<Delivery> done);
  // Ends everything, now and later. Groups that are complete go on without a leader: a member that
  // is a step behind it may need nothing more of it.
  void close(const Status& why);

 private:
  struct Request;
  template <class Enter>
  void enter(int64_t key, std::chrono::milliseconds timeout, Cancellation* cancellation,
             Done<Delivery> done, Enter enter, bool is_watch = false);
  void leave(uint64_t ticket, const Status& why);
  template <class Answers>
  std::vector<std::pair<std::shared_ptr<Request>, Result<Delivery>>> settle(Answers answers)
      MR_REQUIRES(mutex_);

  const Host host_;
  Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  GroupBook book_ MR_GUARDED_BY(mutex_);
  uint64_t last_ticket_ MR_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::shared_ptr<Request>> requests_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
