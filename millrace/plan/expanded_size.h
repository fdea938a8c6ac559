// ExpandedSize: how many nodes functions become where they take the place of their calls, told
// before a single one is copied. A few functions that call each other twice are millions of nodes;
// to find that out by copying takes seconds and all the memory that lowering may use.
//
// A lower bound: nodes that lowering adds around bodies are not counted, nor functions that an
// attribute of a function names, nor what calls itself, which lowering refuses. Part of lowering.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/function.h"

namespace millrace {

class ExpandedSize {
 public:
  // Both must outlive this.
  ExpandedSize(const FunctionLibrary& library, const OpRegistry& ops)
      : library_(library), ops_(ops) {}

  // The nodes of the functions that a node calls, and of those that they call; no number is beyond
  // kMany.
  uint64_t of_call(const Node& node);

  static constexpr uint64_t kMany = uint64_t{1} << 62;

 private:
  using Functions = std::vector<const wire::FunctionDef*>;
  // A function that is being counted.
  struct Visit {
    const wire::FunctionDef* function = nullptr;
    Functions callees;
    size_t next = 0;  // of them to be counted
    uint64_t nodes = 0;
  };

  uint64_t of_function(const wire::FunctionDef* function);
  Visit begin(const wire::FunctionDef* function) const;
  void add_named(std::string_view name, Functions& functions) const;
  void add_called(const AttrValue& value, Functions& functions) const;

  const FunctionLibrary& library_;
  const OpRegistry& ops_;
  absl::flat_hash_map<const wire::FunctionDef*, uint64_t> known_;  // 0 while it is being counted
};

}  // namespace millrace
