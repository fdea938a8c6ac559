#include "millrace/session/witness.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/format/pieces.h"
#include "millrace/op/device_name.h"
#include "millrace/transport/protocol/codec_standby.h"

namespace millrace {

Witness::Witness(const Host& host) : host_(host), version_(host.random.next()) {}

Witness::~Witness() {
  Waiters left;
  {
    MutexLock lock(mutex_);
    left.swap(waiters_);
  }
  for (auto& [id, waiter] : left) waiter.done(unavailable("the witness has ended"));
}

Result<std::shared_ptr<Witness>> Witness::open(const Host& host, const std::string& folder) {
  auto* const files = dynamic_cast<LastingFiles*>(&host.files);
  if (files == nullptr) {
    return failed_precondition("'", folder,
                               "' can't hold a witness's record: the files of this machine "
                               "don't last");
  }
  std::shared_ptr<Witness> made(new Witness(host));
  MR_ASSIGN(made->journal_,
            io::Journal::open({*files, host.random, host.blocking, host.pool}, {.folder = folder},
                              *made, [&](std::string_view record) { return made->replay(record); })
                .with("the record of the witness"));
  return made;
}

// Each record is a reply of one state.
Status Witness::replay(std::string_view record) {
  WitnessReply kept;
  MR_TRY(transport::decode(transport::Chunks(record), kept));
  MutexLock lock(mutex_);
  for (WitnessedState& state : kept.states)
    known_[state.state] = {.book = TermBook(state.term), .address = std::move(state.address)};
  return {};
}

Status Witness::put_all(io::RecordSink sink) {
  MutexLock lock(mutex_);
  for (auto& [state, known] : known_) known.is_told = false;
  return put(sink);
}

Status Witness::put_changes(io::RecordSink sink) {
  MutexLock lock(mutex_);
  return put(sink);
}

Status Witness::put(io::RecordSink sink) {
  for (auto& [state, known] : known_) {
    if (known.is_told) continue;
    MR_ASSIGN(const wire::Pieces record,
              transport::encode(WitnessReply{0, {{state, known.book.term(), known.address}}}));
    MR_TRY(sink(record.join()));
    known.is_told = true;
  }
  return {};
}

Status Witness::take(const WitnessRequest& request, Waiters* heard) {
  const Result<DeviceName> name = DeviceName::parse(request.state);
  if (!name.ok() || !name->names_task())
    return invalid("'", request.state.substr(0, 80), "' names no task whose state could be owned");
  MR_TRY(HostPort::parse(request.address).with("the owner of a state").status());
  const auto found = known_.find(request.state);
  if (found == known_.end() && known_.size() >= kMostStates)
    return error(Code::resource_exhausted, "this witness knows ", kMostStates,
                 " states, and takes no more");
  TermBook book = found == known_.end() ? TermBook() : found->second.book;
  const Term before = book.term();
  if (book.propose(request.wanted) == before) return {};
  known_[request.state] = {.book = book, .address = request.address};
  ++version_;
  heard->swap(waiters_);
  return {};
}

WitnessReply Witness::reply(const std::string& state) const {
  WitnessReply reply{.version = version_};
  for (const auto& [name, known] : known_) {
    if (state.empty() || name == state)
      reply.states.push_back({name, known.book.term(), known.address});
  }
  return reply;
}

void Witness::witness(WitnessRequest request, Call, Done<WitnessReply> done) {
  if (request.wanted.number != 0) request.newer_than = 0;
  Waiters heard;
  Status taken;
  WitnessReply known, news;
  {
    MutexLock lock(mutex_);
    if (request.wanted.number != 0) taken = take(request, &heard);
    known = reply(request.state);
    if (!heard.empty()) news = reply({});
    if (taken.ok() && request.newer_than == version_) return wait(std::move(done));
  }
  for (auto& [id, waiter] : heard) answer_when_kept(news, std::move(waiter.done));
  if (!taken.ok()) return done(std::move(taken));
  answer_when_kept(std::move(known), std::move(done));
}

void Witness::answer_when_kept(WitnessReply reply, Done<WitnessReply> done) {
  journal_->commit(
      Done<void>([reply = std::move(reply), done = std::move(done)](Status kept) mutable {
        if (!kept.ok()) return done(std::move(kept));
        done(std::move(reply));
      }));
}

void Witness::wait(Done<WitnessReply> done) {
  const auto until = host_.clock.now() + kLongestWait;
  const uint64_t id = ++last_waiter_;
  Waiter& waiter = waiters_[id];
  waiter.done = std::move(done);
  waiter.late = host_.timers.at(until, [weak = weak_from_this(), id] {
    const std::shared_ptr<Witness> self = weak.lock();
    if (!self) return;
    Waiters late;  // goes without the lock
    WitnessReply known;
    {
      MutexLock lock(self->mutex_);
      late.insert(self->waiters_.extract(id));
      known = self->reply({});
    }
    for (auto& [number, each] : late) self->answer_when_kept(known, std::move(each.done));
  });
}

}  // namespace millrace
