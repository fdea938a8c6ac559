// Who listens on a port of this machine: for messages about a port that is in use. Reads /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// "process 4711 (python3 train.py)", or empty if it can't be told: another user's process, another
// network namespace, no /proc.
std::string port_holder(int port);

// The inode of the socket that listens on `port`, from the text of /proc/net/tcp or tcp6.
std::optional<uint64_t> listening_inode(std::string_view table, int port);

}  // namespace millrace
