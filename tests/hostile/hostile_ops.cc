// hostile_ops: runs every op on input that somebody hostile could send, case after case, and prints
// what repeats each case that ended the process, hung, or gave what can't be right.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/hostile/hunt.h"
#include "tests/hostile/trial.h"
#include <CLI/CLI.hpp>

#include "millrace/ops/all.h"

namespace {

using millrace::OpDef;
using millrace::hostile::Fault;
using millrace::hostile::HuntOptions;

constexpr int kFaults = 1, kBadCall = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs ops on hostile input. Exits with 0 if nothing was wrong, with 1 after the cases that "
      "went wrong, with 2 for arguments that make no sense.");
  HuntOptions options;
  std::vector<std::string> names;
  std::vector<std::string> without;
  int64_t seconds = options.ended_after.count() / 1000;
  bool shows = false;
  app.add_option("--seed", options.seed, "what the cases are drawn from")->capture_default_str();
  app.add_option("--cases", options.cases, "of each op")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--first", options.first, "number of the first case")->capture_default_str();
  app.add_option("--op", names, "only these ops; all without it");
  app.add_option("--without", without, "not these ops");
  app.add_option("--most", options.most_faults, "faults of one op, which is left then")
      ->capture_default_str();
  app.add_option("--seconds", seconds, "that one case may take")->capture_default_str();
  app.add_option("--memory", options.memory, "bytes that one case may take")->capture_default_str();
  app.add_flag("--show", shows, "print the cases, and run none");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadCall;
  }
  options.ended_after = std::chrono::seconds(seconds);

  millrace::OpRegistry ops;
  if (const auto status = millrace::register_all_ops(ops); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    return kBadCall;
  }
  for (const std::string& name : names) {
    const OpDef* op = ops.find(name);
    if (op == nullptr || !millrace::hostile::Subject::can_be(*op)) {
      std::fprintf(stderr, "there is no op %s that has a kernel\n", name.c_str());
      return kBadCall;
    }
    options.subjects.push_back(op);
  }
  if (names.empty())
    for (const OpDef* op : ops.all())
      if (millrace::hostile::Subject::can_be(*op) &&
          std::find(without.begin(), without.end(), op->name) == without.end())
        options.subjects.push_back(op);
  if (shows) {
    for (const OpDef* op : options.subjects) {
      const millrace::hostile::Subject subject(ops, *op);
      for (int64_t i = 0; i < options.cases; ++i)
        std::printf(
            "%" PRId64 ": %s\n", options.first + i,
            millrace::hostile::Trial(subject, options.seed, options.first + i).text().c_str());
    }
    return 0;
  }

  const auto found = [](const Fault& fault) {
    std::printf("%s  # %s\n    %s\n", fault.command.c_str(), fault.what.c_str(),
                fault.text.c_str());
    std::fflush(stdout);
  };
  size_t begun = 0;
  const auto progress = [&](const OpDef& op) {
    std::fprintf(stderr, "\r%zu of %zu: %-50s", ++begun, options.subjects.size(), op.name.c_str());
  };
  const auto faults = millrace::hostile::hunt(ops, options, found, progress);
  std::fprintf(stderr, "\n%zu ops, %lld cases of each, %zu faults\n", options.subjects.size(),
               static_cast<long long>(options.cases), faults.size());
  return faults.empty() ? 0 : kFaults;
}
