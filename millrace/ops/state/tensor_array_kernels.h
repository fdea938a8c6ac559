// What ops on tensor arrays do, whatever form their handles have: the third version's are
// resources, the two of before TensorFlow 1.0 are strings, or references to them.
//
// The names are those of the ops. Inputs stand as in their signatures, the handle first; where an
// older op lacks an input, the kernel does what that says.
#pragma once

#include <string>

#include "millrace/ops/state/handle_form.h"

namespace millrace::tensor_arrays {

// TensorArray, of any version.
KernelFactory make_array();
// Finds the array of gradients that `source` asks for, or makes it as long as the array is now, of
// elements as large, or with the dims of input 2 before their own.
Status find_gradient_array(KernelContext& context, const std::string& source, HandleForm form);
Status write_element(KernelContext& context);
Result<Tensor> read_element(KernelContext& context);
// The elements that input 1 names, or all of them where there is no such input (Pack).
Result<Tensor> gather_elements(KernelContext& context, const PartialShape& declared);
// At the indices of input 1, or one after another from the first where there is none (Unpack).
Status scatter_elements(KernelContext& context);
Status concat_elements(KernelContext& context, const PartialShape& except0);
Status split_elements(KernelContext& context);
Result<Tensor> array_size(KernelContext& context);
Status close_array(KernelContext& context);

}  // namespace millrace::tensor_arrays
