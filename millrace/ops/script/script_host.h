// ScriptHost: the functions of the program that made a graph, by the tokens that its nodes have.
//
// The front-end of a language implements it and gives it to register_script (families.h) for the
// registry of its process; kernels keep it alive. It is not how graphs call functions of graphs:
// that is planning's matter (plan/lower.h).
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

class ScriptHost {
 public:
  virtual ~ScriptHost() = default;

  // Calls the function of `token` and gives what it returns, of whatever number and types. Called
  // on threads that may wait, by several at once; the call takes as long as the function does.
  // Errors: INVALID_ARGUMENT if this process has no function of the token; else what became of the
  // function's own error, with where it was raised.
  virtual Result<std::vector<Tensor>> call(const std::string& token,
                                           std::vector<Tensor> inputs) = 0;
};

}  // namespace millrace
