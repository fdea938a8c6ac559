// What the scopes and outputs of one GraphBuilder share.
#pragma once

#include <memory>
#include <utility>

#include "millrace/api/builder.h"

namespace millrace {

struct BuildState {
  explicit BuildState(std::shared_ptr<Builder> made) : builder(std::move(made)) {}

  const std::shared_ptr<Builder> builder;
  Status error;  // the first one
};

}  // namespace millrace
