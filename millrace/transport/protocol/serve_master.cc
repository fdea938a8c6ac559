// Part of served_methods.h: the methods of a task's master.
#include <utility>

#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/serve.h"
#include "millrace/transport/protocol/served_methods.h"
#include "millrace/transport/protocol/status_codec.h"

namespace millrace::transport {
namespace {

// A client of TensorFlow repeats a step that ends in UNAVAILABLE, with all its effects: such an
// error goes into the body, or is hidden from clients that do not look there.
void run_step(MasterService& master, std::shared_ptr<ReceivedCall> call) {
  ReceivedRunStep received;
  if (!read_request(*call, received)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call), fetches = received.request.fetches,
                 errors_in_body = received.errors_in_body](Result<RunStepReply> reply) {
    Result<wire::Pieces> message = reply.ok() ? encode(*reply, fetches) : std::move(reply).status();
    if (message.ok()) return call->answer(std::move(message));
    if (errors_in_body) return call->answer(encode_run_step_error(message.status()));
    call->answer(hide_unavailable(message.status()));
  };
  master.run_step(std::move(received.request), context, Done<RunStepReply>(std::move(answer)));
}

void run_callable(MasterService& master, std::shared_ptr<ReceivedCall> call) {
  RunCallableRequest request;
  if (!read_request(*call, request)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call)](Result<RunCallableReply> reply) {
    Result<wire::Pieces> message = reply.ok() ? encode(*reply) : std::move(reply).status();
    if (!message.ok()) message = hide_unavailable(message.status());
    call->answer(std::move(message));
  };
  master.run_callable(std::move(request), context, Done<RunCallableReply>(std::move(answer)));
}

}  // namespace

void add_master_methods(MasterService& master, ServedMethods& methods) {
  namespace method = master_method;
  methods[method::kCreateSession] = serve(master, &MasterService::create_session);
  methods[method::kExtendSession] = serve(master, &MasterService::extend_session);
  methods[method::kPartialRunSetup] = serve(master, &MasterService::partial_run_setup);
  methods[method::kRunStep] = [&master](std::shared_ptr<ReceivedCall> call) {
    run_step(master, std::move(call));
  };
  methods[method::kCloseSession] = serve(master, &MasterService::close_session);
  methods[method::kListDevices] = serve(master, &MasterService::list_devices);
  methods[method::kReset] = serve(master, &MasterService::reset);
  methods[method::kMakeCallable] = serve(master, &MasterService::make_callable);
  methods[method::kRunCallable] = [&master](std::shared_ptr<ReceivedCall> call) {
    run_callable(master, std::move(call));
  };
  methods[method::kReleaseCallable] = serve(master, &MasterService::release_callable);
  methods[task_method::kDescribe] = [&master](std::shared_ptr<ReceivedCall> call) {
    const Call context = call->call();
    master.describe(context, Done<TaskDescription>([call = std::move(call)](auto told) {
                      call->answer(told.ok() ? encode(*told) : std::move(told).status());
                    }));
  };
}

}  // namespace millrace::transport
