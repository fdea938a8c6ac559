#include "millrace/cluster/host_port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace millrace {
namespace {

constexpr size_t kLongestHost = 253;  // RFC 1035
constexpr size_t kShownOfText = 80;

template <class... Parts>
Status bad_address(std::string_view text, const Parts&... parts) {
  const char* dots = text.size() > kShownOfText ? "…" : "";
  return invalid("'", text.substr(0, kShownOfText), dots,
                 "' is not a host:port address: ", parts...);
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool is_ipv6(std::string_view host) {
  std::string address(host.substr(0, host.find('%')));  // fe80::1%eth0 names its interface
  in6_addr ignored;
  return inet_pton(AF_INET6, address.c_str(), &ignored) == 1;
}

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const char* end = text.data() + text.size();
  auto [stop, fault] = std::from_chars(text.data(), end, port);
  if (text.empty() || fault != std::errc() || stop != end || port < 0 || port > 65535) return {};
  return port;
}

struct Split {
  std::string_view host;
  std::string_view port;
};

Result<Split> split_bracketed(std::string_view text) {
  size_t close = text.find(']');
  if (close == std::string_view::npos)
    return bad_address(text, "the bracket is not closed; write [::1]:", kConventionalPort);
  std::string_view host = text.substr(1, close - 1);
  if (!is_ipv6(host)) return bad_address(text, "'", host, "' is not an IPv6 address");
  std::string_view rest = text.substr(close + 1);
  if (rest.empty() || rest[0] != ':')
    return bad_address(text, "the port is missing; write [", host, "]:", kConventionalPort);
  return Split{host, rest.substr(1)};
}

Result<Split> split_plain(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return bad_address(text, "the port is missing; write ", text.substr(0, kShownOfText), ":",
                       kConventionalPort);
  std::string_view host = text.substr(0, colon);
  if (host.empty())
    return bad_address(text, "the host is missing; write localhost", text.substr(colon));
  if (host.find(':') != std::string_view::npos)
    return bad_address(text, "an IPv6 address needs brackets; write [::1]:", kConventionalPort);
  if (host.size() > kLongestHost)
    return bad_address(text, "the host has ", host.size(), " characters; at most ", kLongestHost,
                       " are allowed");
  auto bad = std::find_if_not(host.begin(), host.end(), is_host_character);
  if (bad != host.end())
    return bad_address(text, "the host has the character '", std::string(1, *bad),
                       "'; letters, digits, '.', '-' and '_' are allowed");
  return Split{host, text.substr(colon + 1)};
}

}  // namespace

Result<HostPort> HostPort::parse(std::string_view text) {
  if (text.empty())
    return bad_address(text, "it is empty; write for example localhost:", kConventionalPort);
  if (size_t scheme = text.find("://"); scheme != std::string_view::npos)
    return bad_address(text, "the protocol is not part of it; leave out '",
                       text.substr(0, scheme + 3), "'");
  MR_ASSIGN(Split parts, text[0] == '[' ? split_bracketed(text) : split_plain(text));
  std::optional<int> port = parse_port(parts.port);
  if (!port)
    return bad_address(text, "the port is '", parts.port.substr(0, kShownOfText),
                       "'; a number from 0 to 65535 is allowed");
  return HostPort{.host = std::string(parts.host), .port = *port};
}

std::string HostPort::to_string() const {
  bool brackets = host.find(':') != std::string::npos;
  return brackets ? str_cat("[", host, "]:", port) : str_cat(host, ":", port);
}

}  // namespace millrace
