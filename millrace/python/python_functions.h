// PythonFunctions: what PyFunc nodes call in this process: functions of the program, by token.
//
// It keeps no function itself. The Python side (frontend/_ops/script_calls.py) has the table, calls
// what it finds and says what became of an error; this brings tensors there and back.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "millrace/op/registry.h"
#include "millrace/ops/script/script_host.h"

namespace millrace::python {

class PythonFunctions final : public ScriptHost {
 public:
  // What is called: (token, list of arrays) -> a list of (dtype number, array), or for an error the
  // tuple (code, message). None: nothing any more. Needs the GIL.
  void set_caller(pybind11::object caller) { caller_ = std::move(caller); }

  // Without the GIL; on any thread.
  Result<std::vector<Tensor>> call(const std::string& token, std::vector<Tensor> inputs) override;

 private:
  Result<std::vector<Tensor>> call_with_gil(const std::string& token, std::vector<Tensor> inputs);

  pybind11::object caller_ = pybind11::none();  // guarded by the GIL
};

// All ops, of which those that call functions call these.
std::shared_ptr<const OpRegistry> ops_that_call(std::shared_ptr<PythonFunctions> functions);

}  // namespace millrace::python
