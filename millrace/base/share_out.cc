#include "millrace/base/share_out.h"

#include <memory>
#include <optional>
#include <utility>

#include "millrace/base/mutex.h"

namespace millrace {
namespace {

using Work = absl::FunctionRef<Status(int64_t piece)>;

// What the threads that share the work know together. A thread that comes late finds no piece left
// and touches nothing else: the work may be gone by then.
class SharedPieces : public std::enable_shared_from_this<SharedPieces> {
 public:
  SharedPieces(Runner& runner, int64_t pieces, Work work)
      : runner_(runner), pieces_(pieces), work_(work) {}

  // Works until no piece is left. Whoever has a piece calls another thread before doing it: while
  // it has one, the work and the runner are alive.
  void help() {
    bool called = false;
    while (const std::optional<Claim> claim = take()) {
      if (!called && claim->more) runner_.post([self = shared_from_this()] { self->help(); });
      called = true;
      finish(work_(claim->piece));
    }
  }

  // After help(): the first error, when nobody is at a piece any more.
  Status wait() {
    MutexLock lock(mutex_);
    while (under_way_ > 0) changed_.wait(mutex_);
    return first_error_;
  }

 private:
  struct Claim {
    int64_t piece;
    bool more;
  };

  std::optional<Claim> take() {
    MutexLock lock(mutex_);
    if (next_ == pieces_) return std::nullopt;
    ++under_way_;
    const int64_t piece = next_++;
    return Claim{piece, next_ < pieces_};
  }

  void finish(Status status) {
    MutexLock lock(mutex_);
    if (!status.ok()) {
      if (first_error_.ok()) first_error_ = std::move(status);
      next_ = pieces_;
    }
    if (--under_way_ == 0 && next_ == pieces_) changed_.notify_all();
  }

  Runner& runner_;  // constant after construction
  const int64_t pieces_;
  const Work work_;
  Mutex mutex_;
  Condition changed_;
  int64_t next_ MR_GUARDED_BY(mutex_) = 0;
  int64_t under_way_ MR_GUARDED_BY(mutex_) = 0;
  Status first_error_ MR_GUARDED_BY(mutex_);
};

}  // namespace

Status share_out(Runner* runner, int64_t pieces, Work work) {
  if (pieces <= 1 || runner == nullptr) {
    for (int64_t piece = 0; piece < pieces; ++piece) MR_TRY(work(piece));
    return {};
  }
  const auto shared = std::make_shared<SharedPieces>(*runner, pieces, work);
  shared->help();
  return shared->wait();
}

}  // namespace millrace
