// Counts the words of files on a cluster: one `files` task, one `reduce` task, any number of
// `map`s.
//
//   millrace run --job files=1 --job reduce=1 --job map=2 --until map -- build/bin/word_count LIST
//
// LIST is a file with a path per line. Every task runs this program and builds the same nodes; the
// device and the name of a queue or variable say that it is the same one. `files` puts the paths
// into a queue; `map` tasks take them out, count, and add to a variable that `reduce` owns. The
// last map task prints the total. Tasks may start in any order.
#include <millrace/millrace.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

using namespace millrace;

int64_t words_in(const std::string& path) {
  std::ifstream file(path);
  int64_t count = 0;
  for (std::string word; file >> word;) ++count;
  return count;
}

Clock::Time after(std::chrono::milliseconds pause) { return Clock::real().now() + pause; }

Status run(const std::string& list_of_texts) {
  MR_ASSIGN(const ServerOptions task, launched_task(std::getenv));
  MR_ASSIGN(const auto server, Server::start(task));
  // A map task must not wait for its siblings: one that came late would find the first ones gone.
  MR_ASSIGN(const auto session,
            Session::create(*server, {.device_filters = {"/job:files", "/job:reduce"}}));

  GraphBuilder graph(server->runtime()->ops());
  const Scope files = graph.root().device("/job:files/task:0");
  const Scope reduce = graph.root().device("/job:reduce/task:0");
  const Output paths =
      ops::fifo_queue(files, {DType::string}, {.capacity = 10, .shared_name = "paths"});
  const Output total =
      ops::variable_v2(reduce.with_name("total"), PartialShape::scalar(), DType::i64);
  // Holds one element fewer than there are map tasks: who finds it empty is the last.
  const Output others = ops::fifo_queue(reduce, {DType::boolean}, {.shared_name = "others"});
  const Output path = ops::placeholder(graph.root(), DType::string);
  const Output count = ops::placeholder(graph.root(), DType::i64);
  const Operation put = ops::queue_enqueue(files, paths, {path});
  const Operation end = ops::queue_close(files, paths);
  const Output take = ops::queue_dequeue(files, paths, {DType::string})[0];
  const Output zero = ops::assign(reduce, total, 0);
  const Output add = ops::assign_add(reduce, total, count, {.use_locking = true});
  const Operation add_other = ops::queue_enqueue(reduce, others, {true});
  const Operation end_others = ops::queue_close(reduce, others);
  const Output is_not_last = ops::queue_dequeue(reduce, others, {DType::boolean})[0];
  MR_TRY(session->extend(graph));

  if (task.job == "files") {
    std::ifstream lines(list_of_texts);
    for (std::string line; std::getline(lines, line);)
      MR_TRY(session->run({{path.name(), Tensor::scalar(line)}}, {}, {.targets = {put.name()}}));
    MR_TRY(session->run({}, {}, {.targets = {end.name()}}));
    server->join();
  } else if (task.job == "reduce") {
    MR_TRY(session->run({}, {zero.name()}));
    for (int map = 1; map < task.cluster.num_tasks("map"); ++map)
      MR_TRY(session->run({}, {}, {.targets = {add_other.name()}}));
    MR_TRY(session->run({}, {}, {.targets = {end_others.name()}}));
    while (!server->join(after(std::chrono::seconds(2)))) {
      MR_ASSIGN(const auto values, session->run({}, {total.name()}));
      std::cout << values[0].item<int64_t>() << " words so far" << std::endl;
    }
  } else {
    while (session->run({}, {total.name()}).status().code() == Code::failed_precondition)
      server->join(after(std::chrono::milliseconds(50)));  // `reduce` has not begun yet
    for (;;) {
      const auto taken = session->run({}, {take.name()});
      if (taken.status().code() == Code::out_of_range) break;
      MR_TRY(taken);
      const std::string file = (*taken)[0].item<std::string>();
      const int64_t words = words_in(file);
      MR_TRY(session->run({{count.name(), Tensor::scalar(words)}}, {add.name()}));
      std::cout << words << " words in " << file << std::endl;
    }
    if (session->run({}, {is_not_last.name()}).status().code() != Code::out_of_range) return {};
    MR_ASSIGN(const auto values, session->run({}, {total.name()}));
    std::cout << "total: " << values[0].item<int64_t>() << " words" << std::endl;
  }
  return {};
}

int main(int argc, char** argv) {
  const Status status = run(argc > 1 ? argv[1] : "filenames.txt");
  if (!status.ok()) std::cerr << status.to_string() << std::endl;
  return status.ok() ? 0 : 1;
}
