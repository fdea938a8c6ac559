// Where work goes that is best done by the thread that reads.
#include "millrace/transport/direct/reader.h"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"
#include "millrace/transport/direct/testing/served.h"

namespace millrace::transport {
namespace {

using testing::Client;
using testing::Served;

// The thread on which a task that is posted to it runs.
std::thread::id thread_of(Runner& runner) {
  std::atomic<bool> has_run = false;
  std::thread::id thread;
  runner.post([&] {
    thread = std::this_thread::get_id();
    has_run = true;
    has_run.notify_one();
  });
  has_run.wait(false);
  return thread;
}

TEST_CASE("as long as nobody reads, what is posted runs elsewhere") {
  ThreadPool pool(1);
  const DirectThreads threads;
  Reader reader(threads.poller(), pool);
  CHECK(thread_of(reader) == thread_of(pool));
}

TEST_CASE("what is posted runs on a thread that reads, and on no other one") {
  ThreadPool pool(1);
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  Reader reader(served.threads().poller(), pool);
  CHECK(thread_of(reader) != thread_of(pool));
  CHECK(thread_of(reader) != std::this_thread::get_id());
}

TEST_CASE("after the last connection, when nobody reads any more, it runs elsewhere again") {
  ThreadPool pool(1);
  auto served = std::make_unique<Served>();
  Client client(served->uri());
  client.wait_until_up();
  Reader reader(served->threads().poller(), pool);
  served.reset();
  CHECK(thread_of(reader) == thread_of(pool));
}

}  // namespace
}  // namespace millrace::transport
