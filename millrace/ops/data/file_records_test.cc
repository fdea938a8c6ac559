// Records of files as a walk: how far ahead they are read, by whose turn, and what ends that.
#include "millrace/ops/data/file_records.h"

#include <atomic>

#include <doctest/doctest.h>

#include "millrace/base/mutex.h"
#include "millrace/base/str_cat.h"
#include "millrace/base/testing/held_tasks.h"
#include "millrace/base/thread_pool.h"
#include "millrace/io/records.h"
#include "millrace/io/testing/memory_files.h"

namespace millrace::data {
namespace {

class SilentWaker final : public Waker {
 public:
  void wake() override { ++times; }
  int times = 0;
};

// What a file of records that are numbers has, and how many of them were read.
struct Numbers {
  int count = 0;
  size_t size = 0;  // of each, at least
  int failing_at = -1;
  std::atomic<int> read = 0;
};

class NumberReader final : public WorkReader {
 public:
  explicit NumberReader(Numbers& numbers) : numbers_(numbers) {}
  Result<Found> next(std::string* key, std::string* value) override {
    CHECK(key == nullptr);
    if (next_ == numbers_.count) return Found::end;
    if (next_ == numbers_.failing_at) return error(Code::data_loss, "damaged at ", next_);
    *value = std::to_string(next_++);
    value->resize(std::max(numbers_.size, value->size()), ' ');
    ++numbers_.read;
    return Found::record;
  }

 private:
  Numbers& numbers_;
  int next_ = 0;
};

OpenWork opening(Numbers& numbers) {
  return [&numbers](Files&, const std::string&) -> Result<std::unique_ptr<WorkReader>> {
    return std::unique_ptr<WorkReader>(std::make_unique<NumberReader>(numbers));
  };
}

// A walk that is read when the test says so.
class Walk {
 public:
  explicit Walk(Numbers& numbers, std::vector<std::string> names = {"file"}) {
    IterationHost::Machine machine;
    machine.blocking = &blocking;
    machine.files = &files_;
    iterator = records_of_files(IterationHost(machine), std::move(names), opening(numbers)).value();
  }
  // The next record; "pending", "end", or what failed.
  std::string next() {
    Pull pull(waker_);
    Element element;
    const Result<Next> next = iterator->next(pull, &element);
    if (!next.ok()) return std::string(next.status().message());
    if (*next == Next::pending) return "pending";
    if (*next == Next::end) return "end";
    const std::string& record = element[0].item<std::string>();
    return record.substr(0, record.find(' '));
  }
  int times_woken() const { return woken_->times; }

  millrace::testing::HeldTasks blocking;
  IteratorPtr iterator;

