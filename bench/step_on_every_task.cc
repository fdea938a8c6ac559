// Runs one step that has a part on every task of the job, says so, and ends: what a program of a
// job must have before it can do anything together. The first task of the role `chief` asks, all
// others serve.
//
//   millrace run --job chief=1 --job worker=63 --until chief -- build/bin/step_on_every_task
#include <millrace/millrace.h>

#include <cstdlib>
#include <iostream>

using namespace millrace;

Status run(Server& server, const ServerOptions& task) {
  if (task.job != "chief") {
    server.join();
    return {};
  }
  MR_ASSIGN(const auto session, Session::create(server));
  GraphBuilder graph(server.runtime()->ops());
  InputList ones;
  for (const auto& [job, tasks] : task.cluster.jobs())
    for (const auto& [index, address] : tasks) {
      const Scope there = graph.root().device("/job:" + job + "/task:" + std::to_string(index));
      // A variable, so that no part of the step can be folded away before it is there.
      const auto one = ops::variable_v2(there, PartialShape::scalar(), DType::i64);
      ones.push_back(ops::assign(there, one, 1));
    }
  const auto sum = ops::add_n(graph.root().device("/job:chief/task:0"), ones);
  MR_TRY(session->extend(graph));
  MR_ASSIGN(const auto values, session->run({}, {sum.name()}));
  std::cout << "a step on " << values[0].item<int64_t>() << " tasks" << std::endl;
  return {};
}

int main() {
  const auto task = launched_task(std::getenv);
  const auto server = task.ok() ? Server::start(*task) : task.status();
  const Status status = server.ok() ? run(**server, *task) : server.status();
  if (server.ok()) (*server)->end(status);
  if (!status.ok()) std::cerr << status.to_string() << std::endl;
  return status.ok() ? 0 : 1;
}
