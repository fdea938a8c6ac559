// What a program can do: the rooms of ops, and all their ops in one registry.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "millrace/op/registry.h"

namespace millrace {

class ScriptHost;  // ops/script/script_host.h

// A room of ops, and what adds its families to a registry.
struct OpRoom {
  std::string_view name;  // "math": the folder, and the name of its generated functions
  Status (*add)(OpRegistry& ops);
};

// In the order in which they are added.
std::span<const OpRoom> op_rooms();

// `scripts` has the functions of this process that graphs may call; null: there are none.
// Errors: ALREADY_EXISTS if the registry has one of them.
Status register_all_ops(OpRegistry& ops, std::shared_ptr<ScriptHost> scripts = nullptr);

}  // namespace millrace
