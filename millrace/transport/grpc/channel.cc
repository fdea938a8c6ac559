#include "millrace/transport/grpc/channel.h"

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/transport/grpc/awaited_call.h"
#include "millrace/transport/grpc/channel_args.h"
#include "millrace/transport/grpc/message.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

// A task that is awaited is often about to be there: a whole job waits for the last of its tasks,
// and to ask a port that refuses costs a tenth of a millisecond.
constexpr int kFirstBackoffMillis = 20;
constexpr int kMaxBackoffMillis = 100;
constexpr int kResolveAgainMillis = 300;  // of a name that has resolved
constexpr int kConnectTimeoutMillis = 10'000;

std::shared_ptr<grpc_channel> make_channel(const std::string& address,
                                           const Channel::Options& options) {
  ChannelArgs args;
  args.set(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMillis);
  args.set(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMillis);
  args.set(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackoffMillis);
  args.set(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kResolveAgainMillis);
  args.set(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive_millis);
  args.set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  args.set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Tasks of a cluster talk to each other directly, whatever http_proxy says.
  args.set(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A call is made once: it may have effects.
  args.set(GRPC_ARG_ENABLE_RETRIES, 0);
  // Connections are not shared behind our back, so a restarted server meets a fresh one.
  args.set(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.set(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  args.set_common();
  const ChannelCredentials credentials(grpc_insecure_credentials_create());
  const std::string target = str_cat("dns://", options.name_server, "/", address);
  return ChannelHandle(grpc_channel_create(target.c_str(), credentials.get(), args.get()));
}

}  // namespace

std::shared_ptr<Channel> Channel::create(const std::string& address,
                                         std::shared_ptr<CompletionQueue> queue, Options options,
                                         std::shared_ptr<Rounds> rounds, Metrics& metrics,
                                         std::shared_ptr<Lines> lines) {
  std::shared_ptr<Channel> channel(
      new Channel(address, std::move(queue), options, rounds, metrics, std::move(lines)));
  rounds->add(channel);
  return channel;
}

Channel::Channel(const std::string& address, std::shared_ptr<CompletionQueue> queue,
                 Options options, std::shared_ptr<Rounds> rounds, Metrics& metrics,
                 std::shared_ptr<Lines> lines)
    : queue_(std::move(queue)),
      peer_(std::make_shared<const Peer>(Peer{"the task", address})),
      options_(std::move(options)),
      rounds_(std::move(rounds)),
      pulse_(std::make_shared<PeerPulse>(rounds_)),
      metrics_(metrics),
      lines_(std::move(lines)),
      channel_(make_channel(address, options_)) {}

Channel::~Channel() {
  pulse_->stop();
  for (const QueueHandle& queue : wait_queues_) grpc_completion_queue_shutdown(queue.get());
}

// False if the call goes the other way, which also says what is wrong with it.
bool Channel::start_on_line(OutgoingRequest& request, Line::Answer& answer) {
  if (lines_ == nullptr || !check_request(request, oversight()).ok()) return false;
  return lines_->start(request, oversight(), answer);
}

void Channel::start(OutgoingRequest request, Done<Chunks> done) {
  if (request.is_waited_for && lines_ != nullptr && check_request(request, oversight()).ok()) {
    if (const auto answer = lines_->call_and_wait(request, oversight()))
      return answer->ok() ? done((*answer)->chunks()) : done(answer->status());
  }
  const bool awaits_name =
      request.when_down == WhenDown::wait && AwaitedCall::is_of_use(peer_->address);
  // gRPC does not let a thread go that waits in it.
  if (!request.is_waited_for || request.attentive != nullptr || awaits_name) {
    Line::Answer answer{.done = std::move(done)};
    if (start_on_line(request, answer)) return;
    if (awaits_name) return start_awaited(std::move(request), std::move(answer.done));
    return start_unary_call(live().get(), queue_, std::move(request), oversight(),
                            std::move(answer.done));
  }
  const Result<ByteBuffer> answer = wait_for(std::move(request));
  if (!answer.ok()) return done(answer.status());
  done(to_chunks(**answer));
}

void Channel::start_streamed(OutgoingRequest request, ReadMessage read, Done<void> done) {
  Line::Answer answer{.read = std::move(read), .finish = std::move(done)};
  if (start_on_line(request, answer)) return;
  start_streamed_call(live().get(), queue_, std::move(request), oversight(), std::move(answer.read),
                      std::move(answer.finish));
}

Result<ByteBuffer> Channel::wait_for(OutgoingRequest request) {
  const std::shared_ptr<grpc_channel> channel = live();
  queue_->caller_reads(channel.get());
  QueueHandle queue = take_wait_queue();
  Result<ByteBuffer> answer =
      call_and_wait(channel.get(), queue.get(), std::move(request), oversight());
  give_back(std::move(queue));
  return answer;
}

void Channel::start_awaited(OutgoingRequest request, Done<Chunks> done) {
  const auto self = shared_from_this();
  AwaitedCall::start(rounds_->host(), std::move(request),
                     {.start =
                          [self](OutgoingRequest one, bool* was_sent, Done<Chunks> ended) {
                            start_unary_call(self->live().get(), self->queue_, std::move(one),
                                             self->oversight(), std::move(ended), was_sent);
                          },
                      .renew_if_failing = [self] { return self->renew_if_failing(); }},
                     std::move(done));
}

std::shared_ptr<grpc_channel> Channel::live() const {
  MutexLock lock(mutex_);
  return channel_;
}

bool Channel::renew_if_failing() {
  const std::shared_ptr<grpc_channel> seen = live();
  if (grpc_channel_check_connectivity_state(seen.get(), 0) != GRPC_CHANNEL_TRANSIENT_FAILURE)
    return false;
  std::shared_ptr<grpc_channel> fresh = make_channel(peer_->address, options_);
  MutexLock lock(mutex_);
  if (channel_ == seen) channel_.swap(fresh);
  return true;
}

bool Channel::is_failing() const {
  const auto state = grpc_channel_check_connectivity_state(live().get(), 0);
  return state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
         (state == GRPC_CHANNEL_CONNECTING && pulse_->is_missed());
}

void Channel::visit() {
  if (pulse_->visit() == Silence::Action::ask) ask();
}

void Channel::ask() {
  start_unary_call(live().get(), queue_,
                   {.peer = peer_,
                    .method = worker_method::kGetStatus,
                    .message = {},
                    .cancellation = &pulse_->stopping()},
                   {.pulse = pulse_, .metrics = metrics_, .is_question = true},
                   Done<Chunks>([pulse = pulse_](const Result<Chunks>& answer) {
                     // An error counts like an answer: if the connection broke, what comes next
                     // tells more than the silence did.
                     if (!answer.ok()) pulse->heard();
                   }));
}

QueueHandle Channel::take_wait_queue() {
  MutexLock lock(mutex_);
  if (wait_queues_.empty()) return QueueHandle(grpc_completion_queue_create_for_pluck(nullptr));
  QueueHandle queue = std::move(wait_queues_.back());
  wait_queues_.pop_back();
  return queue;
}

void Channel::give_back(QueueHandle queue) {
  MutexLock lock(mutex_);
  wait_queues_.push_back(std::move(queue));
}

}  // namespace millrace::transport
