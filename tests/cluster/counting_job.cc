// The word count of test_mapreduce_jobs.py in C++, whose tasks die or stop where the test says:
// each way once.
//
//   counting_job TEXTS OUTPUT MARKS WAY ...
//
// counting_job.py tells of the ways; MARKS is a folder that remembers which have been gone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "millrace/mapreduce/run.h"

namespace {

using namespace millrace;

struct Ways {
  std::string marks;
  std::set<std::string, std::less<>> ways;

  bool has(std::string_view way) const { return ways.contains(way); }
  std::string mark(std::string_view name) const { return str_cat(marks, "/", name); }
  bool is_marked(std::string_view name) const {
    struct stat ignored {};
    return ::stat(mark(name).c_str(), &ignored) == 0;
  }
  // Whether nobody has been here before, in any process.
  bool is_first(std::string_view name) const {
    const int fd = ::open(mark(name).c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0) return false;
    const std::string pid = std::to_string(getpid());
    const bool is_written = ::write(fd, pid.data(), pid.size()) == static_cast<ssize_t>(pid.size());
    ::close(fd);
    return is_written;
  }
  // Alive, with its heartbeats, and no further: as on a machine that is slow.
  void wait_for(std::string_view name) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_marked(name)) {
      if (std::chrono::steady_clock::now() > end) std::abort();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
};

void die() {
  std::fflush(stdout);
  ::kill(getpid(), SIGKILL);
}

Status words(const Ways& ways, std::string_view line, mapreduce::Pairs& pairs) {
  const std::string_view number = *mapreduce::words_of(line).begin();
  if (ways.has("dies_mapping") && (number == "37" || number == "190") &&
      ways.is_first(str_cat("map-", number)))
    die();
  if (ways.has("always_dies") && number == "37") die();
  if (ways.has("stops") && number == "37") {
    if (ways.is_first("stopped")) {
      ::kill(getpid(), SIGSTOP);
    } else if (ways.is_first("woken")) {
      int pid = 0;
      std::ifstream(ways.mark("stopped")) >> pid;
      ::kill(pid, SIGCONT);
    }
  }
  if (ways.has("hangs") && number == "37" && pairs.place().path.ends_with("a.txt")) {
    if (ways.is_first("hanging")) {
      ways.wait_for("helped");
    } else {
      static_cast<void>(ways.is_first("helped"));
    }
  }
  if (ways.has("raises") && number == "37") return invalid("not this one");
  pairs.count("lines seen");
  for (const std::string_view word : mapreduce::words_of(line)) pairs.add(word, 1);
  return {};
}

Status total(const Ways& ways, std::string_view word, mapreduce::Values& counts,
             mapreduce::Results& results) {
  if (ways.has("dies_reducing") && word == "and" && ways.is_first("reduce")) die();
  results.count("words seen");
  int64_t sum = 0;
  for (std::string_view count; counts.next(&count);) {
    MR_ASSIGN(const int64_t number, mapreduce::number_of(count));
    sum += number;
  }
  results.add(sum);
  return {};
}

Status run(const std::string& texts, const std::string& output, const Ways& ways) {
  const mapreduce::Job job{
      .input = mapreduce::text_files(texts, {.split = 200}),
      .map = [&](std::string_view line,
                 mapreduce::Pairs& pairs) { return words(ways, line, pairs); },
      .combine = mapreduce::sum(),
      .reduce = [&](std::string_view word, mapreduce::Values& counts,
                    mapreduce::Results& results) { return total(ways, word, counts, results); },
      .output = output,
      .memory = 1 << 12,
      .lease = std::chrono::seconds(ways.has("stops") ? 1 : 30),
      .attempts = ways.has("always_dies") ? 3 : 20,
      .backups = ways.has("hangs") ? std::optional(std::chrono::milliseconds(0)) : std::nullopt,
      // What the owner says, which is also where it may die: in the midst of the job.
      .say =
          [&](std::string_view line) {
            mapreduce::print_line(line);
            if (ways.has("dies_owning") && !line.starts_with("0 of") && ways.is_first("owner"))
              die();
          },
      .pause = std::chrono::milliseconds(0)};
  MR_ASSIGN(const mapreduce::Made made, mapreduce::run(job));
  if (made.is_published)
    mapreduce::print_line(str_cat("lines ", made.counters.at("lines seen"), " words ",
                                  made.counters.at("words seen")));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const Status status = run(argv[1], argv[2], {argv[3], {argv + 4, argv + argc}});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
