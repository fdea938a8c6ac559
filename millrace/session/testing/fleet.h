// Servers in this process that find each other over real sockets. For tests only.
#pragma once

#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/api/input.h"
#include "millrace/api/ops.h"
#include "millrace/session/server.h"
#include "millrace/session/session.h"
#include "millrace/transport/sockets/listening_socket.h"

namespace millrace::testing {

inline std::shared_ptr<Runtime> runtime() {
  static const std::shared_ptr<Runtime> kRuntime = Runtime::create({.threads = 2});
  return kRuntime;
}

// A socket on a free port, to be handed to a server: the cluster can name the port beforehand.
class Port {
 public:
  Port() : socket_(ListeningSocket::bind("localhost", 0).value()) {}
  int number() const { return socket_.port(); }
  std::string address() const { return str_cat("localhost:", number()); }
  // For one server.
  int hand_over() { return dup(socket_.descriptor().get()); }

 private:
  ListeningSocket socket_;
};

// Tasks "a:0" and "b:0" … on ports that are held from the beginning, so that they can be started in
// any order.
struct Fleet {
  explicit Fleet(std::vector<std::string> jobs, std::shared_ptr<Runtime> on = runtime())
      : on(std::move(on)) {
    for (const std::string& job : jobs) {
      ports[job] = std::make_unique<Port>();
      CHECK(cluster.add_job(job, {ports[job]->address()}).ok());
    }
  }
  // On the runtime of the fleet, unless another one is given.
  Server& start(const std::string& job, std::shared_ptr<Runtime> other = nullptr) {
    ServerOptions options;
    options.cluster = cluster;
    options.job = job;
    options.listen_fd = ports[job]->hand_over();
    auto server = Server::start(std::move(options), other ? other : on);
    REQUIRE_MESSAGE(server.ok(), server.status().to_string());
    servers[job] = std::move(server).value();
    return *servers[job];
  }
  const std::shared_ptr<Runtime> on;
  std::map<std::string, std::unique_ptr<Port>> ports;
  ClusterSpec cluster;
  std::map<std::string, std::unique_ptr<Server>> servers;
};

// The tensors, or the error.
template <class T>
std::string text(const Result<T>& result) {
  if (!result.ok()) return result.status().to_string();
  std::string all;
  for (const Tensor& tensor : *result)
    str_append(&all, all.empty() ? "" : " | ", tensor.to_string());
  return all;
}

// A cluster of one task, on a free port.
inline ServerOptions alone() {
  ServerOptions options;
  CHECK(options.cluster.add_job("solo", {"localhost:0"}).ok());
  options.job = "solo";
  return options;
}

}  // namespace millrace::testing
