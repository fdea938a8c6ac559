// Kernels that are made from attributes, in a line:
//
//   .cpu = kernel_from<GatherKernel>(integer("batch_dims"))       // GatherKernel(int64_t)
//   .cpu = kernel_with(gather_along, integer("batch_dims"))       // Status(KernelContext&,
//   int64_t)
//
// Attributes are read once, when the kernel is made. Their names must be literals.
#pragma once

#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "millrace/op/kernel.h"

namespace millrace {

// One attribute of a type, by name.
template <class T>
struct BoundAttr {
  std::string_view name;
  Result<T> (AttrView::*read)(std::string_view) const;
};

inline BoundAttr<int64_t> integer(std::string_view name) { return {name, &AttrView::integer}; }
inline BoundAttr<bool> boolean(std::string_view name) { return {name, &AttrView::boolean}; }
inline BoundAttr<float> real(std::string_view name) { return {name, &AttrView::real}; }
inline BoundAttr<DType> type(std::string_view name) { return {name, &AttrView::type}; }
inline BoundAttr<std::string> text(std::string_view name) { return {name, &AttrView::string}; }

namespace internal_bind {

// make(values...) if all attributes are there; else the first error.
template <class Make>
Result<std::unique_ptr<Kernel>> read_then(const KernelSpec&, Make make) {
  return make();
}
template <class Make, class First, class... Rest>
Result<std::unique_ptr<Kernel>> read_then(const KernelSpec& spec, Make make, BoundAttr<First> first,
                                          BoundAttr<Rest>... rest) {
  MR_ASSIGN(First value, (spec.attrs.*first.read)(first.name));
  return read_then(
      spec,
      [&](auto&&... values) {
        return make(std::move(value), std::forward<decltype(values)>(values)...);
      },
      rest...);
}

}  // namespace internal_bind

// K(values of the attributes...).
template <class K, class... T>
KernelFactory kernel_from(BoundAttr<T>... attrs) {
  return [attrs...](const KernelSpec& spec) {
    return internal_bind::read_then(
        spec,
        [](T... values) -> Result<std::unique_ptr<Kernel>> {
          return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(values)...));
        },
        attrs...);
  };
}

// A kernel without state that runs `run(context, values of the attributes...)`.
template <class... T>
KernelFactory kernel_with(Status (*run)(KernelContext&, T...), BoundAttr<T>... attrs) {
  return [run, attrs...](const KernelSpec& spec) {
    return internal_bind::read_then(
        spec,
        [&](T... values) -> Result<std::unique_ptr<Kernel>> {
          return kernel(
              [run, values...](KernelContext& context) { return run(context, values...); })(spec);
        },
        attrs...);
  };
}

}  // namespace millrace
