#include "millrace/worker/collective_desk.h"

#include <algorithm>
#include <utility>

#include "millrace/worker/collective_run.h"
#include "millrace/worker/collective_words.h"

namespace millrace {

using namespace collective_words;

namespace {

// How much of a cause is told to others.
constexpr size_t kLongestWhy = 400;

// A cause as part of a name.
std::string told(const Status& why) {
  std::string text = why.message().substr(0, kLongestWhy);
  std::ranges::replace(text, ';', ',');
  return text;
}

}  // namespace

CollectiveDesk::CollectiveDesk(const TaskName& task, std::shared_ptr<MemberWorkers> members,
                               Departures* departures, std::string machine, const Host& host,
                               InFlight& in_flight)
    : task_(task),
      members_(std::move(members)),
      prefix_(str_cat(task.to_string(), "/")),
      departures_(departures),
      machine_(std::move(machine)),
      host_(host),
      in_flight_(in_flight),
      lead_(std::make_shared<GroupLead>(task.to_string(), host)) {}

std::string CollectiveDesk::description() const {
  return str_cat("the collectives of ", task_.to_string());
}

std::shared_ptr<GroupSeat> CollectiveDesk::seat(int64_t group_key, std::string_view device) {
  MutexLock lock(mutex_);
  return seat_of(group_key, device);
}

std::shared_ptr<GroupSeat> CollectiveDesk::seat_of(int64_t group_key, std::string_view device) {
  auto& seats = seats_[group_key];
  if (const auto known = seats.find(device); known != seats.end()) return known->second;
  return seats.emplace(device, std::make_shared<GroupSeat>(group_key, std::string(device)))
      .first->second;
}

void CollectiveDesk::begin(const CollectiveCall& call, KernelContext& context,
                           Done<std::shared_ptr<Exchange>> done) {
  const DeviceContext& device = *context.step().device;
  if (context.step().step_resources == nullptr)
    return done(failed_precondition("'", context.node_name(),
                                    "' can't run here: outside of steps "
                                    "there is nobody to meet"));
  if (!device.name.starts_with(prefix_))
    return done(unimplemented("'", context.node_name(), "' is on ", device.name,
                              ", which is another name for a device of ", task_.to_string(),
                              ": collectives work in sessions that use the servers' own cluster"));
  Status closed;
  std::shared_ptr<GroupSeat> seat;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    if (closed.ok()) seat = seat_of(call.group_key, device.name);
  }
  if (!closed.ok()) return done(std::move(closed));
  std::make_shared<CollectiveRun>(shared_from_this(), std::move(seat), call, in_flight_.enter())
      ->begin(context, std::move(done));
}

void CollectiveDesk::close(const Status& why) {
  std::vector<std::shared_ptr<GroupSeat>> seats;
  std::map<GroupSeat*, Watch> watches;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = why;
    for (const auto& [key, of_group] : seats_)
      for (const auto& [device, seat] : of_group) seats.push_back(seat);
    watches.swap(watches_);
  }
  for (const auto& seat : seats) seat->close(why);
  lead_->close(why);
  for (const auto& [seat, watch] : watches) watch.cancellation->cancel(why);
}

Result<TaskName> CollectiveDesk::leader() const {
  const std::vector<Member> members = members_->members().list();
  if (members.empty()) return task_;
  // The same for all without asking anybody: a chief leads, else the first worker, else whoever is
  // first.
  for (const char* job : {"chief", "master", "worker"}) {
    const auto found =
        std::ranges::find_if(members, [&](const Member& member) { return member.task.job == job; });
    if (found != members.end()) return found->task;
  }
  return members.front().task;
}

void CollectiveDesk::ask(std::string_view device, uint64_t incarnation, std::string_view asker,
                         std::string_view name, Cancellation* cancellation, Done<Tensor> done) {
  TaskName task;
  if (device.empty()) {
    auto named = leader();
    if (!named.ok()) return done(named.status());
    task = *std::move(named);
  } else {
    auto parsed = DeviceName::parse(device);
    if (!parsed.ok()) return done(parsed.status());
    if (!parsed->names_task()) return done(internal("device ", device, " is on no task"));
    task = parsed->task_name();
  }
  const RendezvousKey key = RendezvousKey::make(device, incarnation, asker, name);
  if (task == task_) {
    auto parts = RendezvousKey::parse(key.text);
    if (!parts.ok()) return done(parts.status());
    return serve(*parts, cancellation,
                 Done<Delivery>([done = std::move(done)](Result<Delivery> delivery) mutable {
                   if (!delivery.ok()) return done(delivery.status());
                   done(std::move(delivery->tensor));
                 }));
  }
  auto peer = members_->worker(task);
  if (!peer.ok()) return done(peer.status());
  WorkerService& worker = **peer;
  worker.recv_tensor({.step_id = kStep,
                      .rendezvous_key = key.text,
                      .request_id = static_cast<int64_t>(host_.random.next())},
                     {.cancellation = cancellation},
                     Done<RecvTensorReply>([peer = *std::move(peer), done = std::move(done)](
                                               Result<RecvTensorReply> reply) mutable {
                       if (!reply.ok()) return done(reply.status());
                       done(std::move(reply->delivery.tensor));
                     }));
}

