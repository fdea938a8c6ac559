#include "tests/hostile/hunt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/hostile/trial.h"

#include "millrace/base/str_cat.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MR_HOSTILE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MR_HOSTILE_SANITIZED 1
#endif
#endif

#ifdef MR_HOSTILE_SANITIZED
// Of AddressSanitizer's library, which ships no header with it; null in ThreadSanitizer's.
extern "C" __attribute__((weak)) void __sanitizer_purge_allocator();
#endif

namespace millrace::hostile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kComplained = 3;

// What the process that runs the trials tells the one that watches, in memory of both.
struct Board {
  std::atomic<int64_t> position;  // of the trial at work
  char text[32 << 10];            // of it
  char complaint[4 << 10];
};

template <size_t n>
void write(char (&to)[n], const std::string& text) {
  const size_t length = std::min(text.size(), n - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

// Cancels the step of a trial that takes long: as whoever runs a program with a deadline does.
class Watch {
 public:
  explicit Watch(std::chrono::milliseconds patience)
      : patience_(patience), thread_([this] { watch(); }) {}
  ~Watch() {
    {
      std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(Cancellation& step) {
    std::lock_guard lock(mutex_);
    step_ = &step;
    ++turn_;
  }
  void end() {
    std::lock_guard lock(mutex_);
    step_ = nullptr;
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    uint64_t seen = 0;
    while (!changed_.wait_for(lock, patience_, [&] { return is_over_; })) {
      if (step_ != nullptr && turn_ == seen) step_->cancel(cancelled("it takes too long"));
      seen = turn_;
    }
  }

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Cancellation* step_ = nullptr;
  uint64_t turn_ = 0;
  bool is_over_ = false;
  std::thread thread_;
};

#ifdef MR_HOSTILE_SANITIZED
// Blocks of all small sizes, for what runs within a limit of address space: a sanitizer's own is
// far above any, so that it gets nothing more from the system then.
void lay_in_blocks() {
  constexpr size_t kLargest = size_t{32} << 10;
  constexpr int kOfEach = 16;
  {
    std::vector<std::string> held;
    for (size_t size = 16; size <= kLargest; size += std::max<size_t>(size / 8, 16))
      for (int i = 0; i < kOfEach; ++i) held.emplace_back(size, '\0');
  }
  // What was freed can be had again.
  if (__sanitizer_purge_allocator != nullptr) __sanitizer_purge_allocator();
}
#endif

// Tensors refuse what is beyond the limit of address space at their first large block. Where
// sanitizers run that limit would be their end, and only the watching process sees the rest.
void bound_memory(size_t bytes) {
#ifdef MR_HOSTILE_SANITIZED
  lay_in_blocks();
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit bounded{bytes, before.rlim_max};
  setrlimit(RLIMIT_AS, &bounded);
  (void)Tensor::allocate(DType::u8, {1 << 20});
#ifdef MR_HOSTILE_SANITIZED
  setrlimit(RLIMIT_AS, &before);
#else
  const rlimit with_all_else{2 * bytes, before.rlim_max};
  setrlimit(RLIMIT_AS, &with_all_else);
#endif
}

// Whoever watches sees how the process ends; handlers of the one that it was forked from would only
// tell their own tale of it. Those of sanitizers tell more.
void end_plainly(HuntOptions::Voice voice) {
#ifndef MR_HOSTILE_SANITIZED
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTERM, SIGINT})
    std::signal(signal, SIG_DFL);
#endif
  if (voice == HuntOptions::Voice::heard) return;
  const int nowhere = open("/dev/null", O_WRONLY);
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, descriptor);
}

[[noreturn]] void run_trials(const OpRegistry& ops, const HuntOptions& options, Board& board,
                             int64_t from, int64_t to) noexcept {
  bound_memory(options.memory);
  end_plainly(options.voice);
  {
    Watch watch(options.cancelled_after);
    std::optional<Subject> subject;
    for (int64_t position = from; position < to; ++position) {
      const OpDef& op = *options.subjects[static_cast<size_t>(position / options.cases)];
      board.text[0] = 0;
      board.position.store(position);
      if (!subject || &subject->op() != &op) subject.emplace(ops, op);
      Trial trial(*subject, options.seed, options.first + position % options.cases);
      write(board.text, trial.text());
      watch.begin(trial.cancellation());
      const std::string complaint = trial.run();
      watch.end();
      if (complaint.empty()) continue;
      write(board.complaint, complaint);
      // Whatever still runs must not see the trial go.
      std::_Exit(kComplained);
    }
  }
  std::_Exit(0);
}

size_t resident_bytes(pid_t process) {
  std::ifstream file(str_cat("/proc/", process, "/statm"));
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

std::string end_in_words(int status, const Board& board) {
  if (WIFSIGNALED(status))
    return str_cat("killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  if (WEXITSTATUS(status) == kComplained) return board.complaint;
  return str_cat("ended with code ", WEXITSTATUS(status));
}

// What ended the process; empty if it came to its end.
std::string watch_over(pid_t process, const HuntOptions& options, const Board& board,
                       const std::function<void(int64_t)>& at) {
  int64_t seen = -1;
  auto since = Clock::now();
  while (true) {
    int status = 0;
    if (waitpid(process, &status, WNOHANG) == process)
      return status == 0 ? std::string() : end_in_words(status, board);
    poll(nullptr, 0, 5);
    const int64_t position = board.position.load();
    if (position != seen) {
      if (at) at(position);
      seen = position;
      since = Clock::now();
    }
    std::string fault;
    if (Clock::now() - since > options.ended_after)
      fault = str_cat("still at work after ", options.ended_after.count(), " ms");
    if (resident_bytes(process) > 2 * options.memory)
      fault = str_cat("takes more than ", options.memory, " bytes of memory");
    if (fault.empty()) continue;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return fault;
  }
}

}  // namespace

std::vector<Fault> hunt(const OpRegistry& ops, const HuntOptions& options,
                        const std::function<void(const Fault&)>& found,
                        const std::function<void(const OpDef&)>& progress) {
  void* const shared =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return {{"", 0, "no memory to share with the trials", "", ""}};
  Board& board = *new (shared) Board;
  const int64_t all = static_cast<int64_t>(options.subjects.size()) * options.cases;
  std::vector<Fault> faults;
  int of_this_op = 0;
  const OpDef* told = nullptr;
  const auto at = [&](int64_t position) {
    const OpDef* op = options.subjects[static_cast<size_t>(position / options.cases)];
    if (progress && op != told) progress(*op);
    told = op;
  };
  for (int64_t position = 0; position < all;) {
    board.position.store(position);
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) {
      faults.push_back({"", 0, str_cat("no process for the trials: ", strerror(errno)), "", ""});
      break;
    }
    if (process == 0) run_trials(ops, options, board, position, all);
    const std::string what = watch_over(process, options, board, at);
    if (what.empty()) break;
    position = board.position.load();
    const OpDef& op = *options.subjects[static_cast<size_t>(position / options.cases)];
    const int64_t number = options.first + position % options.cases;
    of_this_op = !faults.empty() && faults.back().op == op.name ? of_this_op + 1 : 1;
    faults.push_back({op.name, number, what, board.text,
                      str_cat("hostile_ops --seed ", options.seed, " --op ", op.name, " --first ",
                              number, " --cases 1")});
    if (found) found(faults.back());
    ++position;
    if (of_this_op >= options.most_faults)
      position = (position + options.cases - 1) / options.cases * options.cases;
  }
  munmap(shared, sizeof(Board));
  return faults;
}

}  // namespace millrace::hostile
