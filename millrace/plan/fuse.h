// Products, their biases and activations made one op, where nobody else sees what is between:
//
//   BiasAdd(Conv2D(x, filter), bias) -> Relu      becomes      _FusedConv2D(x, filter, bias)
//
// under the name and with the consumers of the last one. The ops are those of TensorFlow's master,
// and compute the same numbers as the three; what is saved is that a whole tensor is written and
// read again for each. Only on tasks of this process: others may be TensorFlow's, whose op of that
// name has other attributes in each version.
#pragma once

#include "millrace/plan/device_set.h"
#include "millrace/plan/step_graph.h"

namespace millrace {

// Works on a placed step. Errors: none that a graph can cause.
Status fuse_tails(StepGraph& step, const DeviceSet& devices);

}  // namespace millrace
