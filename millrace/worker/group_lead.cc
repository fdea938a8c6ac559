#include "millrace/worker/group_lead.h"

#include "millrace/base/str_cat.h"
#include "millrace/worker/collective_words.h"

namespace millrace {

using namespace collective_words;

// A question to the leader that waits for its answer.
struct GroupLead::Request {
  int64_t key = 0;
  bool is_watch = false;  // for the end of a group
  Done<Delivery> done;
  Cancellation::Registration registration;
  Timers::Timer timer;
  Status cancelled;  // before it was in the book; under the lead's lock

  void answer(Result<Delivery> result) {
    registration.release();
    timer.cancel();
    done(std::move(result));
  }
};

void GroupLead::close(const Status& why) {
  std::map<uint64_t, std::shared_ptr<Request>> requests;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = why;
    requests.swap(requests_);
  }
  for (const auto& [ticket, request] : requests) {
    if (request->is_watch) {
      request->answer(Delivery{.tensor = encoded(kLeaderHasEnded)});
    } else {
      request->answer(why);
    }
  }
}

void GroupLead::serve(std::string_view kind, std::string_view rest, std::string_view asker,
                      Cancellation* cancellation, Done<Delivery> done) {
  Words words(rest);
  const Status bad = invalid("'", kind, "/", rest,
                             "' is nothing that a leader of collectives is "
                             "asked for");
  const int64_t key = words.number();
  if (kind == kCome) {
    GroupBook::Coming coming{.key = key, .size = words.number(), .member = {}};
    coming.member = {std::string(asker), words.number<uint64_t>(16)};
    coming.lost_epoch = words.next();
    if (coming.lost_epoch == kEnd) coming.lost_epoch.clear();
    const int64_t timeout = words.number();
    coming.member.machine = words.next();
    if (!words.is_good() || coming.size < 1 || coming.member.incarnation == 0 || timeout < 0 ||
        coming.member.machine.find(' ') != std::string::npos)
      return done(bad);
    return enter(key, std::chrono::milliseconds(timeout), cancellation, std::move(done),
                 [&](GroupBook& book, uint64_t ticket) {
                   coming.ticket = ticket;
                   return book.come(coming, str_cat(absl::Hex(host_.random.next())));
                 });
  }
  GroupBook::Asking asking{.key = key, .epoch = std::string(words.next())};
  if (kind == kSource) {
    asking.is_source = words.number() == 1;
    asking.instance = words.rest();
    asking.device = asker;
    if (!words.is_good()) return done(bad);
    const auto ask = [&](GroupBook& book, uint64_t ticket) {
      asking.ticket = ticket;
      return book.ask(asking);
    };
    return enter(key, {}, cancellation, std::move(done), ask,
                 /*is_watch=*/asking.instance == kEnd);
  }
  if (kind != kLost || !words.is_good()) return done(bad);
  std::vector<std::pair<std::shared_ptr<Request>, Result<Delivery>>> answers;
  {
    MutexLock lock(mutex_);
    answers = settle(book_.lose(key, asking.epoch, str_cat(asker, " gave it up: ", words.rest())));
  }
  for (auto& [request, answer] : answers) request->answer(std::move(answer));
  done(Delivery{.tensor = encoded(0)});
}

template <class Enter>
void GroupLead::enter(int64_t key, std::chrono::milliseconds timeout, Cancellation* cancellation,
                      Done<Delivery> done, Enter enter, bool is_watch) {
  const auto request = std::make_shared<Request>();
  request->key = key;
  request->is_watch = is_watch;
  request->done = std::move(done);
  uint64_t ticket = 0;
  {
    MutexLock lock(mutex_);
    ticket = ++last_ticket_;
  }
  const auto leave_with = [weak = weak_from_this(), ticket,
                           request = std::weak_ptr(request)](const Status& why) {
    const auto self = weak.lock();
    const auto waiting = request.lock();
    if (self == nullptr || waiting == nullptr) return;
    {
      MutexLock lock(self->mutex_);
      if (waiting->cancelled.ok()) waiting->cancelled = why;
    }
    self->leave(ticket, why);
  };
  // Before the request can be found: who answers it may end the cancellation's life.
  if (cancellation != nullptr) request->registration = cancellation->on_cancel(leave_with);
  if (timeout.count() > 0) {
    request->timer = host_.timers.at(host_.clock.now() + timeout, [leave_with] {
      leave_with(
          Status(Code::deadline_exceeded, "Collective has timed out waiting for other workers."));
    });
  }
  std::vector<std::pair<std::shared_ptr<Request>, Result<Delivery>>> answers;
  {
    MutexLock lock(mutex_);
    if (Status over = closed_.ok() ? request->cancelled : closed_; !over.ok()) {
      answers.emplace_back(request, over);
    } else {
      requests_[ticket] = request;
      answers = settle(enter(book_, ticket));
    }
  }
  for (auto& [one, answer] : answers) one->answer(std::move(answer));
}

template <class Answers>
std::vector<std::pair<std::shared_ptr<GroupLead::Request>, Result<Delivery>>> GroupLead::settle(
    Answers answers) {
  std::vector<std::pair<std::shared_ptr<Request>, Result<Delivery>>> settled;
  for (auto& answer : answers) {
    const auto found = requests_.find(answer.ticket);
    if (found == requests_.end()) continue;
    auto result = [&]() -> Result<Delivery> {
      if constexpr (requires { answer.group; }) {
        if (!answer.group.ok()) return answer.group.status();
        return Delivery{.tensor = encoded(*answer.group)};
      } else {
        if (!answer.rank.ok()) return answer.rank.status();
        return Delivery{.tensor = encoded(*answer.rank)};
      }
    }();
    settled.emplace_back(std::move(found->second), std::move(result));
    requests_.erase(found);
  }
  return settled;
}

void GroupLead::leave(uint64_t ticket, const Status& why) {
  std::vector<std::pair<std::shared_ptr<Request>, Result<Delivery>>> answers;
  {
    MutexLock lock(mutex_);
    const auto found = requests_.find(ticket);
    if (found == requests_.end()) return;
    const int64_t key = found->second->key;
    answers = settle(book_.leave(key, ticket, why));
    if (answers.empty()) answers = settle(book_.stop_asking(key, ticket, why));
  }
  for (auto& [request, answer] : answers) request->answer(std::move(answer));
}

}  // namespace millrace
