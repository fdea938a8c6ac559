// Nodes one after the other made one op, where nobody else sees what is between:
//
//   Relu(BiasAdd(Conv2D(x, filter), bias))        becomes      _FusedConv2D(x, filter, bias)
//   ReluGrad(MaxPoolGrad(x, pooled, grad), x)     becomes      _MaxPoolReluGrad(x, pooled, grad)
//
// under the name and with the consumers of the last one. The ops compute the same numbers as those
// that they stand for, but for the sign of a zero; what is saved is that a whole tensor is written
// and read again for each. Those of products are known to TensorFlow's master too. Only on tasks of
// this process: others may be TensorFlow's, whose op of that name has other attributes in each
// version, or none.
#pragma once

#include "millrace/plan/device_set.h"
#include "millrace/plan/step_graph.h"

namespace millrace {

// Works on a placed step. Errors: none that a graph can cause.
Status fuse_chains(StepGraph& step, const DeviceSet& devices);

}  // namespace millrace
