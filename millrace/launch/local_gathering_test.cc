#include "millrace/launch/local_gathering.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/cluster/host_port.h"
#include "millrace/launch/local_join.h"
#include "millrace/launch/local_ports.h"

namespace millrace {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor connected_to(int port) {
  Descriptor descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  REQUIRE(connect(descriptor.number(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) == 0);
  return descriptor;
}

TEST_CASE("more tasks than are let in at once all get in") {
  constexpr int kTasks = 300;
  const JobSpec job{.roles = {{"map", kTasks}}, .command = {"x"}};
  LocalGathering gathering = LocalGathering::listen(job, "127.0.0.1", "t").value();
  std::vector<Descriptor> tasks;
  for (int i = 0; i < kTasks; ++i) {
    tasks.push_back(connected_to(gathering.port()));
    const std::string line = to_line(Arrival{"t", {"map", 0, i}, str_cat("a:", i + 1)});
    REQUIRE(send(tasks.back().number(), line.data(), line.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(line.size()));
  }
  for (int turns = 0; turns < 3 && !gathering.complete(); ++turns) (void)gathering.turn({});
  CHECK(gathering.complete());
}

TEST_CASE("a supervisor whose machine does not answer keeps a task no longer than its patience") {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(listener.number(), generic, size) == 0);
  REQUIRE(listen(listener.number(), 0) == 0);
  REQUIRE(getsockname(listener.number(), generic, &size) == 0);
  const int port = ntohs(address.sin_port);
  // There is room for one, which nobody lets in.
  const Descriptor first = connected_to(port);
  const JoinRequest request{.supervisor = str_cat("127.0.0.1:", port),
                            .token = "t",
                            .task = {"map", 0, 0},
                            .patience = std::chrono::milliseconds(200)};
  CHECK(join_job(request, Clock::real()).status().code() == Code::unavailable);
}

// join_job(), answered by the gathering until it returns.
Result<JoinedTask> join_at(LocalGathering& gathering) {
  std::atomic<bool> is_over = false;
  std::thread supervisor([&] {
    while (!is_over) {
      std::vector<pollfd> events;
      gathering.add_descriptors(events);
      poll(events.data(), events.size(), 20);
      (void)gathering.turn(Clock::real().now());
    }
  });
  Result<JoinedTask> joined = join_job({.supervisor = str_cat("127.0.0.1:", gathering.port()),
                                        .token = "t",
                                        .task = {"map", 0, 0},
                                        .patience = std::chrono::seconds(20)},
                                       Clock::real());
  is_over = true;
  supervisor.join();
  return joined;
}

TEST_CASE("a task that comes back serves where it did, unless somebody else has its port") {
  const JobSpec job{.roles = {{"map", 1}}, .command = {"x"}};
  LocalGathering gathering = LocalGathering::listen(job, "127.0.0.1", "t").value();
  const std::string address = join_at(gathering).value().address;
  const int port = HostPort::parse(address).value().port;
  {
    const HeldPort other = HeldPort::bind("127.0.0.1", port).value();
    REQUIRE(listen(other.descriptor(), 1) == 0);
    gathering.begins(0, 2);
    const Status fault = join_at(gathering).status();
    CHECK(fault.message().starts_with(str_cat("map:0 is to come back to ", address, ": port ")));
  }
  gathering.begins(0, 3);
  const JoinedTask back = join_at(gathering).value();
  CHECK(back.address == address);
  CHECK(back.port.port() == port);
  CHECK(back.all.environment == std::vector<EnvironmentEntry>{{"MILLRACE_ATTEMPT", "3"}});
}

}  // namespace
}  // namespace millrace
