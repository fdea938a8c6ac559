// Loops for kernel_with() and kernel_from() of op/bind.h: chosen by the type of an input or output
// when the kernel is made; if there is none for it, the kernel can't be made (no_loop).
//
//   .cpu = kernel_with(cumsum, cpu::loop_of_input<Number>([]<class T>() { return &cumsum_of<T>; }))
//   .cpu = kernel_from<AddKernel>(cpu::LoopFor{addition_loop})      // BinaryLoop(DType)
#pragma once

#include <vector>

#include "millrace/op/bind.h"
#include "millrace/ops/loops/cpu_loops.h"

namespace millrace::cpu {

template <class TypeList>
struct FirstOf;
template <class First, class... Rest>
struct FirstOf<Types<First, Rest...>> {
  using type = First;
};

// make.operator()<T>(), a pointer to a function whose type is the same for each T of the list.
template <class TypeList, class Make>
struct LoopOf {
  Make make;
  // Of the first of these.
  const std::vector<ArgType>& (*args)(const KernelSpec& spec);

  using Loop =
      decltype(std::declval<const Make&>().template operator()<typename FirstOf<TypeList>::type>());

  Result<Loop> read(const KernelSpec& spec) const {
    const DType dtype = args(spec)[0].dtype;
    const Loop loop = pick<Loop>(TypeList(), dtype, make);
    if (loop == nullptr) return no_loop(spec, dtype);
    return loop;
  }
};

template <class TypeList, class Make>
LoopOf<TypeList, Make> loop_of_input(Make make) {
  return {make, [](const KernelSpec& spec) -> const std::vector<ArgType>& { return spec.inputs; }};
}
template <class TypeList, class Make>
LoopOf<TypeList, Make> loop_of_output(Make make) {
  return {make, [](const KernelSpec& spec) -> const std::vector<ArgType>& { return spec.outputs; }};
}

// What a function gives for the type of input `slot`.
template <class Loop>
struct LoopFor {
  Loop (*loop_for)(DType);
  int slot = 0;

  Result<Loop> read(const KernelSpec& spec) const {
    const DType dtype = spec.inputs[static_cast<size_t>(slot)].dtype;
    const Loop loop = loop_for(dtype);
    if (loop == nullptr) return no_loop(spec, dtype);
    return loop;
  }
};
template <class Loop>
LoopFor(Loop (*)(DType)) -> LoopFor<Loop>;
template <class Loop>
LoopFor(Loop (*)(DType), int) -> LoopFor<Loop>;

}  // namespace millrace::cpu
