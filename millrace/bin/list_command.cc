// Part of verbs.h: `millrace list`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

constexpr const char* kListFooter =
    R"(Lists the jobs that a cluster's manager, or this machine, has from millrace, ended ones too for as long as
they are kept.

Examples:
  millrace list --on k8s
  millrace list --on local

Exit codes: 0 listed, 1 the manager can't be asked, 2 the command line makes no sense.)";

int list(const PlaceFlags& flags) {
  const auto random = make_random();
  const auto place = place_of(flags, *random, Clock::real());
  if (!place.ok()) return complain("list", place.status());
  const auto jobs = (*place)->list();
  if (!jobs.ok()) return complain("list", jobs.status());
  std::cout << render(*jobs);
  return kDone;
}

}  // namespace

void add_list(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<PlaceFlags>();
  CLI::App* verb = app.add_subcommand("list", "List the jobs that were submitted");
  verb->footer(kListFooter);
  add_place_flags(*verb, *flags);
  verb->callback([flags, &invocation] { invocation.run = [flags] { return list(*flags); }; });
}

}  // namespace millrace
