#include "millrace/transport/protocol/remote_standby.h"

#include <utility>

#include "millrace/transport/protocol/codec_standby.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {

RemoteStandby::RemoteStandby(const std::string& address, std::shared_ptr<Caller> caller)
    : remote_({"the task", address}, std::move(caller)) {}

void RemoteStandby::witness(WitnessRequest request, Call call, Done<WitnessReply> done) {
  remote_.ask(task_method::kWitness, WhenDown::fail, encode(request), call, std::move(done));
}

void RemoteStandby::standby(StandbyParcel parcel, Call call, Done<void> done) {
  remote_.ask(task_method::kStandby, WhenDown::fail, encode(parcel), call, std::move(done));
}

}  // namespace millrace::transport
