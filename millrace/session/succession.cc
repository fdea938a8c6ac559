#include "millrace/session/succession.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/kept_records.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using Extent = io::JournalGroup::Extent;
using MessageKind = StandbyMessage::Kind;

// What takes longer counts as lost.
constexpr auto kParcelPatience = 2s;
constexpr auto kWitnessPatience = 1s;
constexpr auto kJoinPatience = 10s;
// A message with more records is sent in parts of about so many bytes.
constexpr size_t kPartBytes = 1 << 20;
// Groups that the other side has not taken yet. One that is further behind gets all of the state.
constexpr size_t kMostBehind = 64 << 20;
// What has come and was not looked at.
constexpr size_t kMostHeard = 256 << 20;

bool has_records(MessageKind kind) {
  return kind == MessageKind::whole || kind == MessageKind::group;
}

bool is_part_of_same(const StandbyMessage& a, const StandbyMessage& b) {
  return a.kind == b.kind && a.store == b.store && a.term == b.term && a.kept == b.kept;
}

}  // namespace

Succession::Succession(const Host& host, Transport& transport, SuccessionOptions options,
                       std::function<void()> on_change)
    : host_(host),
      transport_(transport),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      heard_at_(host.clock.now()) {}

Result<std::shared_ptr<Succession>> Succession::begin(const Host& host, Transport& transport,
                                                      SuccessionOptions options,
                                                      std::function<void()> on_change) {
  auto* const files = dynamic_cast<LastingFiles*>(&host.files);
  if (files == nullptr) {
    return failed_precondition("'", options.folder,
                               "' can't hold a state: the files of this machine don't last");
  }
  std::shared_ptr<Succession> made(
      new Succession(host, transport, std::move(options), std::move(on_change)));
  MR_ASSIGN(made->store_, StandbyStore::open(*files, host.random, made->options_.folder));
  made->identity_ = made->store_->identity();
  made->side_.emplace(made->identity_, made->options_.is_first, made->store_->kept());
  (void)made->post([self = made.get()] { self->act(self->side_->begin()); });
  made->set_timer();
  return made;
}

Status Succession::why_over() const {
  MutexLock lock(mutex_);
  return why_over_;
}

void Succession::stop(const Status& why) {
  Timers::Timer timer;
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    if (why_over_.ok()) why_over_ = why;
    timer = std::move(timer_);
  }
  state_ = State::over;
  timer.cancel();
  cancellation_.cancel(why);
  in_flight_.wait();
  for (Waiting& each : std::exchange(waiting_, {})) each.acknowledge(why);
  // A call that has just ended may hold this a little longer than its transport lives.
  peer_ = witness_ = nullptr;
  store_ = nullptr;
}

// ---- The queue ----------------------------------------------------------------------------------

bool Succession::post(Event event) {
  {
    MutexLock lock(mutex_);
    if (is_stopped_) return false;
    events_.push_back(std::move(event));
    if (std::exchange(is_running_, true)) return true;
  }
  host_.blocking.post(
      [self = shared_from_this(), token = in_flight_.enter()] { self->run_events(); });
  return true;
}

void Succession::run_events() {
  while (true) {
    Event event;
    {
      MutexLock lock(mutex_);
      if (events_.empty()) {
        is_running_ = false;
        return;
      }
      event = std::move(events_.front());
      events_.pop_front();
    }
    event();
  }
}

void Succession::set_timer() {
  Timers::Timer next =
      host_.timers.at(host_.clock.now() + options_.pulse, [weak = weak_from_this()] {
        if (const std::shared_ptr<Succession> self = weak.lock())
          (void)self->post([raw = self.get()] { raw->tick(); });
      });
  MutexLock lock(mutex_);
  if (!is_stopped_) std::swap(timer_, next);
}

