// Machines that are known by their names alone: how a task's process comes onto one of them, by the
// machine's own ssh with its keys and its configuration. No daemon of ours is there, before or
// after. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/reach.h"

namespace millrace {

// Tasks go to the hosts in turn: as ssh takes them, "n1", "me@n1", "ssh://me@n1:2222", or as its
// configuration calls them. `known_as` is the name by which they find the launcher's machine. The
// job outlives the reach. `folders`: those of machines that have `millrace` elsewhere than on their
// PATH. Errors: INVALID_ARGUMENT for no host, or one that ssh would not take for one.
Result<Reach> ssh_reach(const JobSpec& job, std::vector<std::string> hosts,
                        const std::string& known_as,
                        std::map<std::string, std::string> folders = {});

// INVALID_ARGUMENT for a host that ssh would not take for one.
Status check_host(const std::string& host);
// What runs a command there, without a question.
std::vector<std::string> ssh_command(const std::string& host,
                                     const std::vector<std::string>& command);

// True for a line that ssh wrote itself; adds to the facts why it could not begin, or what became
// of the machine.
bool hear_ssh(std::string_view line, ExitFacts& facts);

}  // namespace millrace
