// From what a program calls a target to the master behind it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/cluster/services.h"
#include "millrace/session/runtime.h"
#include "millrace/session/session.h"

namespace millrace {

// True for the two ways to say "this process alone": "" and "local".
constexpr bool is_this_process(std::string_view target) {
  return target.empty() || target == "local";
}

struct Dialled {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<MasterService> master;  // keeps alive what it needs
  std::string target;                     // as CreateSession wants it
};

// Contacts nobody yet. `runtime` null: the server's, or a new one. `cpu_devices` are those of the
// task that is made for a target of this process.
// Errors: INVALID_ARGUMENT for a target that is neither of this process nor of a transport
// ("grpc://host:port"), and for fewer than one device.
Result<Dialled> dial(const SessionTarget& target, std::shared_ptr<Runtime> runtime,
                     int cpu_devices = 1);

}  // namespace millrace