void Succession::tick() {
  if (is_over()) return;
  const Clock::Time now = host_.clock.now();
  const bool serves = side_->serves();
  const bool is_paired = side_->known().standby != 0;
  // Who is joining may write all of the state meanwhile; if it is gone, a call tells so.
  const Clock::Duration patience =
      serves && !is_paired ? Clock::Duration(kJoinPatience) : options_.silence;
  if (now - heard_at_ > patience && (!serves || follows_ || is_paired)) lose_peer();
  if (is_over()) return;
  if (!waiting_.empty() && now - waiting_.front().since > options_.silence) {
    waiting_.front().since = now;
    is_lost_ = true;
  }
  const bool is_in_step =
      serves || (side_->known().number != 0 && side_->kept().since == side_->known().since);
  if (std::exchange(is_lost_, false) || !is_in_step) {
    act(side_->again());
  } else if (outbox_.empty() && !is_sending_) {
    // A sign of life; who hears of the term for the first time learns it.
    send({.kind = serves ? MessageKind::news : MessageKind::has,
          .store = identity_,
          .term = side_->known(),
          .kept = side_->told_kept()});
  }
  set_timer();
}

// ---- Events -------------------------------------------------------------------------------------

void Succession::lose_peer() {
  heard_at_ = host_.clock.now();
  if (side_->serves()) {
    follows_ = false;
    set_peer({});  // it says where it is when it joins
  }
  act(side_->silent());
}

void Succession::hear(StandbyParcel parcel) {
  heard_bytes_ -= parcel.records.size();
  StandbyMessage& message = parcel.message;
  if (is_over() || message.store == identity_) return;
  set_peer(parcel.address);
  // What a former owner says is no sign of the one that holds.
  if (side_->serves() || message.term.since >= side_->known().since) heard_at_ = host_.clock.now();
  if (has_records(message.kind) && (parcel.part != 0 || !parcel.is_last)) {
    if (parcel.part == 0) {
      coming_ = std::move(parcel);
      return;
    }
    const bool is_next =
        is_part_of_same(coming_.message, message) && parcel.part == coming_.part + 1;
    if (!is_next) {
      coming_ = {};
      return;  // as if it were lost, which it is
    }
    coming_.records += parcel.records;
    coming_.part = parcel.part;
    if (!parcel.is_last) return;
    parcel = std::exchange(coming_, {});
  }
  if (side_->serves() && (message.kind == MessageKind::join || message.kind == MessageKind::has))
    follows_ = true;
  incoming_ = &parcel;
  act(side_->heard(message));
  incoming_ = nullptr;
}

void Succession::note_begun(io::JournalGroup group) {
  if (is_over()) return;
  const bool is_wanted = group.extent == Extent::all && wants_all_.exchange(false);
  group_ = &group;
  act(side_->begins());
  // To who joins, and is not waited for yet.
  if (is_wanted && group.extent == Extent::all && !is_over())
    send({.kind = MessageKind::whole,
          .store = identity_,
          .term = side_->known(),
          .kept = side_->told_kept()});
  group_ = nullptr;
}

void Succession::note_wrote(Done<void> acknowledge) {
  if (is_over()) return acknowledge(lost());
  waiting_.push_back({side_->told_kept().last, host_.clock.now(), std::move(acknowledge)});
  act(side_->wrote());
}

void Succession::act(const StandbySide::Actions& actions) {
  using Kind = StandbyAction::Kind;
  for (const StandbyAction& action : actions) {
    if (is_over()) return;
    switch (action.kind) {
      case Kind::ask:
        ask({});
        break;
      case Kind::propose:
        ask(action.term);
        break;
      case Kind::send:
        send(action.message);
        break;
      case Kind::keep:
        keep(action.kept);
        break;
      case Kind::serve:
        serve(action.term, action.kept);
        break;
      case Kind::acknowledge:
        acknowledge(action.kept.last);
        break;
      case Kind::cease:
        host_.log.warning("owns the state no longer: ", to_text(action.term));
        end({});
        break;
      case Kind::refuse:
        end(error(Code::data_loss, "the witness at ", options_.witness, " knows nothing of ",
                  options_.state, ", but the folder '", options_.folder,
                  "' has held it for an owner: the witness has lost its record. Give it back, or, "
                  "if no other task has the state, start this one without --witness"));
        break;
    }
  }
}

