#include "millrace/worker/worker.h"

#include <algorithm>
#include <utility>

#include "millrace/ops/state/device_time.h"
#include "millrace/ops/state/kept_state.h"
#include "millrace/tensor/buffer.h"
#include "millrace/worker/local_part.h"

namespace millrace {
namespace {

constexpr size_t kRememberedRequests = 100'000;  // as TensorFlow's workers

// How the keys of what is sent from these devices begin, in their present life.
std::vector<std::string> sources_of(const LocalDevices& devices) {
  std::vector<std::string> sources;
  for (size_t i = 0; i < devices.size(); ++i)
    sources.push_back(
        str_cat(devices[i].name, ";", absl::Hex(devices[i].incarnation, absl::kZeroPad16), ";"));
  return sources;
}

Status repeated(std::string_view method, int64_t step_id, int64_t request_id) {
  return aborted("The same ", method, " request was received twice. step_id: ", step_id,
                 " request_id: ", request_id);
}

// What leases and batches are measured by.
void share_time(const LocalDevices& devices, const Host& host) {
  const auto time = std::make_shared<DeviceTime>(host.clock, host.timers, host.random, host.pool);
  // Nobody else gives anything that name.
  for (size_t i = 0; i < devices.size(); ++i)
    (void)devices.resources_of(i)->add<DeviceTime>(DeviceTime::kContainer, "", time);
}

}  // namespace

Worker::Worker(WorkerOptions options)
    : options_(std::move(options)),
      members_(std::make_shared<MemberWorkers>(options_.members, options_.peers, options_.host)),
      devices_(LocalDevices::create(options_.task, options_.cpu_devices, options_.host,
                                    options_.kept.get())),
      own_sources_(sources_of(devices_)),
      request_ids_(kRememberedRequests),
      steps_(options_.host.clock, options_.host.timers, options_.abort_delay),
      gate_(std::make_shared<CallGate>(in_flight_)),
      sessions_(make_session({}), options_.task.to_string()),
      site_{options_.host, steps_, in_flight_, options_.kept.get()},
      collectives_(std::make_shared<CollectiveDesk>(options_.task, members_, options_.departures,
                                                    options_.machine, options_.host, in_flight_)) {
  devices_.share(collectives_);
  share_time(devices_, options_.host);
}

Worker::~Worker() {
  stop(cancelled("the worker ", options_.task.to_string(), " has stopped"));
  in_flight_.wait();
}

std::shared_ptr<WorkerSession> Worker::make_session(CreateWorkerSessionRequest request) const {
  // A cluster that the client sent gives the task the name that it has there.
  const bool is_sent = request.cluster != nullptr;
  const TaskName& task = is_sent ? request.task : options_.task;
  LocalDevices devices = is_sent ? devices_.renamed(task) : devices_;
  if (request.isolate_session_state) {
    devices = devices.isolated();
    devices.share(collectives_);
    share_time(devices, options_.host);
  }
  auto members = is_sent
                     ? std::make_shared<MemberWorkers>(constant_members(request.cluster->spec()),
                                                       options_.peers, options_.host)
                     : members_;
  return std::make_shared<WorkerSession>(WorkerSession::Parts{
      .handle = std::move(request.session_handle),
      .master_task = std::move(request.master_task),
      .master_incarnation = request.master_incarnation,
      .devices = std::move(devices),
      .fetcher =
          std::make_shared<const PeerFetcher>(task, std::move(members), options_.host.random),
      .calls = {options_.host, gate_}});
}

void Worker::close_session(WorkerSession& session, const Status& why) {
  session.close(why);
  partial_steps_.drop_session(session, why);
  if (!session.handle().empty()) steps_.close_session(session.handle());
}

void Worker::stop(const Status& why) {
  for (const auto& session : sessions_.close(why)) close_session(*session, why);
  partial_steps_.drop_all(why);
  steps_.clear(why.as_consequence());
  collectives_->close(why);
  if (options_.kept != nullptr) {
    // What is dropped from here on is dropped because the task ends.
    if (Status kept = options_.kept->close(why); !kept.ok())
      options_.host.log.warning(kept.to_string());
  }
  devices_.clear_all(why);
  gate_->shut(why);
}

void Worker::get_status(WhenDown, Call, Done<GetStatusReply> done) {
  if (Status closed = sessions_.closed(); !closed.ok()) return done(std::move(closed));
  GetStatusReply reply{.devices = devices_.attributes(options_.memory_limit),
                       .can = Capabilities::own()};
  if (options_.departures != nullptr) reply.ended = options_.departures->list();
  done(std::move(reply));
}

void Worker::farewell(EndedTask ended, Call, Done<void> done) {
  done(options_.departures != nullptr ? options_.departures->note(ended) : Status());
}

void Worker::create_worker_session(CreateWorkerSessionRequest request, Call, Done<void> done) {
  if (request.session_handle.empty()) return done(invalid("Session must be non-empty."));
  const std::string master = request.master_task;
  auto outdated = sessions_.insert(make_session(std::move(request)));
  if (!outdated.ok()) return done(outdated.status());
  for (const auto& session : *outdated)
    close_session(*session, aborted("the master ", master, " has restarted").as_consequence());
  done(Status());
}

void Worker::delete_worker_session(DeleteWorkerSessionRequest request, Call, Done<void> done) {
  bool was_last = false;
  if (const auto session = sessions_.take(request.session_handle)) {
    close_session(*session, cancelled("session ", request.session_handle, " was closed"));
    was_last = sessions_.empty();
  }
  done(Status());
  // Nobody is left who would soon use again what was kept. Takes a while, so the answer comes
  // first; this worker may be gone by now.
  if (was_last) release_cached_blocks();
}

void Worker::register_graph(RegisterGraphRequest request, Call, Done<RegisterGraphReply> done) {
  auto session = sessions_.find(request.session_handle, request.create_worker_session_called);
  if (!session.ok()) return done(session.status());
  const ThreadLimits& usual = options_.threads;
  if (request.threads.intra_op <= 0) request.threads.intra_op = usual.intra_op;
  if (request.threads.inter_op <= 0) request.threads.inter_op = usual.inter_op;
  auto graph = (*session)->register_graph(std::move(request), site_.host.pool);
  if (!graph.ok()) return done(graph.status());
  done(RegisterGraphReply{
      .graph_handle = (*graph)->handle(),
      .part = std::make_shared<LocalPart>(site_, partial_steps_, *std::move(session), *graph)});
}

void Worker::deregister_graph(DeregisterGraphRequest request, Call, Done<void> done) {
  auto session = sessions_.find(request.session_handle, request.create_worker_session_called);
  if (!session.ok()) return done(session.status());
  done((*session)->deregister_graph(request.graph_handle));
}

void Worker::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  if (!request_ids_.is_new(request.request_id))
    return done(repeated("RunGraph", request.step_id, request.request_id));
  auto session = sessions_.find(request.session_handle, request.create_worker_session_called);
  if (!session.ok()) return done(session.status());
  auto graph = (*session)->find_graph(request.graph_handle);
  if (!graph.ok()) return done(graph.status());
  LocalPart(site_, partial_steps_, *std::move(session), *std::move(graph))
      .run(std::move(request), call, std::move(done));
}

