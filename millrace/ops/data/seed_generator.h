// Seed generators as resources: what gives walks along shuffled datasets their seeds, for as long
// as the resource lives.
#pragma once

#include <memory>

#include "millrace/op/kernel.h"
#include "millrace/op/registry.h"
#include "millrace/ops/data/seeds.h"

namespace millrace::data {

// The seeds behind a handle; null for the handle of a DummySeedGenerator, which stands for none.
// Errors: NOT_FOUND; INVALID_ARGUMENT for another handle.
Result<std::shared_ptr<WalkSeeds>> seed_generator_at(KernelContext& context, int slot);

}  // namespace millrace::data
