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

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

using namespace millrace;

Result<int64_t> words_in(const std::string& path) {
  std::ifstream file(path);
  int64_t count = 0;
  for (std::string word; file >> word;) ++count;
  if (!file.eof()) return not_found("can't read the text '", path, "'");
  return count;
}

Status run(Server& server, const ServerOptions& task, const std::string& list_of_texts) {
  // A map task must not wait for its siblings: one that came late would find the first ones gone.
  MR_ASSIGN(const auto session,
            Session::create(server, {.device_filters = {"/job:files", "/job:reduce"}}));

  GraphBuilder graph(server.runtime()->ops());
  const Scope files = graph.root().device("/job:files/task:0");
  const Scope reduce = graph.root().device("/job:reduce/task:0");
  const auto paths = ops::fifo_queue(files, {DType::string}, {.shared_name = "paths"});
  const auto total =
      ops::variable_v2(reduce.with_name("total"), PartialShape::scalar(), DType::i64);
  const auto path = ops::placeholder(files, DType::string);
  const auto put = ops::queue_enqueue(files, paths, {path});
  const auto end = ops::queue_close(files, paths);
  const auto take = ops::queue_dequeue(files, paths, {DType::string})[0];
  const auto zero = ops::assign(reduce, total, 0);
  const auto count = ops::placeholder(reduce, DType::i64);
  const auto add = ops::assign_add(reduce, total, count, {.use_locking = true});
  // Holds one element fewer than there are map tasks: who finds it empty is the last.
  const auto others = ops::fifo_queue(reduce, {DType::i32}, {.shared_name = "others"});
  const std::vector<int> all_but_one(std::max(task.cluster.num_tasks("map"), 1) - 1);
  const auto fill = ops::queue_enqueue_many(reduce, others, {all_but_one});
  const auto prepare = ops::queue_close(reduce.after({zero.op(), fill}), others);
  const auto take_other = ops::queue_dequeue(reduce, others, {DType::i32})[0];
  MR_TRY(session->extend(graph));

  if (task.job == "files") {
    // Before the first path, so that a map task that has one finds all that it needs.
    MR_TRY(session->run({}, {}, {.targets = {prepare.name()}}));
    std::ifstream lines(list_of_texts);
    for (std::string line; lines >> std::ws && std::getline(lines, line);)
      MR_TRY(session->run({{path.name(), Tensor::scalar(line)}}, {}, {.targets = {put.name()}}));
    if (!lines.eof()) return not_found("can't read the list of texts '", list_of_texts, "'");
    MR_TRY(session->run({}, {}, {.targets = {end.name()}}));
  }
  if (task.job == "files" || task.job == "reduce") {
    server.join();
    return {};
  }

  for (;;) {
    const auto taken = session->run({}, {take.name()});
    if (taken.status().code() == Code::out_of_range) break;
    MR_TRY(taken);
    const std::string text = (*taken)[0].item<std::string>();
    MR_ASSIGN(const int64_t words, words_in(text));
    MR_TRY(session->run({{count.name(), Tensor::scalar(words)}}, {add.name()}));
    std::cout << words << " words in " << text << std::endl;
  }
  if (session->run({}, {take_other.name()}).status().code() != Code::out_of_range) return {};
  MR_ASSIGN(const auto values, session->run({}, {total.name()}));
  std::cout << "total: " << values[0].item<int64_t>() << " words" << std::endl;
  return {};
}

int main(int argc, char** argv) {
  const auto task = launched_task(std::getenv);
  const auto server = task.ok() ? Server::start(*task) : task.status();
  const Status status =
      server.ok() ? run(**server, *task, argc > 1 ? argv[1] : "filenames.txt") : server.status();
  if (server.ok()) (*server)->end(status);
  // Said before the server goes, which ends what the other tasks do with it.
  if (!status.ok()) std::cerr << status.to_string() << std::endl;
  return status.ok() ? 0 : 1;
}
