#include "tests/simulation/sim_host.h"

#include <utility>

namespace millrace::simulation {

SimHost::SimHost(World& world, std::string name, uint64_t seed, HearLog hear)
    : actor_(world),
      clock_(world),
      timers_(actor_),
      random_(seed),
      pool_(actor_, SimRunner::Pace::of_the_task),
      endings_(actor_, SimRunner::Pace::always_quick),
      sink_(std::move(hear)),
      log_(sink_, std::move(name)),
      host_{clock_, timers_, random_, pool_, endings_, endings_, log_, metrics_, files_} {}

}  // namespace millrace::simulation