void Worker::cleanup_graph(CleanupGraphRequest request, Call, Done<void> done) {
  steps_.cleanup(request.step_id);
  partial_steps_.clean_up(request.step_id);
  done(Status());
}

void Worker::cleanup_all(CleanupAllRequest request, Call, Done<void> done) {
  if (Status closed = sessions_.closed(); !closed.ok()) return done(std::move(closed));
  devices_.clear(request.containers, aborted("the containers of ", options_.task.to_string(),
                                             " were cleared by a reset"));
  if (options_.kept == nullptr) return done(Status());
  options_.kept->commit(Done<void>([done = std::move(done), token = in_flight_.enter()](
                                       Status kept) mutable { done(std::move(kept)); }));
}

bool Worker::is_own_key(std::string_view rendezvous_key) const {
  const auto own = std::ranges::find_if(
      own_sources_, [&](const std::string& source) { return rendezvous_key.starts_with(source); });
  if (own == own_sources_.end()) return false;
  const std::string_view rest = rendezvous_key.substr(own->size());
  const size_t name = rest.find(';') + 1, where = rest.rfind(';') + 1;
  return name > 1 && where > name + 1 && where < rest.size() && rest.find(';', name) + 1 == where &&
         DeviceName::parse(rest.substr(0, name - 1)).ok();
}

