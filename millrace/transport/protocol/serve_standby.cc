// Part of served_methods.h: the methods of a task that is a witness, or one of two sides of a
// state.
#include "millrace/transport/protocol/codec_standby.h"
#include "millrace/transport/protocol/serve.h"
#include "millrace/transport/protocol/served_methods.h"

namespace millrace::transport {

void add_standby_methods(StandbyService& standby, ServedMethods& methods) {
  methods[task_method::kWitness] = serve(standby, &StandbyService::witness);
  methods[task_method::kStandby] = serve(standby, &StandbyService::standby);
}

void refuse_other_methods(const std::string& why, ServedMethods& methods) {
  const Handler refuse = [why](const std::shared_ptr<ReceivedCall>& call) {
    call->answer(unavailable(why));
  };
  for (const std::string_view method : master_method::kAll) methods.try_emplace(method, refuse);
  for (const std::string_view method : worker_method::kAll) methods.try_emplace(method, refuse);
  methods.try_emplace(task_method::kDescribe, refuse);
}

}  // namespace millrace::transport
