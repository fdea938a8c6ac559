// Counts every word of texts, and gives the counts to a task that reads them out of a queue.
//
//   millrace run --job files=1 --job map=2 --job reduce=2 --job read=1 --until files,read
//       --restart map=100 --restart reduce=100 -- build/bin/words_into_queue 'texts/*.txt' made
//
// Each count is in the queue once, whichever of map and reduce are killed meanwhile. When all are
// in, the queue is closed, and the folder `made` appears with what was counted beside.
#include <millrace/millrace.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace millrace;

void words(std::string_view line, mapreduce::Pairs& pairs) {
  for (std::string_view word : mapreduce::words_of(line)) pairs.add(word, 1);
}

Status read(const ServerOptions& task, const mapreduce::ResultQueue& results) {
  MR_ASSIGN(const auto server, Server::start(task));
  GraphBuilder graph(server->runtime()->ops());
  const auto taken = ops::queue_dequeue_v2(graph.root(), results.build(graph.root()),
                                           {DType::string, DType::string});
  MR_ASSIGN(const auto session, Session::create(*server, {.device_filters = {"/job:read"}}));
  MR_TRY(session->extend(graph));
  std::vector<std::pair<int64_t, std::string>> counts;  // as a negative number, and the word
  int64_t total = 0;
  for (;;) {
    const auto element = session->run({}, {taken[0].name(), taken[1].name()});
    if (element.status().code() == Code::out_of_range) break;  // that were all
    MR_TRY(element);
    MR_ASSIGN(const int64_t count, mapreduce::number_of((*element)[1].item<std::string>()));
    counts.emplace_back(-count, (*element)[0].item<std::string>());
    total += count;
  }
  std::sort(counts.begin(), counts.end());
  std::printf("%zu words, %lld in all\n", counts.size(), static_cast<long long>(total));
  for (size_t i = 0; i < std::min<size_t>(counts.size(), 3); ++i)
    std::printf("%s %lld\n", counts[i].second.c_str(), static_cast<long long>(-counts[i].first));
  server->end({});
  return {};
}

int main(int argc, char** argv) {
  const auto task = launched_task(std::getenv);
  if (!task.ok() || argc != 3) {
    std::fprintf(stderr, "this is started as a task of a cluster, with texts and a folder\n");
    return 2;
  }
  const mapreduce::ResultQueue results{.name = "counts", .task = "/job:read/task:0"};
  if (task->job != "read")
    return mapreduce::as_program({.input = argv[1],
                                  .map = words,
                                  .reduce = mapreduce::sum(),
                                  .output = mapreduce::queue_output(argv[2], results)});
  const Status status = read(*task, results);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
