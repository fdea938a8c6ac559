#include "millrace/ops/loops/share_work.h"

#include <algorithm>

#include "millrace/base/share_out.h"

namespace millrace {
namespace {

// Elementary steps that are worth waking a thread for: some tens of microseconds.
constexpr double kWorthSharing = 1 << 17;
constexpr int64_t kMostPieces = 64;

}  // namespace

Status share_work(KernelContext& context, int64_t pieces,
                  absl::FunctionRef<Status(int64_t piece, CancelProbe& probe)> work) {
  if (pieces <= 0) return {};
  if (pieces == 1 || context.step().pool == nullptr) {
    CancelProbe probe(context);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      if (!probe.go_on(CancelProbe::kPiece)) return probe.status();
      MR_TRY(work(piece, probe));
    }
    return {};
  }
  return share_out(context.step().pool, pieces, [&](int64_t piece) -> Status {
    CancelProbe probe(context);
    if (!probe.go_on(CancelProbe::kPiece)) return probe.status();
    return work(piece, probe);
  });
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
