// Kernels that are made from what their node says, in a line:
//
//   .cpu = kernel_from<GatherKernel>(integer("batch_dims"))    // GatherKernel(int64_t)
//   .cpu = kernel_with(gather_along, integer("batch_dims"))    // Result<Tensor>(KernelContext&,
//                                                              //                int64_t)
//   .cpu = kernel_with(range, cpu::loop_of_input<Ordered>([]<class T>() { return &range_of<T>; }))
//
// What is bound is read once, when the kernel is made, in the order in which it is named; the first
// error is the kernel's. Anything is bound that has `Result<T> read(const KernelSpec&) const`: an
// attribute, or a loop for the type of an input (ops/loops/loop_of.h). Names must be literals.
#pragma once

#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "millrace/op/kernel.h"

namespace millrace {

// One attribute of a type, by name.
template <class T>
struct BoundAttr {
  std::string_view name;
  Result<T> (AttrView::*getter)(std::string_view) const;

  Result<T> read(const KernelSpec& spec) const { return (spec.attrs.*getter)(name); }
};

inline BoundAttr<int64_t> integer(std::string_view name) { return {name, &AttrView::integer}; }
inline BoundAttr<bool> boolean(std::string_view name) { return {name, &AttrView::boolean}; }
inline BoundAttr<float> real(std::string_view name) { return {name, &AttrView::real}; }
inline BoundAttr<DType> type(std::string_view name) { return {name, &AttrView::type}; }
inline BoundAttr<std::string> text(std::string_view name) { return {name, &AttrView::string}; }
inline BoundAttr<PartialShape> partial_shape(std::string_view name) {
  return {name, &AttrView::shape};
}
inline BoundAttr<std::vector<int64_t>> integers(std::string_view name) {
  return {name, &AttrView::integers};
}

template <class B>
concept Bound = requires(const B& bound, const KernelSpec& spec) {
  bound.read(spec).ok();
};

namespace internal_bind {

// make(values...) if all can be read; else the first error.
template <class Make>
Result<std::unique_ptr<Kernel>> read_then(const KernelSpec&, Make make) {
  return make();
}
template <class Make, class First, class... Rest>
Result<std::unique_ptr<Kernel>> read_then(const KernelSpec& spec, Make make, const First& first,
                                          const Rest&... rest) {
  MR_ASSIGN(auto value, first.read(spec));
  return read_then(
      spec,
      [&](auto&&... values) {
        return make(std::move(value), std::forward<decltype(values)>(values)...);
      },
      rest...);
}

}  // namespace internal_bind

// K(values of what is bound...).
template <class K, Bound... B>
KernelFactory kernel_from(B... bound) {
  return [bound...](const KernelSpec& spec) {
    return internal_bind::read_then(
        spec,
        [](auto&&... values) -> Result<std::unique_ptr<Kernel>> {
          return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(values)...));
        },
        bound...);
  };
}

// A kernel without state that runs `run(context, values of what is bound...)`, which gives a
// Status, or the only output as a Result<Tensor>.
template <class Run, Bound... B>
KernelFactory kernel_with(Run run, B... bound) {
  return [run, bound...](const KernelSpec& spec) {
    return internal_bind::read_then(
        spec,
        [&](auto&&... values) -> Result<std::unique_ptr<Kernel>> {
          return kernel([run, ... values = std::move(values)](KernelContext& context) {
            return run(context, values...);
          })(spec);
        },
        bound...);
  };
}

}  // namespace millrace
