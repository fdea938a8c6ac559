#include "millrace/master/master_options.h"

#include <utility>

namespace millrace {

namespace {

std::string address_of(const Members& members, const TaskName& task) {
  const auto address = members.address(task);
  return address.ok() ? *address : "";
}

// A bijection that scatters neighbours (the finaliser of splitmix64): ids of one master are
// distinct before they are cut to 57 bits, and look random to others.
uint64_t scatter(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

MasterContext::MasterContext(MasterOptions given)
    : options(std::move(given)),
      own_address(address_of(*options.members, options.own_task)),
      workers(options.members, options.workers, options.host),
      step_seed_(options.host.random.next()) {}

Result<std::shared_ptr<WorkerService>> MasterContext::worker(const TaskName& member) {
  if (member == options.own_task) return options.workers.worker(member, own_address);
  return workers.worker(member);
}

int64_t MasterContext::next_step_id() {
  host().metrics.add(Counter::steps_started);
  constexpr uint64_t kMask = (uint64_t{1} << 57) - 1;
  for (;;) {
    const uint64_t id =
        scatter(step_seed_ + steps_.fetch_add(1, std::memory_order_relaxed)) & kMask;
    if (id != 0) return static_cast<int64_t>(id);
  }
}

Call MasterContext::cleanup_call() {
  return {.cancellation = &stopping,
          .runner = nullptr,
          .waiting = false,
          .deadline = now() + options.cleanup_timeout};
}

}  // namespace millrace