void CollectiveDesk::come(const std::shared_ptr<GroupSeat>& seat, uint64_t incarnation,
                          int64_t size, std::chrono::milliseconds timeout,
                          Cancellation* cancellation, Done<Group> done) {
  const std::string lost = seat->lost_epoch();
  const std::string name =
      str_cat(kCome, "/", seat->group_key(), "/", size, "/", absl::Hex(incarnation), "/",
              lost.empty() ? kEnd : std::string_view(lost), "/", timeout.count(), "/", machine_);
  auto come = [self = shared_from_this(), seat, name, cancellation,
               done = std::move(done)](Status reachable) mutable {
    if (!reachable.ok()) return done(std::move(reachable));
    self->ask("", 0, seat->device(), name, cancellation,
              Done<Tensor>([self, seat, done = std::move(done)](Result<Tensor> answer) mutable {
                if (!answer.ok()) return done(answer.status());
                auto group = decoded(seat->group_key(), *answer);
                if (!group.ok()) return done(group.status());
                const auto is_news = seat->join(*group);
                if (!is_news.ok()) return done(is_news.status());
                if (*is_news) self->watch(seat, *group);
                done(*std::move(group));
              }));
  };
  const auto leads = leader();
  if (!leads.ok()) return come(leads.status());
  if (*leads == task_) return come(Status());
  auto peer = members_->worker(*leads);
  if (!peer.ok()) return come(peer.status());
  // Tasks start in any order.
  WorkerService& worker = **peer;
  worker.get_status(
      WhenDown::wait, {.cancellation = cancellation},
      Done<GetStatusReply>([peer = *std::move(peer), leads = *leads,
                            come = std::move(come)](Result<GetStatusReply> r) mutable {
        come(r.ok()
                 ? Status()
                 : r.status().with(str_cat("asking ", leads.to_string(), ", who leads the group")));
      }));
}

Status CollectiveDesk::outlook(const GroupSeat& seat, int64_t size) const {
  if (departures_ == nullptr) return {};
  const auto never = [&](const TaskName& task, std::string_view what) {
    return failed_precondition("group ", seat.group_key(), " of ", size,
                               " can't come together: ", task.to_string(), ", ", what,
                               ", has ended well; all members must make the same number of steps");
  };
  if (const auto leads = leader(); leads.ok() && departures_->has(*leads))
    return never(*leads, "who leads it");
  const Group lost = seat.lost_group();
  if (lost == nullptr || static_cast<int64_t>(lost->members.size()) != size) return {};
  for (const GroupMember& member : lost->members) {
    const auto parsed = DeviceName::parse(member.device);
    if (parsed.ok() && parsed->names_task() && departures_->has(parsed->task_name()))
      return never(parsed->task_name(), "who was in it");
  }
  return {};
}

TaskWatch CollectiveDesk::on_departure(std::function<void(const TaskName&)> hear) {
  return departures_ == nullptr ? nullptr : departures_->watch(std::move(hear));
}

void CollectiveDesk::find_source(const GroupSeat& seat, const CollectiveGroup& group,
                                 const std::string& instance, bool is_source,
                                 Cancellation* cancellation, Done<int> done) {
  ask("", 0, seat.device(),
      str_cat(kSource, "/", group.key, "/", group.epoch, "/", is_source ? 1 : 0, "/", instance),
      cancellation, Done<Tensor>([done = std::move(done)](Result<Tensor> answer) mutable {
        if (!answer.ok()) return done(answer.status());
        if (answer->dtype() != DType::i32 || answer->num_elements() != 1)
          return done(internal("the leader answered with no rank"));
        done(answer->item<int32_t>());
      }));
}

