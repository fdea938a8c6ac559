// OpDef: everything that is to be known about one op, in one value.
//
//   MR_TRY(ops.add({
//       .name = "Neg",
//       .doc = "The negative of x, element by element.",
//       .signature = "x: T -> y: T | T: {bfloat16, half, float, double, int32, int64}",
//       .infer = infer::same_as_input,
//       .cpu = cpu::unary<Signed>([](auto x) { return -x; }),
//       .examples = {"[1 -2] -> [-1 2]"},
//   }));
//
// Names, argument order, attributes, types and defaults are those of TensorFlow's op set, because
// graphs and partitions arrive from it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/attrs.h"
#include "millrace/tensor/attr_value.h"

namespace millrace {

class GradContext;
class InferContext;
class Kernel;
struct KernelSpec;

// The type of one argument: a fixed dtype, an attribute that names one, or a list.
struct ArgDef {
  std::string name;
  DType dtype = DType::invalid;  // fixed type, or
  std::string type_attr;         // an attribute of kind "type", or
  std::string type_list_attr;    // an attribute of kind "list(type)": one argument per entry
  std::string number_attr;       // an attribute of kind "int": that many arguments of the type
  bool is_ref = false;           // carries a reference to a variable's tensor
};

struct AttrDef {
  std::string name;
  std::string kind;                          // "type", "int", "list(type)" …: TensorFlow's words
  std::optional<AttrValue> default_value;    // none: required, or found from the inputs
  std::optional<int64_t> minimum;            // of an int, or of a list's length
  std::vector<DType> allowed_types;          // of a type or list(type); empty: any
  std::vector<std::string> allowed_strings;  // of a string; empty: any
};

// How dear one run of the kernel is, for the executor's choice between running it at once and
// sharing it with the pool.
enum class Cost : uint8_t {
  cheap,    // always inline: bookkeeping, scalars
  by_size,  // worth a hand-over once the inputs are large
  heavy,    // worth one unless the inputs are tiny
};

// What the executor and the planning passes must know of an op beyond its kernel.
enum class Role : uint8_t {
  ordinary,
  nothing,  // has no inputs and outputs; only its control edges mean something
  // Control flow of TensorFlow 1: which values are dead, and in which frame and iteration nodes
  // run.
  switch_,          // forwards its data to one of its outputs; the other one is dead
  merge,            // runs as soon as one input is alive, or when all are dead
  enter,            // moves its input into a loop's frame
  exit,             // moves its input out of the frame
  next_iteration,   // moves its input to the next iteration
  loop_cond,        // the loop's decision; at most one per frame
  control_trigger,  // runs even if a control input is dead
  // Transfers: never skipped, because the other end waits; they carry death along.
  send,
  receive,
  // Attributes name functions, whose bodies planning puts in the node's place.
  call,
  conditional,
  selection,
  loop,
  function_gradient,  // of the function that is named: made when it is planned
};

inline bool calls_functions(Role role) {
  return role >= Role::call && role <= Role::function_gradient;
}

// Where a node's value comes from, for passes that need no kernel to know it.
enum class Source : uint8_t {
  computed,
  constant,  // output 0 is the attribute "value"
  fed,       // only a feed gives it a value; running the kernel is an error
};

// What of input 0's shape output 0 is. Such an op reads no element, so that nobody moves data for
// it, and a shape that is known answers it.
enum class ShapeFact : uint8_t { none, dims, num_elements, rank };

using InferFn = std::function<Status(InferContext&)>;
// What is known of the elements of output 0 before anything runs, from what is known of the inputs'
// (infer.h); asked only where that is an int32 or int64 vector or scalar.
using ElementsFn =
    std::optional<std::vector<std::optional<int64_t>>> (*)(const InferContext& context);
using KernelFactory = std::function<Result<std::unique_ptr<Kernel>>(const KernelSpec&)>;
// Adds the nodes that make the gradients of the inputs from those of the outputs; see gradient.h.
using GradFn = Status (*)(GradContext&);

// A kernel for devices of another type than CPU; from a folder of its own, by
// OpRegistry::add_kernel.
struct DeviceKernel {
  std::string device_type;  // "GPU", as in device names
  KernelFactory make;
};

// One op. Fill it with designated initialisers; what follows `signature` has a default.
struct OpDef {
  std::string name;
  std::string doc;
  // "inputs -> outputs | attributes"; grammar in signature.h.
  std::string signature;

  InferFn infer = nullptr;      // none: output shapes are unknown
  KernelFactory cpu = nullptr;  // none: known by name, refused at placement
  std::vector<DeviceKernel> kernels = {};

  // How gradients flow through it, or the words why they do not. Both empty: not written yet.
  GradFn grad = nullptr;
  std::string not_differentiable = {};

  Role role = Role::ordinary;
  bool stateful = false;     // never folded, merged, or dropped; kept per session by node name
  bool commutative = false;  // the first two inputs may be swapped
  bool foldable = true;      // may run at planning time when all inputs are constant
  bool allows_uninitialized_input = false;  // may see a reference that holds no value yet
  bool is_foreign = false;  // known by its use in a graph alone: OpRegistry::foreign
  Source source = Source::computed;
  ShapeFact tells = ShapeFact::none;
  ElementsFn elements = nullptr;  // of ops by which programs put shapes together
  bool passes_on = false;         // is its only input, unchanged, and does nothing else
  Cost cost = Cost::by_size;
  // What the op makes of given values: "[1 2], [3 4] -> [4 6]"; grammar in example.h. The sweep of
  // all ops runs them for every type that the op allows.
  std::vector<std::string> examples = {};

  // Filled from `signature` by OpRegistry::add.
  std::vector<ArgDef> inputs = {};
  std::vector<ArgDef> outputs = {};
  std::vector<AttrDef> attrs = {};

  const AttrDef* find_attr(std::string_view name) const;
  // The kernel for devices of a type ("CPU"); null if there is none.
  const KernelFactory* kernel_for(std::string_view device_type) const;
};

// The concrete type of one input or output of a node.
struct ArgType {
  DType dtype = DType::invalid;
  bool is_ref = false;
  friend bool operator==(const ArgType&, const ArgType&) = default;
};

// The types of a node's inputs (or outputs) in slot order, lists flattened.
// Errors: INVALID_ARGUMENT if an attribute that decides them is missing or of the wrong kind, or a
// count is negative or over 10^6.
Result<std::vector<ArgType>> resolve_args(const OpDef& op, const std::vector<ArgDef>& args,
                                          const Attrs& attrs);

// Where each argument begins in the flattened slots; size args + 1.
Result<std::vector<int>> arg_offsets(const OpDef& op, const std::vector<ArgDef>& args,
                                     const Attrs& attrs);

// Checks a node's attributes against the op: kinds, allowed values, minima, required ones present.
// Attributes that the op doesn't know are left alone (newer clients send them).
Status check_attrs(const OpDef& op, const Attrs& attrs);

}  // namespace millrace
