#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

int main_of(int argc, char** argv) {
  CLI::App app("Runs programs that span processes, and the tasks that they are made of.",
               "millrace");
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace " MILLRACE_VERSION, "Print the version and exit");
  app.footer("millrace VERB --help tells more, with examples and exit codes.");

  // All after "--" belongs to the command that `run` starts, whatever it looks like.
  char** end = argv + argc;
  char** dashes =
      std::find_if(argv, end, [](char* text) { return std::string_view(text) == "--"; });
  Invocation invocation;
  if (dashes != end) invocation.command.assign(dashes + 1, end);

  add_run(app, invocation);
  add_check(app, invocation);
  add_config(app, invocation);
  add_attach(app, invocation);
  add_exec(app, invocation);
  add_explain(app, invocation);
  add_export(app, invocation);
  add_import(app, invocation);
  add_inspect(app, invocation);
  add_join(app, invocation);
  add_list(app, invocation);
  add_logs(app, invocation);
  add_ops(app, invocation);
  add_port_forward(app, invocation);
  add_rerun(app, invocation);
  add_scale(app, invocation);
  add_serve(app, invocation);
  add_status(app, invocation);
  add_stop(app, invocation);
  add_submit(app, invocation);
  add_version(app, invocation);
  add_wait(app, invocation);
  add_yarn_task(app, invocation);
  add_yarn_inside(app, invocation);
  add_yarn_guest(app, invocation);
  add_depot(app, invocation);
  add_pod_output(app, invocation);
  auto is_named = [&](CLI::App* verb) { return verb->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    std::cerr << "millrace: no verb '" << argv[1] << "'; millrace --help lists them\n";
    return kMisused;
  }
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::Error& fault) {
    std::cerr << "millrace: " << fault.what() << "\n"
              << "Run millrace --help, or millrace VERB --help.\n";
    return kMisused;
  }
  return invocation.run();
}

}  // namespace

CLI::App* add_inner_verb(CLI::App& app, const char* name, const char* text, const char* footer) {
  CLI::App* verb = app.add_subcommand(name, text);
  verb->group("");
  verb->footer(footer);
  return verb;
}

int complain(std::string_view verb, const Status& status) {
  std::cerr << "millrace " << verb << ": " << status.message() << "\n";
  return status.code() == Code::invalid_argument ? kMisused : kFailed;
}

}  // namespace millrace

int main(int argc, char** argv) { return millrace::main_of(argc, argv); }
