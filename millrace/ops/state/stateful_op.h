// An op that has state: it is never folded, nor merged with an equal one. The families whose ops
// act on a resource (variables, stacks, tensor arrays) make theirs with it.
#pragma once

#include <string>
#include <utility>

#include "millrace/op/op_def.h"

namespace millrace {

inline OpDef stateful_op(std::string name, std::string doc, std::string signature, InferFn infer,
                         KernelFactory cpu, Cost cost = Cost::by_size) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = std::move(infer),
          .cpu = std::move(cpu),
          .stateful = true,
          .foldable = false,
          .cost = cost};
}

}  // namespace millrace