Status Worker::check_source(std::string_view rendezvous_key) const {
  if (is_own_key(rendezvous_key)) return {};
  MR_ASSIGN(const auto parts, RendezvousKey::parse(rendezvous_key));
  // An empty source means the device is anyone's here.
  if (parts.source_device.empty()) return {};
  MR_ASSIGN(const size_t device, devices_.find_local(parts.source));
  const uint64_t incarnation = devices_[device].incarnation;
  if (incarnation == parts.source_incarnation) return {};
  return aborted("RecvTensor expects a different device incarnation: ", parts.source_incarnation,
                 " vs. ", incarnation, ". Your worker job (\"", options_.task.to_string(),
                 "\") was probably restarted. Check your worker job for the reason why it was "
                 "restarted.")
      .with_payload(kWorkerPossiblyRestartedUrl, "");
}

// One request of a peer, until it is answered.
struct Worker::PeerCall {
  InFlight::Token token;
  StepTable::Visit visit;
  Cancellation* cancellation;
  Done<RecvTensorReply> done;
};

void Worker::recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) {
  if (!request_ids_.is_new(request.request_id))
    return done(repeated("RecvTensor", request.step_id, request.request_id));
  if (Status bad = check_source(request.rendezvous_key); !bad.ok()) return done(std::move(bad));
  if (request.step_id == CollectiveDesk::kStep)
    return serve_collective(std::move(request), call, std::move(done));
  auto waiting = std::make_shared<PeerCall>(PeerCall{
      in_flight_.enter(), steps_.peer(request.step_id), call.cancellation, std::move(done)});
  StepRendezvous& rendezvous = *waiting->visit.rendezvous;
  // After the step is in the table, so that a stop on another thread finds it there.
  if (Status closed = sessions_.closed(); !closed.ok()) rendezvous.abort(closed);
  rendezvous.receive_here(
      request.rendezvous_key, call.cancellation,
      Done<Delivery>([this, waiting](Result<Delivery> delivery) {
        const bool is_gone = !delivery.ok() && waiting->cancellation != nullptr &&
                             waiting->cancellation->cancelled();
        is_gone ? steps_.peer_gone(waiting->visit) : steps_.peer_answered(waiting->visit);
        Done<RecvTensorReply> done = std::move(waiting->done);
        // Whatever aborted the step here is reported by its own run.
        if (!delivery.ok()) return done(delivery.status().as_consequence());
        done(RecvTensorReply{.delivery = *std::move(delivery),
                             .send_start_micros = options_.host.clock.wall_micros()});
      }));
}

void Worker::serve_collective(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) {
  const auto key = RendezvousKey::parse(request.rendezvous_key);
  if (!key.ok()) return done(key.status());
  collectives_->serve(
      *key, call.cancellation,
      Done<Delivery>([this, token = std::make_shared<InFlight::Token>(in_flight_.enter()),
                      done = std::move(done)](Result<Delivery> delivery) mutable {
        if (!delivery.ok()) return done(delivery.status().as_consequence());
        done(RecvTensorReply{.delivery = *std::move(delivery),
                             .send_start_micros = options_.host.clock.wall_micros()});
      }));
}

Worker::Counts Worker::counts() const {
  Counts counts{.steps = steps_.size(),
                .partial_steps = partial_steps_.size(),
                .under_way = in_flight_.count()};
  for (const auto& session : sessions_.all()) {
    counts.sessions += !session->handle().empty();
    counts.graphs += session->num_graphs();
  }
  return counts;
}

std::vector<StepWaits> Worker::describe_waits() const {
  std::vector<StepWaits> waits;
  const Clock::Time now = options_.host.clock.now();
  for (const auto& session : sessions_.all()) session->runs().describe_waits(now, &waits);
  std::ranges::stable_sort(waits, std::greater{}, &StepWaits::age);
  return waits;
}

}  // namespace millrace
