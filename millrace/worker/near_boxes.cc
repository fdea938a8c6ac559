#include "millrace/worker/near_boxes.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "millrace/op/device_name.h"

namespace millrace {

namespace {

// Who is asked again and again has so many times two pieces' time to have something to give.
constexpr uint32_t kMostPatience = 12;

std::optional<TaskName> task_of(const GroupMember& member) {
  const auto parsed = DeviceName::parse(member.device);
  if (!parsed.ok() || !parsed->names_task()) return std::nullopt;
  return parsed->task_name();
}

}  // namespace

NearBoxes::NearBoxes(const CollectiveGroup& group, int rank)
    : is_near_(group.members.size()), to_(group.members.size()), from_(group.members.size()) {
  const GroupMember& own = group.members[static_cast<size_t>(rank)];
  if (own.machine.empty()) return;
  // Two devices of one task have quicker ways.
  for (size_t i = 0; i < is_near_.size(); ++i)
    is_near_[i] =
        group.members[i].machine == own.machine && task_of(group.members[i]) != task_of(own);
}
NearBoxes::~NearBoxes() = default;

Result<std::string> NearBoxes::make(size_t rank, uint64_t token) {
  if (!is_near_[rank]) return unavailable("there is no box for a member elsewhere");
  MutexLock lock(mutex_);
  To& to = to_[rank];
  if (to.made == nullptr) {
    MR_ASSIGN(auto memory, SharedMemory::create(kNearBoxBytes, token));
    to.made = std::make_unique<NearGiver>(std::move(memory));
    to.now.store(to.made.get(), std::memory_order_release);
  }
  return to.made->address();
}

Result<std::unique_ptr<NearTaker>> NearBoxes::opened(std::string_view address) const {
  MR_ASSIGN(auto memory, SharedMemory::open(address, kNearBoxBytes));
  const auto near = std::ranges::count(is_near_, true);
  const bool is_eager = near < static_cast<ptrdiff_t>(std::thread::hardware_concurrency());
  return std::make_unique<NearTaker>(std::move(memory), is_eager);
}

bool NearBoxes::is_to_ask(size_t rank) {
  From& from = from_[rank];
  uint32_t now = from.taken.fetch_add(1);
  return from.ask_at.compare_exchange_strong(now, UINT32_MAX);
}

void NearBoxes::ask_again(size_t rank) {
  From& from = from_[rank];
  const uint32_t asked = std::min(from.asked.fetch_add(1), kMostPatience);
  from.ask_at.store(from.taken.load() + (1U << asked));
}

void NearBoxes::take_from(size_t rank, std::unique_ptr<NearTaker> taker, int64_t first_round) {
  MutexLock lock(mutex_);
  From& from = from_[rank];
  if (from.made != nullptr) return;
  from.made = std::move(taker);
  // Whoever sees it sees it open.
  from.made->open(first_round);
  from.now.store(from.made.get(), std::memory_order_release);
}

void NearBoxes::past(int64_t round) {
  for (const From& from : from_)
    if (NearTaker* const taker = from.now.load(std::memory_order_acquire)) taker->past(round);
}

}  // namespace millrace
