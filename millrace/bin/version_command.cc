// Part of verbs.h: `millrace version`.
#include <iostream>

#include <CLI/App.hpp>

#include "millrace/bin/verbs.h"

namespace millrace {

void add_version(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = app.add_subcommand("version", "Print the version");
  verb->footer("Exit code: 0.");
  verb->callback([&] {
    invocation.run = [] {
      std::cout << "millrace " MILLRACE_VERSION "\n";
      return kDone;
    };
  });
}

}  // namespace millrace