 private:
  millrace::testing::MemoryFiles files_;
  const std::shared_ptr<SilentWaker> woken_ = std::make_shared<SilentWaker>();
  const std::shared_ptr<Waker> waker_ = woken_;
};

TEST_CASE("some pieces are read ahead, and no more until half of them are taken") {
  Numbers numbers{.count = 100'000};
  Walk walk(numbers);
  CHECK(walk.next() == "pending");
  walk.blocking.run();
  CHECK(walk.times_woken() == 1);
  CHECK(numbers.read == 4 * 1024);
  for (int i = 0; i <= 1024; ++i) CHECK(walk.next() == std::to_string(i));
  CHECK(walk.blocking.size() == 1);  // the second piece is begun: two are left
  walk.blocking.run();
  CHECK(numbers.read == 6 * 1024);
}

TEST_CASE("while a large record waits no other is read") {
  Numbers numbers{.count = 5, .size = 2 << 20};
  Walk walk(numbers);
  CHECK(walk.next() == "pending");
  walk.blocking.run();
  CHECK(numbers.read == 1);
  for (int i = 0; i < 5; ++i) {
    CHECK(walk.next() == std::to_string(i));
    walk.blocking.run();
  }
  CHECK(walk.next() == "end");
}

TEST_CASE("empty, small and large records come as they are, whatever lies beside them") {
  std::string file, all;
  for (const size_t size : {0, 1, 300'000, 0, 5, 2'000'000, 2'000'000, 7}) {
    const std::string record(size, static_cast<char>('a' + size % 26));
    file += io::framed_record(record);
    all += record + "|";
  }
  millrace::testing::MemoryFiles files;
  files.contents()["file"] = file;
  IterationHost::Machine machine;
  machine.files = &files;
  const IteratorPtr iterator =
      records_of_files(IterationHost(machine), {"file", "file"}, records_of_work(io::Packing::none))
          .value();
  const std::shared_ptr<Waker> waker = std::make_shared<SilentWaker>();
  Pull pull(waker);
  Element element;
  std::string told;
  while (iterator->next(pull, &element).value() == Next::element)
    told += element[0].item<std::string>() + "|";
  CHECK(told == all + all);
}

TEST_CASE("records come in order, and what fails stands behind those before it") {
  Numbers numbers{.count = 9'000, .failing_at = 5'000};
  Walk walk(numbers, {"one", "another"});
  for (int file = 0; file < 2; ++file) {
    for (int i = 0; i < 5'000;) {
      const std::string next = walk.next();
      if (next == "pending") {
        walk.blocking.run();
      } else {
        REQUIRE(next == std::to_string(i++));
      }
    }
    CHECK(walk.next() == "damaged at 5000");
  }
  CHECK(walk.next() == "end");
  CHECK(walk.next() == "end");
  CHECK(walk.blocking.size() == 0);
}

TEST_CASE("a walk that is gone reads no further") {
  Numbers numbers{.count = 100'000};
  Walk walk(numbers);
  CHECK(walk.next() == "pending");
  walk.iterator.reset();
  walk.blocking.run();
  CHECK(numbers.read == 0);
  CHECK(walk.times_woken() == 0);
}

// Takes all that is there as soon as it is there, so that reading never has a reason to stop.
class Hungry final : public Waker, public std::enable_shared_from_this<Hungry> {
 public:
  explicit Hungry(DatasetIterator& from) : from_(from) {}
  void wake() override {
    const std::shared_ptr<Waker> self = shared_from_this();
    Pull pull(self);
    Element element;
    while (from_.next(pull, &element).value() == Next::element) {
    }
  }

 private:
  DatasetIterator& from_;
};

TEST_CASE("who reads on and on lets others have their turn") {
  Numbers numbers{.count = 100'000};
  Walk walk(numbers);
  std::make_shared<Hungry>(*walk.iterator)->wake();
  REQUIRE(walk.blocking.size() == 1);
  walk.blocking.run_first();
  CHECK(numbers.read == 16 * 1024);
  CHECK(walk.blocking.size() == 1);
  walk.blocking.run();
  CHECK(numbers.read == 100'000);
}

TEST_CASE("where nobody may block, records are read where they are wanted") {
  Numbers numbers{.count = 3'000};
  millrace::testing::MemoryFiles files;
  IterationHost::Machine machine;
  machine.files = &files;
  const IteratorPtr iterator =
      records_of_files(IterationHost(machine), {"file"}, opening(numbers)).value();
  const std::shared_ptr<Waker> waker = std::make_shared<SilentWaker>();
  Pull pull(waker);
  Element element;
  REQUIRE(iterator->next(pull, &element).value() == Next::element);
  CHECK(numbers.read == 1024);
  int count = 1;
  while (iterator->next(pull, &element).value() == Next::element) ++count;
  CHECK(count == 3'000);
}

// Waits as a thread, for a test with real ones.
class Bell final : public Waker {
 public:
  void wake() override {
    MutexLock lock(mutex_);
    is_rung_ = true;
    changed_.notify_all();
  }
  void wait() {
    MutexLock lock(mutex_);
    while (!is_rung_) changed_.wait(mutex_);
    is_rung_ = false;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_rung_ MR_GUARDED_BY(mutex_) = false;
};

TEST_CASE("with threads of their own records are in order, and a walk ends wherever it is") {
  millrace::testing::MemoryFiles files;
  for (const int stop : {0, 1, 1'500, 20'000, 50'000}) {
    Numbers numbers{.count = 50'000, .size = 100};
    ThreadPool blocking(2);
    IterationHost::Machine machine;
    machine.blocking = &blocking;
    machine.files = &files;
    const IteratorPtr iterator =
        records_of_files(IterationHost(machine), {"file"}, opening(numbers)).value();
    const auto bell = std::make_shared<Bell>();
    const std::shared_ptr<Waker> waker = bell;
    Pull pull(waker);
    Element element;
    bool is_in_order = true;
    for (int i = 0; i < stop;) {
      if (iterator->next(pull, &element).value() == Next::pending) {
        bell->wait();
        continue;
      }
      is_in_order &= element[0].item<std::string>().starts_with(str_cat(i++, " "));
    }
    CHECK(is_in_order);
  }
}

}  // namespace
}  // namespace millrace::data
