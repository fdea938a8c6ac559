// RemoteStandby: the witness or the other side of a state elsewhere, by whatever calls it.
//
// All calls fail at once if the task can't be reached: who asks asks again. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "millrace/cluster/standby_service.h"
#include "millrace/transport/protocol/remote.h"

namespace millrace::transport {

class RemoteStandby : public StandbyService {
 public:
  RemoteStandby(const std::string& address, std::shared_ptr<Caller> caller);

  void witness(WitnessRequest request, Call call, Done<WitnessReply> done) override;
  void standby(StandbyParcel parcel, Call call, Done<void> done) override;

 private:
  const Remote remote_;
};

}  // namespace millrace::transport
