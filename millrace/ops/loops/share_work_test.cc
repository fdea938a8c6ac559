// Work that is shared: every piece once, an error that ends it, and pools that don't help.
#include "millrace/ops/loops/share_work.h"

#include <atomic>
#include <deque>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"

namespace millrace {
namespace {

// Keeps what is posted and runs it when told: a pool whose threads are all busy.
class BusyPool final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  size_t run_all() {
    size_t number = 0;
    for (; !tasks_.empty(); ++number) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
    return number;
  }

 private:
  std::deque<Task> tasks_;
};

struct OneStep {
  Cancellation cancellation;
  StepContext step{.cancellation = &cancellation};
  KernelContext context{step, "node", {}, {}, {}};
};

TEST_CASE("every piece is computed once, by however many threads there are") {
  OneStep f;
  ThreadPool pool(4);
  for (Runner* shared : {static_cast<Runner*>(nullptr), static_cast<Runner*>(&pool)}) {
    f.step.pool = shared;
    for (const int64_t pieces : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> times(static_cast<size_t>(pieces));
      CHECK(share_work(f.context, pieces, [&](int64_t piece, CancelProbe&) -> Status {
              ++times[static_cast<size_t>(piece)];
              return {};
            }).ok());
      for (const auto& number : times) CHECK(number == 1);
    }
  }
}

TEST_CASE("a pool without a free thread leaves all of it to the kernel's own") {
  OneStep f;
  BusyPool busy;
  f.step.pool = &busy;
  int64_t sum = 0;
  CHECK(share_work(f.context, 10, [&](int64_t piece, CancelProbe&) -> Status {
          sum += piece;
          return {};
        }).ok());
  CHECK(sum == 45);
  // The thread that was called comes when everything is over, and calls nobody else.
  CHECK(busy.run_all() == 1);
  CHECK(sum == 45);
}

TEST_CASE("the first error ends it, and pieces not begun are left out") {
  OneStep f;
  BusyPool busy;
  f.step.pool = &busy;
  int64_t begun = 0;
  const Status status = share_work(f.context, 10, [&](int64_t piece, CancelProbe&) -> Status {
    ++begun;
    return piece == 3 ? invalid("piece 3") : Status();
  });
  CHECK(status.message() == "piece 3");
  CHECK(begun == 4);
}

TEST_CASE("a step that is over ends it between two pieces") {
  OneStep f;
  int64_t begun = 0;
  const Status status = share_work(f.context, 10, [&](int64_t, CancelProbe&) -> Status {
    if (++begun == 2) f.cancellation.cancel(cancelled("enough"));
    return {};
  });
  CHECK(status.code() == Code::cancelled);
  CHECK(begun == 2);
}

TEST_CASE("a range is cut by its cost alone, without holes") {
  OneStep f;
  CHECK(pieces_of_range(1000, 1) == 1);
  CHECK(pieces_of_range(1000, 1 << 20) == 64);
  CHECK(pieces_of_range(3, 1 << 20) == 3);
  int64_t next = 0;
  CHECK(share_range(f.context, 1001, 1 << 20, [&](int64_t begin, int64_t end, CancelProbe&) {
          CHECK(begin == next);
          next = end;
          return Status();
        }).ok());
  CHECK(next == 1001);
}

}  // namespace
}  // namespace millrace
