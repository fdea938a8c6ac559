#include "millrace/launch/local_gathering.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

namespace millrace {
namespace {

Descriptor connected_to(int port) {
  Descriptor descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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

}  // namespace
}  // namespace millrace