void CollectiveDesk::watch(const std::shared_ptr<GroupSeat>& seat, const Group& group) {
  const auto watch = std::make_shared<Cancellation>();
  {
    MutexLock lock(mutex_);
    if (!closed_.ok()) return;
    watches_[seat.get()] = {group->epoch, watch};
  }
  ask("", 0, seat->device(), str_cat(kSource, "/", group->key, "/", group->epoch, "/0/", kEnd),
      watch.get(), Done<Tensor>([seat, group, watch](Result<Tensor> answer) {
        // Its last step has ended, and what it had for the others lies where they find it. Who
        // needs more of it than that finds it gone.
        if (answer.ok() && answer->dtype() == DType::i32 && answer->num_elements() == 1 &&
            answer->item<int32_t>() == kLeaderHasEnded)
          return;
        // Of two causes that a member hears of, the first counts.
        const Status why = answer.ok() ? internal("the leader ended the group") : answer.status();
        seat->lose(group->epoch, of_lost_leader(*group, why));
      }));
}

void CollectiveDesk::take(const GroupMember& from, int64_t group_key, const PieceName& name,
                          Cancellation* cancellation, Done<Tensor> done) {
  ask(from.device, from.incarnation, name.taker,
      str_cat(kPiece, "/", group_key, "/", name.epoch, "/", name.round, "/", name.instance.text(),
              "/", name.signature, "/", name.piece),
      cancellation, std::move(done));
}

void CollectiveDesk::lose(GroupSeat& seat, const CollectiveGroup& group, const Status& why) {
  if (!seat.lose(group.epoch, why)) return;
  std::shared_ptr<Cancellation> watch;
  {
    MutexLock lock(mutex_);
    const auto found = watches_.find(&seat);
    // The seat may have joined the next group meanwhile, whose end is still to be heard of.
    if (found != watches_.end() && found->second.epoch == group.epoch) {
      watch = std::move(found->second.cancellation);
      watches_.erase(found);
    }
  }
  if (watch != nullptr) watch->cancel(why);
  // Nobody waits for the answer: a leader that is lost itself has told the others by that.
  ask("", 0, seat.device(), str_cat(kLost, "/", group.key, "/", group.epoch, "/", told(why)),
      nullptr, Done<Tensor>([](const Result<Tensor>&) {}));
}

void CollectiveDesk::serve(const RendezvousKey::Parts& key, Cancellation* cancellation,
                           Done<Delivery> done) {
  Words words(key.tensor_name);
  const std::string_view kind = words.next();
  if (kind == kBox) {
    const int64_t group = words.number();
    if (!words.is_good()) return done(invalid("'", key.tensor_name, "' is no box of a group"));
    return serve_box(*seat(group, key.source_device), std::string(words.next()),
                     key.destination_device, std::move(done));
  }
  if (kind != kPiece)
    return lead_->serve(kind, words.rest(), key.destination_device, cancellation, std::move(done));
  const int64_t group = words.number();
  PieceName name;
  name.epoch = words.next();
  name.round = words.number();
  const std::optional<InstanceId> instance = InstanceId::parse(words.next());
  name.signature = words.next();
  name.piece = words.next();
  name.taker = key.destination_device;
  if (!words.is_good() || !instance)
    return done(invalid("'", key.tensor_name, "' is no piece of a collective"));
  name.instance = *instance;
  seat(group, key.source_device)->take(name, cancellation, std::move(done));
}

void CollectiveDesk::serve_box(const GroupSeat& seat, const std::string& epoch,
                               std::string_view asker, Done<Delivery> done) {
  const Group group = seat.group();
  const std::shared_ptr<NearBoxes> boxes = seat.near(epoch);
  const int rank =
      boxes != nullptr && group != nullptr && group->epoch == epoch ? group->rank_of(asker) : -1;
  if (rank < 0) return done(unavailable(asker, " is in no group of that name here"));
  auto address = boxes->make(static_cast<size_t>(rank), host_.random.next());
  if (!address.ok()) return done(address.status());
  done(Delivery{.tensor = Tensor::scalar(*std::move(address))});
}

void CollectiveDesk::ask_for_box(const std::shared_ptr<GroupSeat>& seat,
                                 const CollectiveGroup& group, int rank) {
  const GroupMember& from = group.members[static_cast<size_t>(rank)];
  // Without it pieces go on as usual.
  ask(from.device, from.incarnation, seat->device(),
      str_cat(kBox, "/", group.key, "/", group.epoch), nullptr,
      Done<Tensor>([seat, epoch = group.epoch, rank](Result<Tensor> answer) {
        const std::shared_ptr<NearBoxes> boxes = seat->near(epoch);
        if (boxes == nullptr) return;
        // It may not have heard of the group yet.
        if (!answer.ok()) return boxes->ask_again(static_cast<size_t>(rank));
        if (answer->dtype() != DType::string || answer->num_elements() != 1) return;
        auto taker = boxes->opened(answer->item<std::string>());
        if (taker.ok()) seat->take_from(epoch, static_cast<size_t>(rank), *std::move(taker));
      }));
}

}  // namespace millrace
