#include "millrace/base/random.h"

#include <sys/mman.h>
#include <unistd.h>

namespace millrace {
namespace {

// Programs fork after they have imported us, and each child is a task of its own: children that
// drew the same numbers would give their steps and sessions the same ids. So the state knows whose
// it is: by a page that a child finds emptied, or, where the system has no such pages, by asking
// it.
class Ownership {
 public:
  Ownership() : page_(map()) { claim(); }
  ~Ownership() {
    if (page_ != nullptr) ::munmap(const_cast<char*>(page_), kBytes);
  }
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;

  bool is_ours() const { return page_ != nullptr ? *page_ != 0 : process_ == ::getpid(); }
  void claim() {
    if (page_ != nullptr) *page_ = 1;
    process_ = ::getpid();
  }

 private:
  static constexpr size_t kBytes = 1;  // of which the system makes a page

  static volatile char* map() {
    void* const page =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (::madvise(page, kBytes, MADV_WIPEONFORK) == 0) return static_cast<volatile char*>(page);
    ::munmap(page, kBytes);
    return nullptr;
  }

  volatile char* const page_;
  pid_t process_ = 0;
};

uint64_t entropy() {
  std::random_device device;
  const uint64_t high = device();
  return high << 32 | device();
}

class SystemRandom final : public Random {
 public:
  uint64_t next() override {
    MutexLock lock(mutex_);
    if (!ownership_.is_ours()) {
      engine_.seed(entropy());
      ownership_.claim();
    }
    for (;;)
      if (const uint64_t number = engine_(); number != 0) return number;
  }

 private:
  Mutex mutex_;
  Ownership ownership_ MR_GUARDED_BY(mutex_);
  std::mt19937_64 engine_ MR_GUARDED_BY(mutex_){entropy()};
};

}  // namespace

uint64_t SeededRandom::next() {
  MutexLock lock(mutex_);
  for (;;)
    if (const uint64_t number = engine_(); number != 0) return number;
}

std::unique_ptr<Random> make_random() { return std::make_unique<SystemRandom>(); }

}  // namespace millrace
