#include "millrace/worker/near_box.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "millrace/tensor/buffer.h"

namespace millrace {
namespace {

// How long a taker looks for a piece before it asks for it. Members that are in step come within
// that even where there are more of them than processors; who waits longer is asleep by then, and
// so is whoever waits for it.
constexpr std::chrono::microseconds kLongestLook{2000};
// Who has looked in vain tries again from time to time.
constexpr int kUnlooked = 16;
// Looks without giving the processor away.
constexpr int kEagerLooks = 30;

enum State : uint64_t { kNothing = 0, kPut = 1, kInUse = 2, kTaken = 3 };
constexpr uint64_t word_of(uint64_t turn, State state) { return turn << 2 | state; }
constexpr uint64_t turn_of(uint64_t word) { return word >> 2; }
constexpr State state_of(uint64_t word) { return static_cast<State>(word & 3); }

// The atomics are of kinds that need no lock, so they work between processes. Zeros are an empty
// box.
struct alignas(64) Entry {
  std::atomic<uint64_t> key;    // 0: free. Once taken it stays so
  std::atomic<uint64_t> word;   // turn and state
  std::atomic<uint64_t> asked;  // the latest turn that was asked for the usual way
  std::atomic<uint64_t> offset, bytes;
  std::atomic<int32_t> dtype;
};
struct alignas(64) Header {
  std::atomic<uint64_t> opened;  // 1 + the first round whose pieces are looked for here; 0: none
  std::atomic<int64_t> past;     // rounds before this one are over at the taker
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

constexpr size_t kEntries = 4096;
constexpr size_t kTries = 16;
// How many of the places that were used longest ago are looked at for a free one: what is never
// taken must not stand in the way.
constexpr size_t kLookedAt = 8;
constexpr size_t kFirstPlace = sizeof(Header) + kEntries * sizeof(Entry);
constexpr size_t kPage = 4096;

Header& header(const SharedMemory& memory) {
  return *std::launder(reinterpret_cast<Header*>(memory.data()));
}
Entry& entry(const SharedMemory& memory, size_t index) {
  return std::launder(reinterpret_cast<Entry*>(memory.data() + sizeof(Header)))[index];
}

// The entry of a key, on both sides the same; nothing if there is no place for it on either.
std::optional<size_t> entry_of(const SharedMemory& memory, uint64_t key) {
  if (key == 0) key = 1;
  // Keys may differ in their upper bits alone.
  const size_t first = key * 0x9e3779b97f4a7c15ULL >> 32;
  for (size_t tried = 0; tried < kTries; ++tried) {
    const size_t index = (first + tried) % kEntries;
    uint64_t there = entry(memory, index).key.load(std::memory_order_relaxed);
    if (there == 0 && entry(memory, index).key.compare_exchange_strong(there, key)) return index;
    if (there == key) return index;
  }
  return std::nullopt;
}

uint64_t first_turn_of(int64_t round) { return NearName{.round = round}.turn(); }

}  // namespace

NearGiver::NearGiver(std::shared_ptr<SharedMemory> memory)
    : memory_(std::move(memory)),
      used_((kFirstPlace + kPage - 1) / kPage * kPage),
      places_(std::bit_width(kMostNearBytes)) {}
NearGiver::~NearGiver() = default;

bool NearGiver::is_free(const Place& place) const {
  const uint64_t word = entry(*memory_, place.entry).word.load(std::memory_order_acquire);
  return turn_of(word) != place.turn || state_of(word) == kTaken;
}

std::optional<uint64_t> NearGiver::find_place(Places& places, size_t size) {
  for (size_t i = 0; i < std::min(places.size(), kLookedAt); ++i) {
    if (!is_free(places[i])) continue;
    const uint64_t offset = places[i].offset;
    places.erase(places.begin() + static_cast<ptrdiff_t>(i));
    return offset;
  }
  if (used_ + size > memory_->size()) return std::nullopt;
  return std::exchange(used_, used_ + size);
}

bool NearGiver::give(const NearName& name, const Tensor& piece) {
  const size_t bytes = piece.num_bytes();
  if (bytes > kMostNearBytes || name.wave > NearName::kMostWaves || !is_plain(piece.dtype()))
    return false;
  const uint64_t opened = header(*memory_).opened.load(std::memory_order_acquire);
  if (opened == 0 || static_cast<uint64_t>(name.round) + 1 < opened) return false;
  const std::optional<size_t> index = entry_of(*memory_, name.key);
  if (!index) return false;
  Entry& there = entry(*memory_, *index);
  const uint64_t turn = name.turn();

  MutexLock lock(mutex_);
  if (there.asked.load() >= turn) return false;
  uint64_t word = there.word.load(std::memory_order_acquire);
  if (turn_of(word) >= turn || state_of(word) == kInUse) return false;
  if (state_of(word) == kPut) {
    // Nobody comes for it any more if its round is over.
    if (turn_of(word) >= first_turn_of(header(*memory_).past.load())) return false;
    if (!there.word.compare_exchange_strong(word, word_of(turn_of(word), kTaken))) return false;
  }
  const size_t size = std::bit_ceil(std::max(bytes, kPage));
  Places& places = places_[std::bit_width(size) - 1];
  const std::optional<uint64_t> offset = find_place(places, size);
  if (!offset) return false;
  places.push_back({*index, turn, *offset});
  if (bytes > 0) std::memcpy(memory_->data() + *offset, piece.data(), bytes);
  there.offset.store(*offset, std::memory_order_relaxed);
  there.bytes.store(bytes, std::memory_order_relaxed);
  there.dtype.store(static_cast<int32_t>(piece.dtype()), std::memory_order_relaxed);
  there.word.store(word_of(turn, kPut));
  if (there.asked.load() < turn) return true;
  uint64_t put = word_of(turn, kPut);
  return !there.word.compare_exchange_strong(put, word_of(turn, kTaken));
}

NearTaker::NearTaker(std::shared_ptr<SharedMemory> memory, bool is_eager)
    : memory_(std::move(memory)),
      eager_looks_(is_eager ? kEagerLooks : 0),
      lookout_(Lookout::confident(kLongestLook)) {}
NearTaker::~NearTaker() = default;

void NearTaker::open(int64_t first_round) {
  first_round_ = first_round;
  past(first_round);
  header(*memory_).opened.store(static_cast<uint64_t>(first_round) + 1, std::memory_order_release);
}

void NearTaker::past(int64_t round) { header(*memory_).past.store(round); }

bool NearTaker::take(const NearName& name, absl::FunctionRef<void(const Tensor&)> use) {
  if (!is_open(name.round) || name.wave > NearName::kMostWaves) return false;
  const std::optional<size_t> index = entry_of(*memory_, name.key);
  if (!index) return false;
  Entry& there = entry(*memory_, *index);
  const uint64_t turn = name.turn();
  const auto is_put = [&] {
    return there.word.load(std::memory_order_acquire) == word_of(turn, kPut);
  };
  if (!is_put() && !looks_for([&] {
        for (int i = 0; i < eager_looks_; ++i) {
          if (is_put()) return true;
          pause_a_moment();
        }
        return is_put();
      })) {
    uint64_t asked = there.asked.load();
    while (asked < turn && !there.asked.compare_exchange_weak(asked, turn)) continue;
  }
  return use_entry(*index, turn, use);
}

bool NearTaker::looks_for(absl::FunctionRef<bool()> look) {
  Lookout lookout;
  {
    MutexLock lock(mutex_);
    lookout = lookout_;
    if (!lookout.would_look() && ++unlooked_ % kUnlooked == 0)
      lookout = Lookout::confident(kLongestLook);
  }
  const bool found = lookout.finds(look);
  MutexLock lock(mutex_);
  lookout_ = lookout;
  return found;
}

bool NearTaker::use_entry(size_t index, uint64_t turn, absl::FunctionRef<void(const Tensor&)> use) {
  Entry& there = entry(*memory_, index);
  uint64_t put = word_of(turn, kPut);
  if (!there.word.compare_exchange_strong(put, word_of(turn, kInUse))) return false;
  const uint64_t offset = there.offset.load(), bytes = there.bytes.load();
  const auto dtype = static_cast<DType>(there.dtype.load());
  Tensor piece;
  const bool is_good = is_plain(dtype) && bytes <= kMostNearBytes && offset % kPage == 0 &&
                       offset <= memory_->size() - bytes && bytes % dtype_size(dtype) == 0;
  if (is_good) {
    // Lent: whatever is made of it, is not made in its place.
    auto made = Tensor::on_buffer(dtype, Shape{static_cast<int64_t>(bytes / dtype_size(dtype))},
                                  Buffer::borrow_for_step(memory_->data() + offset, bytes, [] {}));
    if (made.ok()) piece = *std::move(made);
  }
  // A piece of nonsense is no tensor, which nobody expects.
  use(piece);
  there.word.store(word_of(turn, kTaken), std::memory_order_release);
  return true;
}

}  // namespace millrace
