#include "millrace/launch/ports.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "millrace/base/str_cat.h"
#include "millrace/launch/nearest_name.h"

namespace millrace {
namespace {

constexpr int kMostPort = 65535;
constexpr size_t kLongestName = 15;  // as Kubernetes has it
constexpr std::string_view kOwnName = "grpc";

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_one_digit(char c) { return c >= '0' && c <= '9'; }

bool is_port_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::ranges::any_of(name, is_small_letter) &&
         std::ranges::all_of(
             name, [](char c) { return is_small_letter(c) || is_one_digit(c) || c == '-'; }) &&
         name.front() != '-' && name.back() != '-' && name.find("--") == std::string_view::npos;
}

// 0 for what is no number of a port.
int port_of(std::string_view text) {
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, port);
  return fault == std::errc() && stop == end && port >= 1 && port <= kMostPort ? port : 0;
}

}  // namespace

Status check_ports(const NamedPorts& ports) {
  std::map<int, std::string> by_number;
  for (const auto& [name, port] : ports) {
    if (!is_port_name(name))
      return invalid("ports: '", name.substr(0, 80),
                     "' is no name of a port: at most 15 small letters, digits and single dashes");
    if (name == kOwnName)
      return invalid("ports.", name, ": the task's own port is called so; choose another name");
    if (port < 1 || port > kMostPort)
      return invalid("ports.", name, ": ", port, " is no port; 1 to ", kMostPort, " are");
    if (std::ranges::find(kOwnPorts, port) != std::end(kOwnPorts))
      return invalid("ports.", name, ": ", port,
                     " is one of the task's own, by which tasks find each other; choose another");
    if (const auto [same, is_new] = by_number.emplace(port, name); !is_new)
      return invalid("ports.", name, ": ", port, " is that of ", same->second, " already");
  }
  return {};
}

std::string to_text(const NamedPorts& ports) {
  std::string text;
  for (const auto& [name, port] : ports)
    str_append(&text, text.empty() ? "" : ", ", name, " ", port);
  return text;
}

Result<PortRequest> parse_port_request(std::string_view text, const NamedPorts& ports) {
  PortRequest request;
  std::string_view remote = text;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    request.local = port_of(text.substr(0, colon));
    remote = text.substr(colon + 1);
    if (request.local == 0)
      return invalid("'", text.substr(0, 80),
                     "': before the colon stands a port of this machine, 1 to ", kMostPort);
  }
  request.port = port_of(remote);
  if (request.port != 0) return request;
  if (!is_port_name(remote))
    return invalid("'", text.substr(0, 80),
                   "' is no port; write 6006, 8080:6006, or a port's name");
  if (const auto found = ports.find(std::string(remote)); found != ports.end()) {
    request.port = found->second;
    return request;
  }
  std::vector<std::string_view> names;
  for (const auto& [name, port] : ports) names.push_back(name);
  const std::string_view near = nearest_name(remote, names);
  return not_found("the task has no port '", remote, "'",
                   near.empty() ? "" : str_cat("; did you mean '", near, "'?"),
                   " Its ports: ", ports.empty() ? "none with a name" : to_text(ports));
}

}  // namespace millrace
