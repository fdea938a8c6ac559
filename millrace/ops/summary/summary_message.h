// A Summary message, as TensorFlow's encoder writes it: a run of values in field 1, each with its
// tag and one thing.
//
//   message Summary { repeated Value value = 1; }
//   message Value {
//     string tag = 1;
//     oneof { float simple_value = 2; Image image = 4; HistogramProto histo = 5; Audio audio = 6;
//             TensorProto tensor = 8; }
//     string node_name = 7;
//     SummaryMetadata metadata = 9;
//   }
//
// Fields go out in the order of their numbers, so that the bytes are those of TensorFlow.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/format/wire_format.h"
#include "millrace/op/kernel.h"

namespace millrace::summary {

inline constexpr int kValue = 1;  // of the Summary
enum ValueField : int {
  kTag = 1,
  kSimpleValue = 2,
  kImage = 4,
  kHistogram = 5,
  kAudio = 6,
  kNodeName = 7,
  kTensor = 8,
  kMetadata = 9
};
enum ImageField : int { kHeight = 1, kWidth = 2, kColorspace = 3, kEncodedImage = 4 };
enum HistogramField : int {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kBucketLimit = 6,
  kBucket = 7
};
enum AudioField : int {
  kSampleRate = 1,
  kNumChannels = 2,
  kLengthFrames = 3,
  kEncodedAudio = 4,
  kContentType = 5
};
enum TensorField : int { kDType = 1, kShape = 2, kContent = 4, kStrings = 8 };

// As proto3 does, a field that holds its default is left out.
void put_text(std::string* out, int number, std::string_view text);
void put_number(std::string* out, int number, int64_t value);
void put_double(std::string* out, int number, double value);

// The only string of an input. Errors: INVALID_ARGUMENT that calls it `what`.
Result<std::string> scalar_text(const Tensor& tensor, std::string_view what);

// The tag of picture (sound, ...) `index` of at most `most`: "tag/image", numbered if there may be
// several.
std::string tag_of(std::string_view tag, std::string_view kind, int64_t index, int64_t most);

// The message as output 0.
void set_summary(KernelContext& context, std::string message);

}  // namespace millrace::summary
