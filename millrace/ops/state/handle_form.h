// The three forms that a handle has had over time: what an op gives that makes a resource.
//
//   reference   to the strings of a container and a name, of before TensorFlow 1.0
//   strings     the same as a plain tensor: tensor arrays of their second version
//   resource    a tensor of one ResourceHandle
//
// Whoever takes one reads it with named_by_input(), whatever its form.
#pragma once

#include <string_view>

#include "millrace/ops/state/resource_handle_kernel.h"

namespace millrace {

enum class HandleForm : uint8_t { reference, strings, resource };

// The form that a node's first output has, for kernel_with() of op/bind.h.
struct BoundHandleForm {
  Result<HandleForm> read(const KernelSpec& spec) const {
    if (spec.outputs[0].is_ref) return HandleForm::reference;
    return spec.outputs[0].dtype == DType::string ? HandleForm::strings : HandleForm::resource;
  }
};

// Gives output 0 a handle of what bears that name.
inline void give_handle(KernelContext& context, HandleForm form, const ResourceName& name,
                        std::string_view type_name) {
  if (form == HandleForm::resource)
    return context.set_output(0, Tensor::scalar(make_handle(context, name, type_name)));
  Tensor strings = Tensor::vector<std::string>({name.container, name.name});
  if (form == HandleForm::strings) return context.set_output(0, std::move(strings));
  const auto held = std::make_shared<HandleStrings>();
  held->tensor = std::move(strings);
  context.set_output_ref(0, {&held->mutex, &held->tensor, held});
}

}  // namespace millrace
