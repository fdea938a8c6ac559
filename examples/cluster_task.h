// What the examples begin and end with: which task this is, its server and its session.
#pragma once

#include <millrace/millrace.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

// Where a program runs: a process by itself, or one task of a cluster.
struct Replica {
  std::unique_ptr<millrace::Server> server = nullptr;  // none: alone
  millrace::ServerOptions options = {};                // as TF_CONFIG says

  bool is_chief() const { return options.task == 0; }
  int num_tasks(const char* job) const { return options.cluster.num_tasks(job); }

  // Where nodes go: variables to the ps, all else to this task.
  millrace::Scope place(const millrace::Scope& root) const {
    if (!server) return root;
    return millrace::replica_device(root,
                                    {.cluster = options.cluster, .worker_device = own_device()});
  }
  std::string own_device() const {
    return millrace::str_cat("/job:", options.job, "/task:", options.task);
  }

  // A session with the graph in it, in which all variables have values: given by the chief.
  millrace::Result<std::unique_ptr<millrace::Session>> session(
      const millrace::GraphBuilder& graph, const millrace::FirstValues& first) const {
    // A worker waits for ps alone: who comes late would find those that were quick gone.
    const std::string own = own_device();
    MR_ASSIGN(auto made,
              server ? millrace::Session::create(*server, {.device_filters = {"/job:ps", own}})
                     : millrace::Session::create(""));
    MR_TRY(made->extend(graph));
    if (is_chief()) {
      MR_TRY(first.give(*made));
    } else {
      MR_TRY(first.wait(*made, millrace::Clock::real(), std::chrono::minutes(10)));
    }
    return made;
  }
};

using Program = millrace::Status (*)(const Replica&);

// Runs a program in one process.
inline int alone(Program program) {
  const millrace::Status status = program({});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}

// Runs it as the task that TF_CONFIG says. Tasks that have no program of their own stay here until
// they are stopped.
inline int as_replica(Program program) {
  const auto run = [&]() -> millrace::Status {
    Replica task;
    MR_ASSIGN(task.options, millrace::launched_task(std::getenv));
    MR_ASSIGN(task.server, millrace::Server::start(task.options));
    if (task.options.job == "ps" || task.options.job == "tower") {
      task.server->join();
      return {};
    }
    millrace::Status status = program(task);
    task.server->end(status);
    return status;
  };
  const millrace::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
