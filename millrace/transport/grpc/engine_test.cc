#include "millrace/transport/grpc/engine.h"

#include <future>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/mutex.h"

namespace millrace::transport {
namespace {

using namespace std::chrono_literals;

// What an engine has done so far, in order.
class Diary {
 public:
  absl::AnyInvocable<void()> entry(int number) {
    return [this, number] {
      MutexLock lock(mutex_);
      entries_.push_back(number);
    };
  }
  std::vector<int> entries() {
    MutexLock lock(mutex_);
    return entries_;
  }

 private:
  Mutex mutex_;
  std::vector<int> entries_ MR_GUARDED_BY(mutex_);
};

// Returns after all errands that were due before.
void wait_for(Engine& engine, std::chrono::milliseconds when = 0ms) {
  std::promise<void> done;
  engine.RunAfter(when, [&] { done.set_value(); });
  done.get_future().wait();
}

TEST_CASE("errands are done in the order of their times, and those of one time as they came") {
  Engine engine;
  Diary diary;
  engine.RunAfter(40ms, diary.entry(4));
  engine.RunAfter(20ms, diary.entry(3));
  engine.Run(diary.entry(1));
  engine.Run(diary.entry(2));
  wait_for(engine, 41ms);
  CHECK(diary.entries() == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("an errand that was cancelled is not done, and one that is done can't be cancelled") {
  Engine engine;
  Diary diary;
  const auto later = engine.RunAfter(1h, diary.entry(1));
  const auto sooner = engine.RunAfter(0ms, diary.entry(2));
  wait_for(engine);
  CHECK(engine.Cancel(later));
  CHECK(!engine.Cancel(later));
  CHECK(!engine.Cancel(sooner));
  CHECK(diary.entries() == std::vector<int>{2});
}

TEST_CASE("an engine that ends forgets what is not due, and what belongs to it") {
  const auto owned = std::make_shared<int>(7);
  {
    Engine engine;
    engine.RunAfter(1h, [owned] {});
    wait_for(engine);
    CHECK(owned.use_count() == 2);
  }
  CHECK(owned.use_count() == 1);
}

TEST_CASE("an engine may end within an errand of its own") {
  auto engine = std::make_unique<Engine>();
  std::promise<bool> ended;
  Engine& kept = *engine;
  kept.Run([&] {
    const bool is_own = kept.IsWorkerThread();
    engine.reset();
    ended.set_value(is_own);
  });
  CHECK(ended.get_future().get());
}

TEST_CASE("an errand may bring others, and an engine without any has no thread") {
  Engine engine;
  CHECK(!engine.IsWorkerThread());
  Diary diary;
  std::promise<void> done;
  engine.Run([&] {
    engine.Run(diary.entry(1));
    engine.RunAfter(1ms, [&] {
      diary.entry(2)();
      done.set_value();
    });
  });
  done.get_future().wait();
  CHECK(diary.entries() == std::vector<int>{1, 2});
}

}  // namespace
}  // namespace millrace::transport
