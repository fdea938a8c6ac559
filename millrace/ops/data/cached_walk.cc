// Part of cache_files.h: the walk, which writes what it is given, or gives what is written.
#include <utility>

#include "absl/functional/any_invocable.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/data/cache_files.h"
#include "millrace/ops/data/late_end.h"

namespace millrace::data {
namespace {

// What is held before it is written: a file of some size, and an index that is quickly made.
constexpr uint64_t kMostBytesHeld = 64 << 20;
constexpr size_t kMostTensorsHeld = 100'000;

// Work at the disk that an iterator waits for without a thread, one piece at a time.
class DiskWork {
 public:
  explicit DiskWork(Runner* blocking) : blocking_(blocking) {}

  bool is_under_way() const { return end_ != nullptr; }
  // Where blocking is allowed; here if nobody says where that is. The work keeps all that it
  // touches: it may end after the iterator.
  void start(absl::AnyInvocable<Status()> work) {
    end_ = std::make_shared<LateEnd>();
    if (blocking_ == nullptr) return end_->end(work());
    blocking_->post([end = end_, work = std::move(work)]() mutable { end->end(work()); });
  }
  // False: not yet.
  bool poll(Pull& pull, Status* status) {
    if (!end_->poll(pull.waker, status)) return false;
    end_.reset();
    return true;
  }

 private:
  Runner* const blocking_;
  std::shared_ptr<LateEnd> end_;  // of what is under way
};

class CachedWalk final : public DatasetIterator {
 public:
  CachedWalk(DatasetPtr input, HostPtr host, std::shared_ptr<CacheFiles> files, std::string name,
             std::shared_ptr<LeftCaches> left)
      : input_(std::move(input)),
        host_(std::move(host)),
        name_(std::move(name)),
        left_(std::move(left)),
        disk_(host_->machine().blocking),
        files_(std::move(files)) {}
  // What takes away an unfinished cache waits for the disk.
  ~CachedWalk() override {
    files_->leave();
    if (Runner* const blocking = host_->machine().blocking)
      blocking->post([files = std::move(files_)] {});
  }

  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      if (disk_.is_under_way()) {
        Status status;
        if (!disk_.poll(pull, &status)) return Next::pending;
        if (!status.ok()) return failed(status);
        MR_TRY(arrive());
      }
      if (!failed_.ok()) return failed_;
      switch (stage_) {
        case Stage::beginning:
          if (left_->is_going(name_, pull.waker)) return Next::pending;
          disk_.start([files = files_] { return files->begin(); });
          break;
        case Stage::writing: {
          MR_ASSIGN(const Next next, pass_on(pull, element));
          if (next == Next::element) return next;
          if (next == Next::pending && !disk_.is_under_way()) return next;
          break;
        }
        case Stage::reading:
          if (!read_->empty()) {
            *element = std::move(read_->front());
            read_->pop_front();
            return Next::element;
          }
          disk_.start([files = files_, read = read_] { return files->read(read.get()); });
          break;
        case Stage::over:
          return Next::end;
      }
    }
  }

 private:
  enum class Stage : uint8_t { beginning, writing, reading, over };

  // The disk's work has ended well.
  Status arrive() {
    if (stage_ == Stage::reading && read_->empty()) stage_ = Stage::over;
    if (stage_ == Stage::writing && walk_ == nullptr) stage_ = Stage::over;
    if (stage_ != Stage::beginning) return {};
    stage_ = files_->is_there() ? Stage::reading : Stage::writing;
    if (stage_ == Stage::reading) return {};
    auto walk = input_->iterate(host_);
    if (!walk.ok()) return failed_ = std::move(walk).status();
    walk_ = *std::move(walk);
    return {};
  }

  // A cache that could not be begun may be tried again, as its lockfile may be gone then; one that
  // is broken stays so.
  Status failed(const Status& status) {
    Status told = status.with(str_cat("the cache in the file '", name_, "'"));
    if (stage_ != Stage::beginning) failed_ = told;
    return told;
  }

  // The next element of the input, to the cache too. Pending also if the disk was given work: at
  // the end, and as soon as enough is held.
  Result<Next> pass_on(Pull& pull, Element* element) {
    if (held_bytes_ >= kMostBytesHeld || held_tensors_ >= kMostTensorsHeld) {
      disk_.start([files = files_, held = take_held()] { return files->write(held); });
      return Next::pending;
    }
    MR_ASSIGN(const Next next, walk_->next(pull, element));
    if (next == Next::pending) return next;
    if (next == Next::end) {
      walk_.reset();
      disk_.start([files = files_, held = take_held()]() -> Status {
        MR_TRY(files->write(held));
        return files->finish();
      });
      return Next::pending;
    }
    if (count_ == CacheFiles::kMostElements) {
      return failed(invalid("Upstream iterator is producing more than ", count_,
                            " items, which is more than the cache limit."));
    }
    MR_TRY(hold(*element));
    ++count_;
    return next;
  }

  Status hold(const Element& element) {
    Element kept;
    for (const Tensor& component : element) {
      MR_ASSIGN(Tensor one, component.kept());
      held_bytes_ += one.num_bytes();
      kept.push_back(std::move(one));
    }
    held_tensors_ += kept.size();
    held_.push_back(std::move(kept));
    return {};
  }

  std::vector<Element> take_held() {
    held_bytes_ = held_tensors_ = 0;
    return std::exchange(held_, {});
  }

  const DatasetPtr input_;
  const HostPtr host_;
  const std::string name_;
  const std::shared_ptr<LeftCaches> left_;
  DiskWork disk_;
  Stage stage_ = Stage::beginning;
  Status failed_;  // for good
  IteratorPtr walk_;
  std::vector<Element> held_;  // not written yet
  uint64_t held_bytes_ = 0;
  size_t held_tensors_ = 0;
  int64_t count_ = 0;
  // Both are touched by the disk's work while that is under way.
  std::shared_ptr<CacheFiles> files_;
  const std::shared_ptr<std::deque<Element>> read_ = std::make_shared<std::deque<Element>>();
};

}  // namespace

Result<IteratorPtr> walk_by_files(DatasetPtr input, const HostPtr& host, const std::string& name,
                                  std::shared_ptr<LeftCaches> left) {
  const IterationHost::Machine& machine = host->machine();
  if (machine.files == nullptr || machine.random == nullptr)
    return failed_precondition("a cache in the file '", name, "' needs a task that has files");
  auto files = std::make_shared<CacheFiles>(*machine.files, *machine.random, name,
                                            input->components(), left);
  return IteratorPtr(std::make_unique<CachedWalk>(std::move(input), host, std::move(files), name,
                                                  std::move(left)));
}

}  // namespace millrace::data
