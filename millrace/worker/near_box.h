// NearBox: a memory of two processes of one machine in which one of them lays pieces of tensors for
// the other, who looks for them a moment; nobody is called, and nobody sleeps.
//
// A piece has a key, which says what it is, and a turn, which grows each time that the key is used.
// If a box can't take a piece, or the taker does not find it soon, it goes the usual way; both
// sides know which way it goes, whatever happens at the same time:
//
//   giver: puts the piece, then looks whether it is asked for the other way, and if so takes it out
//   taker: asks for the piece the other way, then looks whether it has been put, and if so takes it
//
// so that at least one of the two sees the other, and of both only one gets it out. All this is for
// rounds (GroupSeat) from the one on in which the taker has opened the box.
//
// The other process may write anything, anywhere, at any time: each side trusts what it has in its
// own memory, checks what it reads, and takes what is in a piece for a peer's values.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/base/lookout.h"
#include "millrace/base/mutex.h"
#include "millrace/base/shared_memory.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct NearName {
  uint64_t key = 0;
  int64_t round = 0;
  int64_t wave = 0;  // within the round

  // Larger for later ones; never 0.
  uint64_t turn() const {
    return (static_cast<uint64_t>(round) << kWaveBits) + static_cast<uint64_t>(wave) + 1;
  }
  static constexpr int kWaveBits = 32;
  static constexpr int64_t kMostWaves = (int64_t{1} << kWaveBits) - 1;
};

// Any thread may give.
class NearGiver {
 public:
  explicit NearGiver(std::shared_ptr<SharedMemory> memory);
  ~NearGiver();
  const std::string& address() const { return memory_->address(); }

  // True if the piece is in the box, where the taker looks for it. False: it has to go the usual
  // way, and the taker asks for it that way.
  bool give(const NearName& name, const Tensor& piece);

 private:
  // Where a piece lies, or has lain that may have been taken by now.
  struct Place {
    size_t entry = 0;
    uint64_t turn = 0;
    uint64_t offset = 0;
  };
  using Places = std::deque<Place>;
  // A place for so many bytes, of those that are free again or a new one; nothing if all are full.
  std::optional<uint64_t> find_place(Places& places, size_t size) MR_REQUIRES(mutex_);
  bool is_free(const Place& place) const;

  const std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  uint64_t used_ MR_GUARDED_BY(mutex_);
  std::vector<Places> places_ MR_GUARDED_BY(mutex_);  // by size, which is a power of two
};

// Any thread may take, each piece once.
class NearTaker {
 public:
  // `is_eager`: each of those that it meets has a processor of its own.
  explicit NearTaker(std::shared_ptr<SharedMemory> memory, bool is_eager = true);
  ~NearTaker();

  // Pieces of this round and all later ones are looked for here, if they are put here. Once.
  void open(int64_t first_round);
  bool is_open(int64_t round) const { return round >= first_round_; }
  // Rounds before this one are over: what is still there of them may be thrown away.
  void past(int64_t round);

  // Calls `use` with the piece, which is gone when that returns. False: it has to be taken the
  // usual way.
  bool take(const NearName& name, absl::FunctionRef<void(const Tensor&)> use);

 private:
  bool use_entry(size_t index, uint64_t turn, absl::FunctionRef<void(const Tensor&)> use);
  bool looks_for(absl::FunctionRef<bool()> look);

  const std::shared_ptr<SharedMemory> memory_;
  const int eager_looks_;
  int64_t first_round_ = INT64_MAX;
  Mutex mutex_;
  Lookout lookout_ MR_GUARDED_BY(mutex_);
  int unlooked_ MR_GUARDED_BY(mutex_) = 0;
};

// What a box is made of. Only what is touched takes memory, and what has been taken is used again.
inline constexpr size_t kNearBoxBytes = 64 << 20;
// A larger piece goes the usual way.
inline constexpr size_t kMostNearBytes = 256 << 10;

}  // namespace millrace
