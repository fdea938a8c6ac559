#include "millrace/transport/grpc/master_channel.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/transport/grpc/ask.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace {
namespace {

constexpr std::string_view kScheme = "grpc://";

WhenDown when_down(std::string_view method) {
  const bool may_come_up = method == transport::master_method::kCreateSession ||
                           method == transport::master_method::kReset;
  return may_come_up ? WhenDown::wait : WhenDown::fail;
}

}  // namespace

class GrpcMasterChannel::Connection {
 public:
  Connection(const std::string& address, const GrpcThreads& threads, const Host& host,
             PeerPatience patience)
      : peer_(std::make_shared<const transport::Peer>(transport::Peer{"the master", address})),
        rounds_(std::make_shared<transport::Rounds>(host, patience.limit)),
        channel_(transport::Channel::create(address, threads.queue(), {}, rounds_, host.metrics)) {}
  ~Connection() { rounds_->stop(); }

  // Encodes, calls, decodes.
  template <class Request, class Reply>
  void ask(std::string_view method, const Request& request, const Call& call, Done<Reply> done) {
    ask_with(method, transport::encode(request), call, std::move(done));
  }
  // The same with a message made already, and maybe a reader of the answer.
  template <class Reply, class... Read>
  void ask_with(std::string_view method, Result<wire::Pieces> message, const Call& call,
                Done<Reply> done, Read... read) {
    if (!message.ok()) return done(std::move(message).status());
    transport::OutgoingRequest request{.peer = peer_,
                                       .method = method,
                                       .message = std::move(message).value(),
                                       .when_down = when_down(method)};
    transport::ask(*channel_, std::move(request), call, std::move(read)..., std::move(done));
  }

  const std::shared_ptr<const transport::Peer>& peer() const { return peer_; }

 private:
  const std::shared_ptr<const transport::Peer> peer_;
  const std::shared_ptr<transport::Rounds> rounds_;
  const std::shared_ptr<transport::Channel> channel_;
};

Result<std::unique_ptr<GrpcMasterChannel>> GrpcMasterChannel::create(std::string_view target,
                                                                     const GrpcThreads& threads,
                                                                     const Host& host,
                                                                     PeerPatience patience) {
  if (!target.starts_with(kScheme))
    return invalid("the target '", target, "' has not the form grpc://host:port");
  MR_ASSIGN(
      const HostPort address,
      HostPort::parse(target.substr(kScheme.size())).with(str_cat("the target '", target, "'")));
  if (address.port == 0)
    return invalid("the target '", target, "' names port 0, where nobody listens");
  return std::unique_ptr<GrpcMasterChannel>(new GrpcMasterChannel(
      std::make_unique<Connection>(address.to_string(), threads, host, patience)));
}

GrpcMasterChannel::GrpcMasterChannel(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
GrpcMasterChannel::~GrpcMasterChannel() = default;

void GrpcMasterChannel::describe(Call call, Done<TaskDescription> done) {
  connection_->ask_with(transport::task_method::kDescribe, wire::Pieces(), call, std::move(done));
}

void GrpcMasterChannel::create_session(CreateSessionRequest request, Call call,
                                       Done<CreateSessionReply> done) {
  connection_->ask(transport::master_method::kCreateSession, request, call, std::move(done));
}
void GrpcMasterChannel::extend_session(ExtendSessionRequest request, Call call,
                                       Done<ExtendSessionReply> done) {
  connection_->ask(transport::master_method::kExtendSession, request, call, std::move(done));
}
void GrpcMasterChannel::partial_run_setup(PartialRunSetupRequest request, Call call,
                                          Done<PartialRunSetupReply> done) {
  connection_->ask(transport::master_method::kPartialRunSetup, request, call, std::move(done));
}
void GrpcMasterChannel::close_session(CloseSessionRequest request, Call call, Done<void> done) {
  connection_->ask(transport::master_method::kCloseSession, request, call, std::move(done));
}
void GrpcMasterChannel::list_devices(ListDevicesRequest request, Call call,
                                     Done<ListDevicesReply> done) {
  connection_->ask(transport::master_method::kListDevices, request, call, std::move(done));
}
void GrpcMasterChannel::reset(ResetRequest request, Call call, Done<void> done) {
  connection_->ask(transport::master_method::kReset, request, call, std::move(done));
}
void GrpcMasterChannel::make_callable(MakeCallableRequest request, Call call,
                                      Done<MakeCallableReply> done) {
  connection_->ask(transport::master_method::kMakeCallable, request, call, std::move(done));
}
void GrpcMasterChannel::run_callable(RunCallableRequest request, Call call,
                                     Done<RunCallableReply> done) {
  connection_->ask(transport::master_method::kRunCallable, request, call, std::move(done));
}
void GrpcMasterChannel::release_callable(ReleaseCallableRequest request, Call call,
                                         Done<void> done) {
  connection_->ask(transport::master_method::kReleaseCallable, request, call, std::move(done));
}

void GrpcMasterChannel::run_step(RunStepRequest request, Call call, Done<RunStepReply> done) {
  Result<wire::Pieces> message = transport::encode(request);
  auto read = [peer = connection_->peer(), fetches = std::move(request.fetches)](
                  const transport::Chunks& bytes) -> Result<RunStepReply> {
    transport::AnsweredRunStep answer;
    if (Status status = decode(bytes, fetches, answer); !status.ok())
      return explain_bad_answer(*peer, transport::master_method::kRunStep, status);
    MR_TRY(answer.error);
    return std::move(answer.reply);
  };
  connection_->ask_with(transport::master_method::kRunStep, std::move(message), call,
                        std::move(done), std::move(read));
}

}  // namespace millrace
