// The families of ops in this room, one per kind of what a Summary holds.
//
// A family is a source file with its ops as values; register_summary adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_summary(OpRegistry& ops);

// ScalarSummary, HistogramSummary, and MergeSummary, which puts summaries together.
Status register_number_summaries(OpRegistry& ops);
// ImageSummary: pictures as PNG.
Status register_image_summaries(OpRegistry& ops);
// AudioSummary and AudioSummaryV2: sounds as WAV.
Status register_sound_summaries(OpRegistry& ops);
// TensorSummary and TensorSummaryV2: tensors as they are.
Status register_tensor_summaries(OpRegistry& ops);

}  // namespace millrace
