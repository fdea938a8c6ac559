#include "millrace/transport/direct/direct_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/transport/direct/frame.h"
#include "millrace/transport/sockets/socket_options.h"

namespace millrace::transport {
namespace {

// Takes the other side's greeting, which is there, and gives ours.
bool greet(const FileDescriptor& connection) {
  std::array<char, kGreeting.size()> theirs;
  return ::recv(connection.get(), theirs.data(), theirs.size(), MSG_DONTWAIT) ==
             static_cast<ssize_t>(theirs.size()) &&
         ::send(connection.get(), kGreeting.data(), kGreeting.size(),
                MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(kGreeting.size());
}

void sleep_a_millisecond() { ::poll(nullptr, 0, 1); }

}  // namespace

DirectServer::DirectServer(const Host& host, const ServedMethods& methods,
                           std::shared_ptr<RunningCalls> running, const DirectThreads& threads,
                           Clock::Duration patience)
    : poller_(threads.poller()),
      intake_(threads.intake()),
      service_(std::make_shared<const LineService>(
          LineService{.host = host,
                      .methods = methods,
                      .running = std::move(running),
                      .rounds = std::make_shared<Rounds>(host, patience),
                      .goes_on = std::make_shared<AfterEvent>(host.pool)})) {}

DirectServer::~DirectServer() { stop(service_->host.clock.now()); }

void DirectServer::take(FileDescriptor connection) {
  if (!greet(connection)) return;
  notice_loss(connection.get());
  const auto line = std::make_shared<ServedLine>(std::move(connection), service_, intake_);
  if (const Status status = poller_->add(line); !status.ok())
    return service_->host.log.warning("a connection is dropped: ", status.message());
  service_->rounds->add(line);
  MutexLock lock(mutex_);
  std::erase_if(lines_, [](const auto& weak) { return weak.expired(); });
  lines_.push_back(line);
}

void DirectServer::stop(Clock::Time until) {
  service_->rounds->stop();
  std::vector<std::shared_ptr<ServedLine>> lines;
  {
    MutexLock lock(mutex_);
    for (const auto& weak : lines_)
      if (auto line = weak.lock()) lines.push_back(std::move(line));
    lines_.clear();
  }
  const auto is_flushed = [](const auto& line) { return line->is_flushed(); };
  while (!std::ranges::all_of(lines, is_flushed) && service_->host.clock.now() < until)
    sleep_a_millisecond();
  for (const auto& line : lines) line->hang_up();
}

}  // namespace millrace::transport
