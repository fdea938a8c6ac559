// Surroundings: what ops need that tensors alone don't give. Variables, queues, tables, lists,
// datasets and the like are made by the ops that make them, on the bench where the case then runs;
// so are references and handles to nothing.
//
// One per case, for one thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tests/hostile/draw.h"

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace::hostile {

// One way to make a resource, a reference or a variant.
struct Maker {
  std::string_view serves;  // names of ops that contain it want such a thing
  std::string_view name;    // of the op that makes it
  Result<Value> (*make)(Bench& bench, Draw& draw, DType of);
};

std::span<const Maker> resource_makers();
std::span<const Maker> reference_makers();  // to strings, which are handles
std::span<const Maker> variant_makers();

class Surroundings {
 public:
  Surroundings(const OpRegistry& ops, Draw& draw);

  Bench& bench() { return bench_; }
  // What functions take and give that a case calls: they give back what they get.
  void set_function_types(std::vector<DType> types);

  // For an input of the op: most often of the kind that its name tells, sometimes of another, or
  // nothing at all.
  Value resource(std::string_view op, DType of);
  Value reference(std::string_view op, DType dtype);
  Value variant(std::string_view op, DType of);

 private:
  Value made_for(std::string_view op, DType of, std::span<const Maker> makers);

  Draw& draw_;
  millrace::testing::MemoryFiles files_;
  Bench bench_;
};

}  // namespace millrace::hostile
