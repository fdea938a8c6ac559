// CollectiveFuzz: replicas that meet in collectives (sums by rings and trees, gathers, broadcasts,
// one after the other within a step), while random faults happen to their tasks.
//
// From one seed: how many there are, which collectives their steps have and of what size, who gives
// up when, and what happens to the tasks meanwhile (faults.h). It complains if an error has no
// cause or names nobody, if a call is not answered, if results are not those that meetings.h
// allows, if the group does not come together again once all is healed, and if anything is left in
// the end.
#pragma once

#include "tests/simulation/fuzz.h"

namespace millrace::simulation {

// Of the options, `tasks` is 2 at least, or drawn; the same ones make the same run.
FuzzOutcome fuzz_collectives(const OpRegistry& ops, const FuzzOptions& options);

}  // namespace millrace::simulation
