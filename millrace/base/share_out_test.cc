// share_out: every piece once, whoever does it, and nothing touched once it has returned.
#include "millrace/base/share_out.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/testing/held_tasks.h"
#include "millrace/base/thread_pool.h"

namespace millrace {
namespace {

TEST_CASE("without a runner, and where nobody is free, the caller does all pieces in order") {
  testing::HeldTasks busy;
  for (Runner* runner : {static_cast<Runner*>(nullptr), static_cast<Runner*>(&busy)}) {
    std::vector<int64_t> done;
    CHECK(share_out(runner, 4, [&](int64_t piece) {
            done.push_back(piece);
            return Status();
          }).ok());
    CHECK(done == std::vector<int64_t>{0, 1, 2, 3});
  }
}

TEST_CASE("who comes when the work is over touches nothing of it") {
  testing::HeldTasks late;
  {
    const auto done = std::make_unique<int>(0);
    CHECK(share_out(&late, 3, [&](int64_t) {
            ++*done;
            return Status();
          }).ok());
    CHECK(*done == 3);
  }
  CHECK(late.size() == 1);  // one was called, who would have called the next
  late.run();
}

TEST_CASE("a piece that goes wrong ends the rest, and its error is the answer") {
  std::vector<int64_t> done;
  const Status answer = share_out(nullptr, 5, [&](int64_t piece) -> Status {
    done.push_back(piece);
    return piece == 2 ? invalid("piece 2") : Status();
  });
  CHECK(answer.message() == "piece 2");
  CHECK(done == std::vector<int64_t>{0, 1, 2});
  testing::HeldTasks busy;
  done.clear();
  CHECK(share_out(&busy, 5, [&](int64_t piece) -> Status {
          done.push_back(piece);
          return invalid("piece ", piece);
        }).message() == "piece 0");
  CHECK(done == std::vector<int64_t>{0});
}

TEST_CASE("pieces are done side by side, each once") {
  ThreadPool pool(3);
  // Two pieces that wait for each other: one thread alone would never get past the first.
  std::atomic<int> here = 0;
  CHECK(share_out(&pool, 2, [&](int64_t) {
          ++here;
          while (here < 2) std::this_thread::yield();
          return Status();
        }).ok());
  std::vector<std::atomic<int>> times(1000);
  CHECK(share_out(&pool, 1000, [&](int64_t piece) {
          ++times[static_cast<size_t>(piece)];
          return Status();
        }).ok());
  for (const auto& count : times) CHECK(count == 1);
}

}  // namespace
}  // namespace millrace
