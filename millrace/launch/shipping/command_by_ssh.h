// Brings the `millrace` command, with the libraries that it needs, to machines that are reached by
// ssh and need nothing but `sh` and `tar`: into this user's scratch folder there, by its content,
// so that the next job finds it. Blocks; one machine after the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"

namespace millrace {

struct CommandBySsh {
  std::vector<std::string> hosts = {};  // as ssh_reach() takes them
  std::string program = {};             // `millrace`, a path of this machine
  std::string scratch = {};             // own_scratch() of this machine
};

// For each host, the folder there that has it. Errors: UNAVAILABLE with the host, and what ssh or
// the machine says; those of make_program_bundle().
Result<std::map<std::string, std::string>> bring_command(const CommandBySsh& request,
                                                         const Clock& clock);

}  // namespace millrace
