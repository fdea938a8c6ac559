// What a role's programs serve beside the port by which tasks find each other: TensorBoard, a
// debugger, metrics. They bind these ports themselves; the job says which they are. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/farewell.h"

namespace millrace {

using NamedPorts = std::map<std::string, int>;

// Those that tasks on Kubernetes have of their own: by which they find each other, and tell each
// other of their ends.
inline constexpr int kOwnPorts[] = {kConventionalPort, kFarewellPort};

// INVALID_ARGUMENT that names the port: a name that Kubernetes has not for ports, a number that
// there is not, or one of kOwnPorts; two names of one number.
Status check_ports(const NamedPorts& ports);

// "web 6006, metrics 9090"
std::string to_text(const NamedPorts& ports);

// "8080:web", "web", "8080:6006", "6006".
struct PortRequest {
  int local = 0;  // 0: not said
  int port = 0;
};
// Errors: INVALID_ARGUMENT for what is none; NOT_FOUND for a name that is not among the ports, with
// those that are.
Result<PortRequest> parse_port_request(std::string_view text, const NamedPorts& ports);

}  // namespace millrace
