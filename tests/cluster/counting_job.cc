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
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "millrace/api/ops/state.h"
#include "millrace/mapreduce/run.h"
#include "millrace/session/session.h"

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

// Task 0 goes on when another has come, which does nothing until it is taken away.
void change(const Ways& ways, std::string_view kind) {
  if (!ways.has("changes")) return;
  const auto task = launched_task(std::getenv);
  if (!task.ok()) std::abort();
  const std::string came = str_cat(kind, "-came");
  if (task->task == 0) {
    if (ways.is_first(str_cat(kind, "-waits"))) ways.wait_for(came);
  } else if (ways.is_first(came)) {
    ways.wait_for("never");
  }
}

// So that there is work as long as somebody is to be struck.
void dawdle(const Ways& ways) {
  if (ways.has("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

Status words(const Ways& ways, std::string_view line, mapreduce::Pairs& pairs) {
  change(ways, "map");
  dawdle(ways);
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
  change(ways, "reduce");
  dawdle(ways);
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

mapreduce::ResultQueue counts_queue() {
  return {.name = "counts", .task = "/job:read/task:0", .capacity = 4};
}

// The process numbers that `reduce` tasks have left, each told once.
std::vector<int> reducers(const Ways& ways) {
  std::vector<int> pids;
  for (const char* task : {"pid-0", "pid-1"}) {
    if (!ways.is_marked(task)) continue;
    std::ifstream(ways.mark(task)) >> pids.emplace_back();
    std::filesystem::remove(ways.mark(task));
  }
  return pids;
}

// What the reader does to those who put in, when it has so many.
void disturb(const Ways& ways, size_t num_read, int* stopped) {
  if (ways.has("dies_putting") && (num_read == 10 || num_read == 100))
    for (const int pid : reducers(ways)) ::kill(pid, SIGKILL);
  if (ways.has("stops_putting") && num_read == 10) {
    *stopped = reducers(ways).front();
    ::kill(*stopped, SIGSTOP);
  }
  if (ways.has("stops_putting") && num_read == 200) ::kill(*stopped, SIGCONT);
}

Status read(const Ways& ways, Server& server) {
  GraphBuilder graph(server.runtime()->ops());
  const Scope here = graph.root().device("/job:read/task:0");
  const auto taken =
      ops::queue_dequeue_v2(here, counts_queue().build(here), {DType::string, DType::string});
  MR_ASSIGN(const auto session, Session::create(server, {.device_filters = {"/job:read"}}));
  MR_TRY(session->extend(graph));
  std::string lines;
  int stopped = 0;
  for (size_t count = 1;; ++count) {
    const auto element = session->run({}, {taken[0].name(), taken[1].name()});
    if (element.status().code() == Code::out_of_range) {
      std::ofstream(ways.mark("read")) << lines;
      mapreduce::print_line(str_cat("read ", count - 1));
      return {};
    }
    MR_TRY(element);
    str_append(&lines, (*element)[0].item<std::string>(), "\t", (*element)[1].item<std::string>(),
               "\n");
    disturb(ways, count, &stopped);
    dawdle(ways);
  }
}

// As the task that reads, or as one that makes the job.
Status run_into_queue(const mapreduce::Job& job, const Ways& ways) {
  MR_ASSIGN(const ServerOptions task, launched_task(std::getenv));
  if (task.job == "read") {
    MR_ASSIGN(const auto server, Server::start(task));
    Status done = read(ways, *server);
    server->end(done);
    return done;
  }
  if (task.job == "reduce") std::ofstream(ways.mark(str_cat("pid-", task.task))) << getpid();
  return mapreduce::run(job).status();
}

Status run(const std::string& texts, const std::string& output, const Ways& ways) {
  bool is_impatient = false;
  for (const char* way : {"stops", "stops_putting", "changes", "slow"})
    is_impatient = is_impatient || ways.has(way);
  const mapreduce::Job job{
      .input = mapreduce::text_files(texts, {.split = 200}),
      .map = [&](std::string_view line,
                 mapreduce::Pairs& pairs) { return words(ways, line, pairs); },
      .combine = mapreduce::sum(),
      .reduce = [&](std::string_view word, mapreduce::Values& counts,
                    mapreduce::Results& results) { return total(ways, word, counts, results); },
      .output = ways.has("into_queue") ? mapreduce::queue_output(output, counts_queue())
                                       : mapreduce::text_output(output),
      .memory = 1 << 12,
      .lease = std::chrono::seconds(is_impatient ? 1 : 30),
      .attempts = ways.has("always_dies") ? 3 : 20,
      .backups = ways.has("hangs") ? std::optional(std::chrono::milliseconds(0)) : std::nullopt,
      // What the owner says, which is also where it may die: in the midst of the job.
      .say =
          [&](std::string_view line) {
            mapreduce::print_line(line);
            const bool is_late = line.find("put into the queue") != std::string_view::npos;
            const bool reduces = line.find("partitions reduced") != std::string_view::npos;
            if (ways.has("dies_owning_late") && reduces && ways.is_first("late owner")) die();
            if (ways.has("dies_while_others_put_in") && is_late && ways.is_first("late")) die();
            if (ways.has("dies_owning") && !line.starts_with("0 of") && ways.is_first("owner"))
              die();
          },
      .pause = std::chrono::milliseconds(0)};
  if (ways.has("into_queue")) return run_into_queue(job, ways);
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
