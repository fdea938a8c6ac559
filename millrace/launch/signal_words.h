// Signals as words: in job files, and from a launcher to whoever stays with a task's program on
// another machine, where no signal comes along (local_leash.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// The number of "USR1" or "SIGUSR1", of those that a program can get and answer: HUP, INT, QUIT,
// USR1, USR2, ALRM, TERM, CONT, URG, WINCH. Nothing for another word.
std::optional<int> signal_number(std::string_view name);

// "signal 10", with its line end.
std::string signal_line(int signal);
// The signal of such a line, without its end; nothing for another line.
std::optional<int> parse_signal_line(std::string_view line);

}  // namespace millrace
