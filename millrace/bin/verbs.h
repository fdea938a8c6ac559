// The verbs of the `millrace` command. Each lives in <verb>_command.cc and is listed in main.cc.
//
// Exit codes, the same for every verb: 0 it did what was asked, 1 it could not, 2 the command line
// makes no sense, 130 interrupted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace CLI {
class App;
}

namespace millrace {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kMisused = 2;

// The flag that names a file with the cluster, in all its spellings.
inline constexpr const char* kClusterFlags = "--cluster,--cluster-file,--cluster_file";

// What stood on the command line after "--", and what the verb that was chosen will do.
struct Invocation {
  std::vector<std::string> command = {};
  std::function<int()> run = {};
};

// Declare a verb's flags and help below `app`; when the line is parsed and names the verb,
// `invocation.run` is set. Both outlive the call of run.
void add_run(CLI::App& app, Invocation& invocation);
void add_check(CLI::App& app, Invocation& invocation);
void add_config(CLI::App& app, Invocation& invocation);
void add_attach(CLI::App& app, Invocation& invocation);
void add_exec(CLI::App& app, Invocation& invocation);
void add_explain(CLI::App& app, Invocation& invocation);
void add_export(CLI::App& app, Invocation& invocation);
void add_import(CLI::App& app, Invocation& invocation);
void add_inspect(CLI::App& app, Invocation& invocation);
void add_join(CLI::App& app, Invocation& invocation);
void add_list(CLI::App& app, Invocation& invocation);
void add_logs(CLI::App& app, Invocation& invocation);
void add_ops(CLI::App& app, Invocation& invocation);
void add_port_forward(CLI::App& app, Invocation& invocation);
void add_rerun(CLI::App& app, Invocation& invocation);
void add_scale(CLI::App& app, Invocation& invocation);
void add_serve(CLI::App& app, Invocation& invocation);
void add_status(CLI::App& app, Invocation& invocation);
void add_stop(CLI::App& app, Invocation& invocation);
void add_submit(CLI::App& app, Invocation& invocation);
void add_version(CLI::App& app, Invocation& invocation);
void add_wait(CLI::App& app, Invocation& invocation);
void add_depot(CLI::App& app, Invocation& invocation);
void add_pod_output(CLI::App& app, Invocation& invocation);
void add_yarn_task(CLI::App& app, Invocation& invocation);
void add_yarn_inside(CLI::App& app, Invocation& invocation);
void add_yarn_guest(CLI::App& app, Invocation& invocation);

// A verb that our own programs call: help does not list it, and has it if asked.
CLI::App* add_inner_verb(CLI::App& app, const char* name, const char* text, const char* footer);

// Prints "millrace VERB: message" to standard error. Returns kMisused for INVALID_ARGUMENT, kFailed
// for anything else.
int complain(std::string_view verb, const Status& status);

}  // namespace millrace