void Succession::ask(const Term& wanted) {
  if (witness_ == nullptr) {
    auto made = transport_.standby(options_.witness, {});
    if (!made.ok()) return end(std::move(made).status());
    witness_ = *std::move(made);
  }
  if (std::exchange(is_asking_, true)) {
    is_lost_ = true;
    return;
  }
  witness_->witness(
      {.state = options_.state, .wanted = wanted, .address = options_.address},
      {.cancellation = &cancellation_, .deadline = host_.clock.now() + kWitnessPatience},
      Done<WitnessReply>(
          [self = shared_from_this(), token = in_flight_.enter()](Result<WitnessReply> reply) {
            (void)self->post([raw = self.get(), reply = std::move(reply)] { raw->told(reply); });
          }));
}

void Succession::told(const Result<WitnessReply>& reply) {
  is_asking_ = false;
  if (is_over()) return;
  if (!reply.ok()) {
    host_.log.debug("the witness does not answer: ", reply.status().to_string());
    witness_ = nullptr;
    is_lost_ = true;
    return;
  }
  WitnessedState known;
  for (const WitnessedState& state : reply->states)
    if (state.state == options_.state) known = state;
  if (known.term.owner != identity_ && !known.address.empty()) set_peer(known.address);
  const uint64_t before = side_->known().number;
  const StandbySide::Actions actions = side_->told(known.term);
  if (side_->known().number != before)
    host_.log.info("is told ", to_text(known.term), ", and is ", identity_);
  act(actions);
}

void Succession::keep(const KeptStream& kept) {
  if (incoming_ == nullptr || store_ == nullptr)
    return end(internal("a side is to keep what nobody has sent"));
  const std::string& records = incoming_->records;
  const Status status = incoming_->message.kind == MessageKind::whole
                            ? store_->put_all(records, kept)
                            : store_->put_group(records, kept);
  if (!status.ok()) end(status.with(str_cat("keeping the state of ", options_.state)));
}

void Succession::serve(const Term& term, const KeptStream& kept) {
  host_.log.info("owns the state of ", options_.state, ": ", to_text(term));
  since_ = kept.since;
  last_ = kept.last;
  store_ = nullptr;
  state_ = State::serves;
  on_change_();
}

void Succession::acknowledge(uint64_t last) {
  while (!waiting_.empty() && waiting_.front().group <= last) {
    Done<void> done = std::move(waiting_.front().acknowledge);
    waiting_.pop_front();
    done(Status());
  }
}

Status Succession::lost() const {
  return unavailable("another task may own the state of ", options_.state,
                     " now: this one can't acknowledge any more");
}

void Succession::end(const Status& why) {
  {
    MutexLock lock(mutex_);
    why_over_ = why;
  }
  state_ = State::over;
  for (Waiting& each : std::exchange(waiting_, {})) each.acknowledge(lost());
  on_change_();
}

// ---- To the other side --------------------------------------------------------------------------

void Succession::set_peer(const std::string& address) {
  if (address == peer_address_) return;
  peer_address_ = address;
  peer_ = nullptr;
  outbox_.clear();
  outbox_bytes_ = 0;
}

void Succession::send(StandbyMessage message) {
  if (peer_address_.empty()) return;  // it has not been heard of
  if (!has_records(message.kind)) return put_parcel({.message = message});
  const Extent extent = group_ != nullptr ? group_->extent : Extent::unknown;
  const bool is_there =
      extent == Extent::all || (extent == Extent::changes && message.kind == MessageKind::group);
  if (!is_there) return want_all();
  group_->extent = Extent::unknown;
  message.kind = extent == Extent::all ? MessageKind::whole : MessageKind::group;
  if (message.kind == MessageKind::whole) wants_all_ = false;
  send_records(message, std::move(group_->records));
}

