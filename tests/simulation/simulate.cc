// simulate: runs random programs over random faults on simulated clusters, seed after seed, for as
// many simulated seconds as one likes.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/simulation/collective_fuzz.h"
#include "tests/simulation/fuzz.h"
#include "tests/simulation/scale.h"
#include <CLI/CLI.hpp>

#include "millrace/ops/all.h"

namespace {

using millrace::simulation::FuzzOptions;
using millrace::simulation::FuzzOutcome;

constexpr int kComplaint = 1, kBadCall = 2;

using Fuzz = FuzzOutcome (*)(const millrace::OpRegistry&, const FuzzOptions&);

// Runs one seed again for its transcript, which does not change what happens.
void print_transcript(Fuzz fuzz, const millrace::OpRegistry& ops, FuzzOptions options) {
  options.tell = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  (void)fuzz(ops, options);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Simulates clusters: random programs over random faults. Exits with 0 if nothing was wrong, "
      "with 1 after the transcript of a seed that went wrong, with 2 for arguments that make no "
      "sense.");
  FuzzOptions options;
  double seconds = 10'000;
  double length = 600;
  bool is_told = false, is_calm = false, are_collectives = false;
  std::vector<int> sizes;
  app.add_option("--seed", options.seed, "the first seed; those after it follow by one")
      ->capture_default_str();
  app.add_option("--seconds", seconds, "simulated seconds in all")->capture_default_str();
  app.add_option("--length", length, "simulated seconds of each seed")->capture_default_str();
  app.add_option("--tasks", options.tasks, "tasks of each cluster; 0: as the seed draws")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_flag("--transcript", is_told, "print the transcript of the first seed, and end");
  app.add_flag("--no-faults", is_calm, "nothing happens to the tasks");
  app.add_flag("--collectives", are_collectives,
               "replicas that meet in collectives, instead of programs of all kinds");
  app.add_option("--scale", sizes,
                 "print what clusters of so many tasks say to themselves, and end: --scale 10 100")
      ->check(CLI::Range(2, 10'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadCall;
  }
  options.seconds = length;
  if (is_calm) options.faults = FuzzOptions::Faults::none;

  const Fuzz fuzz =
      are_collectives ? millrace::simulation::fuzz_collectives : millrace::simulation::fuzz;
  millrace::OpRegistry ops;
  if (const auto status = millrace::register_all_ops(ops); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    return kBadCall;
  }
  if (!sizes.empty()) {
    std::printf("%s", millrace::simulation::scale_table(ops, sizes).c_str());
    return 0;
  }
  if (is_told) {
    print_transcript(fuzz, ops, options);
    return 0;
  }
  double done = 0;
  uint64_t calls = 0, failed = 0, messages = 0;
  for (; done < seconds; ++options.seed) {
    const FuzzOutcome outcome = fuzz(ops, options);
    done += outcome.seconds;
    calls += outcome.calls;
    failed += outcome.failed;
    messages += outcome.messages;
    std::fprintf(stderr, "\rseed %llu: %.0f of %.0f s, %llu calls, %llu failed, %llu messages  ",
                 static_cast<unsigned long long>(options.seed), done, seconds,
                 static_cast<unsigned long long>(calls), static_cast<unsigned long long>(failed),
                 static_cast<unsigned long long>(messages));
    if (outcome.complaints.empty()) continue;
    std::fprintf(stderr, "\n");
    print_transcript(fuzz, ops, options);
    for (const std::string& complaint : outcome.complaints)
      std::fprintf(stderr, "seed %llu, %d tasks: %s\n",
                   static_cast<unsigned long long>(options.seed), outcome.tasks, complaint.c_str());
    return kComplaint;
  }
  std::fprintf(stderr, "\n");
  return 0;
}
