#include "millrace/ops/loops/share_work.h"

#include <memory>

namespace millrace {
namespace {

using Work = absl::FunctionRef<Status(int64_t piece, CancelProbe& probe)>;

// What the threads that share a kernel's work know together. A thread that comes late finds no
// piece left and touches nothing else: the kernel may be over by then.
class SharedWork : public std::enable_shared_from_this<SharedWork> {
 public:
  SharedWork(KernelContext& context, int64_t pieces, Work work)
      : context_(context), pool_(context.step().pool), pieces_(pieces), work_(work) {}

  // Works until no piece is left. Whoever has a piece calls another thread before computing it:
  // while it has one, the kernel, its context and its pool are alive.
  void help() {
    bool called = false;
    while (const std::optional<Claim> claim = take()) {
      if (!called && claim->more) call_another();
      called = true;
      finish(compute(claim->piece));
    }
  }

  // After help(): the first error, when nobody computes any more.
  Status wait() {
    MutexLock lock(mutex_);
    while (computing_ > 0) changed_.wait(mutex_);
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
    ++computing_;
    const int64_t piece = next_++;
    return Claim{piece, next_ < pieces_};
  }

  void call_another() {
    if (pool_ == nullptr) return;
    pool_->post([self = shared_from_this()] { self->help(); });
  }

  Status compute(int64_t piece) {
    CancelProbe probe(context_);
    if (!probe.go_on(CancelProbe::kPiece)) return probe.status();
    return work_(piece, probe);
  }

  void finish(Status status) {
    MutexLock lock(mutex_);
    if (!status.ok()) {
      if (first_error_.ok()) first_error_ = std::move(status);
      next_ = pieces_;
    }
    if (--computing_ == 0 && next_ == pieces_) changed_.notify_all();
  }

  KernelContext& context_;  // constant after construction
  Runner* const pool_;
  const int64_t pieces_;
  const Work work_;
  Mutex mutex_;
  Condition changed_;
  int64_t next_ MR_GUARDED_BY(mutex_) = 0;
  int64_t computing_ MR_GUARDED_BY(mutex_) = 0;
  Status first_error_ MR_GUARDED_BY(mutex_);
};

// Elementary steps that are worth waking a thread for: some tens of microseconds.
constexpr double kWorthSharing = 1 << 17;
constexpr int64_t kMostPieces = 64;

}  // namespace

Status share_work(KernelContext& context, int64_t pieces, Work work) {
  if (pieces <= 0) return {};
  if (pieces == 1 || context.step().pool == nullptr) {
    CancelProbe probe(context);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      if (!probe.go_on(CancelProbe::kPiece)) return probe.status();
      MR_TRY(work(piece, probe));
    }
    return {};
  }
  const auto shared = std::make_shared<SharedWork>(context, pieces, work);
  shared->help();
  return shared->wait();
}

int64_t pieces_of_range(int64_t count, int64_t cost) {
  const double worth = static_cast<double>(count) * static_cast<double>(cost) / kWorthSharing;
  const int64_t wanted = worth >= kMostPieces ? kMostPieces : static_cast<int64_t>(worth);
  return std::max<int64_t>(1, std::min(count, wanted));
}

Status share_range(KernelContext& context, int64_t count, int64_t cost,
                   absl::FunctionRef<Status(int64_t begin, int64_t end, CancelProbe& probe)> work) {
  if (count <= 0) return {};
  const int64_t pieces = pieces_of_range(count, cost);
  if (pieces == 1) {
    // Perhaps too little to look at the cancellation before it begins: the work knows.
    CancelProbe probe(context);
    return work(0, count, probe);
  }
  // The first `longer` pieces have one item more.
  const int64_t each = count / pieces, longer = count % pieces;
  return share_work(context, pieces, [&](int64_t piece, CancelProbe& probe) {
    const int64_t begin = piece * each + std::min(piece, longer);
    return work(begin, begin + each + (piece < longer ? 1 : 0), probe);
  });
}

Status share_pieces(KernelContext& context, int64_t count, int64_t cost,
                    absl::FunctionRef<void(int64_t begin, int64_t count)> body) {
  return share_range(context, count, cost, [&](int64_t begin, int64_t end, CancelProbe& probe) {
    return probe.in_pieces(end - begin,
                           [&](int64_t at, int64_t length) { body(begin + at, length); });
  });
}

}  // namespace millrace