void Succession::send_records(const StandbyMessage& message, std::string records) {
  if (message.kind == MessageKind::group && outbox_bytes_ + records.size() > kMostBehind) {
    outbox_.clear();
    outbox_bytes_ = 0;
    is_lost_ = true;
    return;
  }
  size_t at = 0;
  for (uint64_t part = 0; part == 0 || at < records.size(); ++part) {
    const size_t size = std::min(kPartBytes, records.size() - at);
    put_parcel({.message = message,
                .part = part,
                .is_last = at + size == records.size(),
                .records = records.substr(at, size)});
    at += size;
  }
}

void Succession::want_all() {
  const bool is_coming = std::ranges::any_of(outbox_, [](const StandbyParcel& parcel) {
    return parcel.message.kind == MessageKind::whole;
  });
  if (is_coming || wants_all_.exchange(true)) return;
  MutexLock lock(journal_mutex_);
  if (journal_ != nullptr) journal_->commit(Done<void>([](const Status&) {}));
}

void Succession::put_parcel(StandbyParcel parcel) {
  parcel.state = options_.state;
  parcel.address = options_.address;
  outbox_bytes_ += parcel.records.size();
  outbox_.push_back(std::move(parcel));
  pump();
}

void Succession::pump() {
  if (is_sending_ || outbox_.empty() || is_over()) return;
  if (peer_ == nullptr) {
    auto made = transport_.standby(peer_address_, {});
    if (!made.ok()) {
      host_.log.warning("can't reach the other side: ", made.status().to_string());
      return set_peer({});
    }
    peer_ = *std::move(made);
  }
  StandbyParcel parcel = std::move(outbox_.front());
  outbox_.pop_front();
  outbox_bytes_ -= parcel.records.size();
  is_sending_ = true;
  peer_->standby(
      std::move(parcel),
      {.cancellation = &cancellation_, .deadline = host_.clock.now() + kParcelPatience},
      Done<void>([self = shared_from_this(), token = in_flight_.enter()](const Status& status) {
        (void)self->post([raw = self.get(), status] { raw->sent(status); });
      }));
}

void Succession::sent(const Status& status) {
  is_sending_ = false;
  if (is_over()) return;
  if (!status.ok()) {
    host_.log.debug("the other side does not answer: ", status.to_string());
    // The next one is said over a connection that is tried at once.
    peer_ = nullptr;
    outbox_.clear();
    outbox_bytes_ = 0;
    is_lost_ = true;
    if (side_->serves() && side_->known().standby == 0) lose_peer();
  }
  pump();
}

// ---- What others call ---------------------------------------------------------------------------

void Succession::standby(StandbyParcel parcel, Call, Done<void> done) {
  if (parcel.state != options_.state)
    return done(not_found("this task is a side of the state of ", options_.state, ", not of ",
                          parcel.state.substr(0, 80)));
  const size_t bytes = parcel.records.size();
  const size_t before = heard_bytes_.fetch_add(bytes);
  if (before > 0 && before + bytes > kMostHeard) {
    heard_bytes_ -= bytes;
    return done(error(Code::resource_exhausted, "this side has got ", before,
                      " bytes that it has not looked at"));
  }
  const bool is_taken =
      post([this, parcel = std::move(parcel)]() mutable { hear(std::move(parcel)); });
  done(is_taken ? Status() : lost());
}

void Succession::attach(io::Journal* journal) {
  MutexLock lock(journal_mutex_);
  journal_ = journal;
  if (journal_ != nullptr && wants_all_) journal_->commit(Done<void>([](const Status&) {}));
}

Extent Succession::wants() {
  if (wants_all_) return Extent::all;
  return follows_ ? Extent::changes : Extent::unknown;
}

std::string Succession::mark() {
  return encode_kept(KeptReign{.since = since_.load(), .last = last_.load()});
}

void Succession::begins(io::JournalGroup group) {
  ++last_;
  (void)post([this, group = std::move(group)]() mutable { note_begun(std::move(group)); });
}

void Succession::wrote(const Status& kept, Done<void> acknowledge) {
  if (!kept.ok()) return acknowledge(kept);
  auto answer = std::make_shared<Done<void>>(std::move(acknowledge));
  const bool is_taken = post([this, answer] { note_wrote(std::move(*answer)); });
  if (!is_taken) (*answer)(lost());
}

}  // namespace millrace
