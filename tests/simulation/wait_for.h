// wait_for: a call of whoever tells the story, who can't go on without the answer.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tests/simulation/world.h"

#include "millrace/base/done.h"

namespace millrace::simulation {

// start(done) makes a call; the world goes on until it is answered, 400 s at most.
template <class Reply, class Start>
Outcome<Reply> wait_for(World& world, Start start) {
  auto answer = std::make_shared<std::optional<Outcome<Reply>>>();
  start(Done<Reply>([answer](Outcome<Reply> outcome) { answer->emplace(std::move(outcome)); }));
  for (int i = 0; i < 4000 && !*answer; ++i)
    world.run_until(world.now() + std::chrono::milliseconds(100));
  if (!*answer) return Outcome<Reply>(internal("not answered"));
  return *std::move(*answer);
}

}  // namespace millrace::simulation
