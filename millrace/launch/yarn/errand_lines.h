// What an errand (local_errand.h) and the application master say to each other: one line of JSON
// each, over a socket of their machine.
//
//   errand     {"want": {"priority": 1, "memory": 64, "cores": 1, "gpus": 0, "label": "",
//                        "node": "", "rack": ""},
//               "command": "exec /bin/sh '/jobs/words/container_0.sh'", "environment": {"A": "b"}}
//              {"end": true}
//   master     {"runs": "container_1700000000000_0001_01_000002", "on": "n1"}
//              {"code": 0, "words": ""}
//
// Pure: values, and functions between them and text.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "millrace/base/result.h"
#include "millrace/launch/yarn/container_end.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

struct ContainerWanted {
  ContainerWish wish = {};
  ContainerLaunch launch = {};
};
struct ContainerToEnd {};
using ErrandSays = std::variant<ContainerWanted, ContainerToEnd>;

struct ContainerRuns {
  std::string container = {};
  std::string node = {};
};
using MasterSays = std::variant<ContainerRuns, ContainerEnd>;

// With their ends.
std::string to_line(const ErrandSays& says);
std::string to_line(const MasterSays& says);
// Errors: INVALID_ARGUMENT for what is none.
Result<ErrandSays> parse_errand(std::string_view line);
Result<MasterSays> parse_master(std::string_view line);

}  // namespace millrace
