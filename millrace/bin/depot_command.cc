// Part of verbs.h: `millrace depot`, which keeps the files of a job in a pod of its own.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/scaling.h"
#include "millrace/launch/shipping/depot.h"

namespace millrace {
namespace {

constexpr const char* kDepotFooter =
    R"(Keeps what travels with a job, and what its tasks have made, where no launcher stays with them: `submit --on k8s`
has it run in a pod of the job's own. It is of no use by itself.

  serve   gives the tasks what was brought, and takes their outputs, until it is told to end
  fill    takes what travels from standard input, once
  give    writes all outputs to standard output

Exit codes: 0 done, 1 it could not be done, 2 the command line makes no sense.)";

constexpr int kMostPorts = 65535;

struct DepotFlags {
  DepotOptions options;
  std::vector<std::string> collected;
};

Result<DepotOptions> serving(const DepotFlags& flags) {
  DepotOptions options = flags.options;
  options.token = variable(kTokenVariable);
  options.note = [](const std::string& line) { std::cerr << "millrace depot: " << line << "\n"; };
  for (const std::string& text : flags.collected) {
    MR_ASSIGN(const RoleCount role, parse_role_count(text).with("--collect"));
    for (int index = 0; index < role.second; ++index)
      options.collected_as.emplace(str_cat(role.first, ":", index),
                                   str_cat(role.first, "_", index));
  }
  return options;
}

int serve(const DepotFlags& flags) {
  const Result<DepotOptions> options = serving(flags);
  if (!options.ok()) return complain("depot", options.status());
  // It comes back in trouble only: nobody ends a depot in good order but by removing it.
  return complain("depot", serve_depot(*options, Clock::real()));
}

int fill(const DepotFlags& flags) {
  const Status done = fill_depot(flags.options.folder, STDIN_FILENO);
  if (!done.ok()) return complain("depot", done);
  std::cout << "ok" << std::endl;
  return kDone;
}

int give(const DepotFlags& flags) {
  const Status done = give_outputs(flags.options.folder, STDOUT_FILENO);
  return done.ok() ? kDone : complain("depot", done);
}

}  // namespace

void add_depot(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<DepotFlags>();
  CLI::App* verb =
      add_inner_verb(app, "depot", "Keep the files of a job on Kubernetes", kDepotFooter);
  verb->require_subcommand(1);
  struct Action {
    const char* name;
    const char* text;
    int (*run)(const DepotFlags& flags);
  };
  for (const Action action : {Action{"serve", "Give the tasks what was brought", serve},
                              Action{"fill", "Take what travels from standard input", fill},
                              Action{"give", "Write all outputs to standard output", give}}) {
    CLI::App* part = verb->add_subcommand(action.name, action.text);
    part->add_option("--folder", flags->options.folder, "Where all of it is kept")
        ->type_name("DIR")
        ->required();
    part->callback([flags, action, &invocation] {
      invocation.run = [flags, action] { return action.run(*flags); };
    });
    if (action.run != serve) continue;
    part->add_option("--list", flags->options.digest, "The SHA-256 of the list of what travels")
        ->type_name("SHA256")
        ->required();
    part->add_option("--port", flags->options.port, "Where tasks ask")
        ->check(whole_number(1, kMostPorts))
        ->required();
    part->add_option("--collect", flags->collected, "Of which tasks outputs are taken")
        ->type_name("ROLE=COUNT");
    part->add_option("--most", flags->options.most_kept, "How many bytes of outputs are taken")
        ->type_name("BYTES");
  }
}

}  // namespace millrace
