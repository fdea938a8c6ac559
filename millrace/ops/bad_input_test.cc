// What ops answer to inputs that make no sense: an error in words that say what and where, never a
// crash. The words are TensorFlow's where its clients look for them.
#include <doctest/doctest.h>

#include "millrace/op/gradient.h"
#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& all_ops() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_all_ops(*made).ok());
    return made;
  }();
  return *ops;
}

std::string message(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return run_op(all_ops(), op, std::move(inputs), std::move(attrs)).status().message();
}

Tensor ints(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }
Tensor floats(std::initializer_list<float> values) { return Tensor::vector<float>(values); }
Tensor one(int32_t value) { return Tensor::scalar(value); }

TEST_CASE("shapes that don't fit together are named") {
  CHECK(message("Add", {floats({1, 2}), floats({1, 2, 3})}) == "Incompatible shapes: [2] vs. [3]");
  CHECK(message("Reshape", {floats({1, 2}), ints({3})}) ==
        "Input to reshape is a tensor with 2 values, but the requested shape has 3");
  CHECK(message("Reshape", {floats({1, 2}), ints({-1, -1})}) ==
        "Only one input size may be -1, not both 0 and 1");
  CHECK(message("Reshape", {floats({1, 2}), ints({1 << 30, 1 << 30, 1 << 30})}) != "");
  CHECK(message("Reshape", {Tensor::zeros(DType::f32, {0, 5}).value(), ints({0, -1, 3})}) ==
        "Input to reshape is a tensor with 5 values, but the requested shape requires a multiple "
        "of 3");
  CHECK(message("Reshape", {floats({1, 2}), ints({0, -1})}) ==
        "Input to reshape is a tensor with 2 values, but the requested shape has 0");
  CHECK(message("ConcatV2", {floats({1, 2}), Tensor::of<float>({1, 3}, {1, 2, 3}), one(0)}) ==
        "ConcatOp : Ranks of all input tensors should match: shape[0] = [2] vs. shape[1] = [1,3]");
  CHECK(message("MatMul", {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({1, 2}, {1, 2})}) ==
        "Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2]");
  CHECK(message("Pack", {floats({1}), floats({1, 2})}) ==
        "Shapes of all inputs must match: values[0].shape = [1] != values[1].shape = [2]");
  CHECK(message("AddN", {floats({1}), floats({1, 2})}) ==
        "Inputs to operation node of type AddN must have the same size and shape.  Input 0: [1] != "
        "input 1: [2]");
  CHECK(message("Squeeze", {floats({1, 2})}, {{"squeeze_dims", std::vector<int64_t>{0}}}) ==
        "Can not squeeze dim[0], expected a dimension of 1, got 2");
  CHECK(message("BroadcastTo", {floats({1, 2}), ints({3})}) == "Incompatible shapes: [2] vs. [3]");
}

TEST_CASE("axes and indices out of range are named with the range") {
  CHECK(message("GatherV2", {floats({1, 2}), one(5), one(0)}) == "indices = 5 is not in [0, 2)");
  CHECK(message("Gather", {floats({1, 2}), Tensor::of<int32_t>({1, 2}, {0, -1})}) ==
        "indices[0,1] = -1 is not in [0, 2)");
  const Attrs three{{"num_partitions", 3}};
  const Tensor data = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  // Rows that nobody has may be of any size.
  const Tensor none = Tensor::allocate(DType::f32, {0, INT64_MAX / 8}).value();
  CHECK(run_op(all_ops(), "DynamicPartition", {none, ints({})}, three).ok());
  CHECK(message("DynamicPartition", {data, one(17)}, three) == "partitions = 17 is not in [0, 3)");
  CHECK(message("DynamicPartition", {data, ints({0, -1})}, three) ==
        "partitions[1] = -1 is not in [0, 3)");
  CHECK(message("DynamicPartition", {data, Tensor::of<int32_t>({2, 2}, {0, 1, 3, 0})}, three) ==
        "partitions[1,0] = 3 is not in [0, 3)");
  CHECK(message("DynamicStitch", {ints({-1}), floats({1})}, {{"N", 1}}) ==
        "indices[0] has -1, which is negative, so out of range");
  CHECK(message("Sum", {floats({1, 2}), one(2)}) ==
        "Invalid reduction dimension (2 for input with 1 dimension(s)");
  CHECK(message("Cumsum", {floats({1, 2}), one(1)}) ==
        "ScanOp: Expected scan axis in the range [-1, 1), but got 1");
  CHECK(message("Cumsum", {floats({1, 2}), ints({0})}) == "ScanOp: axis must be a scalar, not [1]");
  CHECK(message("ArgMax", {floats({}), one(0)}) == "Reduction axis 0 is empty in shape [0]");
  CHECK(message("Transpose", {floats({1, 2}), ints({0, 1})}) ==
        "transpose expects a vector of size 1. But input(1) is a vector of size 2");
  CHECK(message("Transpose", {Tensor::of<float>({1, 2}, {1, 2}), ints({1, 1})}) ==
        "0 is missing from {1,1}.");
  CHECK(message("Transpose", {floats({1, 2}), ints({3})}) == "3 is out of range [0 .. 1)");
  CHECK(message("InvertPermutation", {ints({1, 1})}) == "1 is duplicated in the input.");
  CHECK(message("Slice", {floats({1, 2}), ints({3}), ints({0})}) ==
        "Expected begin[0] in [0, 2], but got 3");
  CHECK(message("Slice", {floats({1, 2}), one(0), ints({1})}) ==
        "Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [] and [1] "
        "instead.");
  CHECK(message("Tile", {floats({1, 2}), one(2)}) ==
        "Expected multiples to be 1-D, but got shape []");
  CHECK(message("RandomUniform", {one(2)}, {{"dtype", DType::f32}}) ==
        "shape must be a vector of {int32,int64}, got shape []");
  CHECK(message("ConcatV2", {one(2), one(3), one(0)}, {{"N", 2}}) ==
        "Can't concatenate scalars (use tf.stack instead)");
  CHECK(message("ConcatV2", {ints({2}), one(3), one(0)}, {{"N", 2}}) ==
        "Can't concatenate scalars (use tf.stack instead)");
  CHECK(message("Reshape", {floats({1}), Tensor::vector<int32_t>(std::vector<int32_t>(254, 1))}) ==
        "too many dimensions: must be < 254, but received 254");
  CHECK(message("Split", {ints({}), floats({1, 2})}, {{"num_split", 2}}) ==
        "split_dim_tensor must have exactly one element, but has shape [0]");
  CHECK(message("BroadcastArgs", {ints({2}), ints({3})}) == "Incompatible shapes: [2] vs. [3]");
  CHECK(message("BroadcastGradientArgs", {one(2), ints({3})}) == "In[0] must be a vector.[]");
  CHECK(
      message("ConcatOffset", {one(1), ints({2, 3}), ints({1, 4})}, {{"N", 2}}) ==
      "All dimensions except 1 must match. Input 1 has shape [1 4] and doesn't match input 0 with "
      "shape [2 3].");
  CHECK(message("ConcatOffset", {one(0), one(2), one(2)}, {{"N", 2}}) != "");
  CHECK(message("ConcatOffset", {one(0), ints({2}), ints({2, 2})}, {{"N", 2}}) != "");
  CHECK(message("ExpandDims", {floats({1, 2}), one(2)}) ==
        "ExpandDims' dim is 2; for a tensor of rank 2 it must be in [-2, 2)");
  CHECK(message("SplitV", {floats({1, 2}), Tensor::vector<int64_t>({-1, -1}), one(0)},
                {{"num_split", 2}}) != "");
  CHECK(message("Unpack", {floats({1, 2})}, {{"num", 3}}) ==
        "Input shape axis 0 must equal 3, got shape [2]");
}

TEST_CASE("sizes that no machine has are refused before memory is asked for") {
  const Tensor huge = Tensor::vector<int64_t>({int64_t{1} << 40, int64_t{1} << 40});
  CHECK(message("Fill", {huge, one(0)}) != "");
  CHECK(message("RandomUniform", {huge}, {{"dtype", DType::f32}}) != "");
  CHECK(message("Tile", {floats({1, 2}), Tensor::vector<int64_t>({INT64_MAX})}) != "");
  CHECK(message("Pad", {floats({1, 2}), Tensor::of<int64_t>({1, 2}, {INT64_MAX, 1})}) != "");
  CHECK(message("Fill", {ints({-1}), one(0)}) != "");
  CHECK(message("Range", {Tensor::scalar<int64_t>(INT64_MIN), Tensor::scalar<int64_t>(INT64_MAX),
                          Tensor::scalar<int64_t>(1)}) != "");
  CHECK(message("SegmentSum", {floats({1}), Tensor::vector<int64_t>({INT64_MAX})}) ==
        "segment ids must be < 2^63 - 1");
}

TEST_CASE("rows of no elements that are too many to be numbered are refused") {
  const int64_t many = int64_t{1} << 50;
  CHECK(message("UniqueV2", {*Tensor::zeros(DType::f32, {many, 0}), ints({0})}) != "");
  CHECK(message("GatherNd",
                {*Tensor::zeros(DType::f32, {0}), *Tensor::zeros(DType::i32, {many, 0})}) != "");
}

TEST_CASE("rows of no elements are not walked along, however many they are") {
  const int64_t many = int64_t{1} << 60;
  const Tensor none = *Tensor::zeros(DType::f32, {many, 0});
  const Tensor no_images = *Tensor::zeros(DType::f32, {0, 1, 2, 1});
  CHECK(message("ArgMax", {none, one(0)}) == "");
  CHECK(message("BiasAddGrad", {none}) == "");
  CHECK(message("CumulativeLogsumexp", {none, one(0)}) == "");
  CHECK(message("RandomShuffle", {none}) == "");
  CHECK(message("MatrixBandPart", {none, one(-1), one(0)}) == "");
  CHECK(message("UnsortedSegmentJoin", {*Tensor::zeros(DType::string, {2, 0}), ints({2, 0}),
                                        Tensor::scalar<int64_t>(many)}) == "");
  CHECK((*run_op(all_ops(), "MirrorPad",
                 {*Tensor::zeros(DType::f32, {many, 0}), Tensor::of<int32_t>({2, 2}, {1, 2, 0, 0})},
                 {{"mode", "SYMMETRIC"}}))[0]
            .shape() == Shape{many + 3, 0});
  CHECK((*run_op(
            all_ops(), "MirrorPadGrad",
            {*Tensor::zeros(DType::f32, {many + 3, 0}), Tensor::of<int32_t>({2, 2}, {1, 2, 0, 0})},
            {{"mode", "SYMMETRIC"}}))[0]
            .shape() == Shape{many, 0});
  CHECK(message("QuantizeAndDequantizeV4",
                {*Tensor::zeros(DType::f32, {0, 1 << 20}), *Tensor::zeros(DType::f32, {1 << 20}),
                 *Tensor::zeros(DType::f32, {1 << 20})},
                {{"axis", int64_t{1}}}) == "");
  for (const char* op : {"ResizeNearestNeighbor", "ResizeBilinear", "ResizeArea"})
    CHECK(message(op, {no_images, ints({2, INT32_MAX})}) == "");
  CHECK(message("CropAndResize",
                {*Tensor::zeros(DType::f32, {1, 3, 2, 0}), Tensor::of<float>({1, 4}, {0, 0, 1, 1}),
                 ints({0}), ints({1, INT32_MAX})}) == "");
}

TEST_CASE("types that are only their bits have no truth, but a zero") {
  const Tensor bits = *Tensor::zeros(DType::qi8, {});
  CHECK(message("ToBool", {bits}) == "ToBool 'node': a qint8 is neither true nor false");
  CHECK(scalar_of(DType::qi8, 0).value() == bits);
  CHECK(scalar_of(DType::qi8, 1).status().message() == "qint8 has no numbers");
}

TEST_CASE("counts that the types of a node contradict are refused") {
  const Tensor bytes = Tensor::vector<std::string>({""});
  const Tensor key = Tensor::scalar<std::string>("a");
  const std::vector<DType> two = {DType::f32, DType::i64};
  CHECK(message("ParseExample", {bytes, bytes, key},
                {{"Nsparse", 1},
                 {"Ndense", 0},
                 {"sparse_types", two},
                 {"Tdense", std::vector<DType>{}},
                 {"dense_shapes", std::vector<PartialShape>{}}}) ==
        "Nsparse is 1, but sparse_types has 2 types");
  CHECK(message("ParseSingleExample", {key},
                {{"num_sparse", 1},
                 {"sparse_keys", std::vector<std::string>{}},
                 {"dense_keys", std::vector<std::string>{}},
                 {"sparse_types", two},
                 {"Tdense", std::vector<DType>{}},
                 {"dense_shapes", std::vector<PartialShape>{}}}) ==
        "num_sparse is 1, but sparse_types has 2 types");
}

TEST_CASE("reserved ids that no memory holds, and datasets that are several, are refused") {
  CHECK(message("FixedUnigramCandidateSampler", {Tensor::of<int64_t>({1, 1}, {0})},
                {{"num_true", 1},
                 {"num_sampled", 1},
                 {"unique", false},
                 {"range_max", INT64_MAX},
                 {"num_reserved_ids", INT64_MAX},
                 {"unigrams", std::vector<float>{1}}}) ==
        "range_max is 9223372036854775807, but 9223372036854775807 reserved ids and 1 weights "
        "were given");
  for (const char* op : {"WrapDatasetVariant", "UnwrapDatasetVariant"}) {
    CHECK(message(op, {Tensor::allocate(DType::variant, {1}).value()}) ==
          "Dataset tensor must be a scalar of dtype DT_VARIANT, not of shape [1]");
  }
}

TEST_CASE("what is left after the last cut is a piece, and truth has no width") {
  const auto cut = [](const char* text) {
    return (*run_op(all_ops(), "StringSplitV2",
                    {Tensor::vector<std::string>({text}), Tensor::scalar<std::string>("")},
                    {{"maxsplit", int64_t{1}}}))[1];
  };
  CHECK(cut("a") == Tensor::vector<std::string>({"a", ""}));
  CHECK(cut(" a b c ") == Tensor::vector<std::string>({"a", "b c "}));
  CHECK(cut("  ") == Tensor::vector<std::string>({}));
  CHECK((*run_op(all_ops(), "AsString", {Tensor::scalar(false)}, {{"width", int64_t{8}}}))[0] ==
        Tensor::scalar<std::string>("false"));
}

TEST_CASE("bytes of the other order are turned round in every element") {
  const Tensor text = Tensor::vector<std::string>({std::string("\1\0\2\0\3", 5)});
  const auto made = run_op(all_ops(), "DecodePaddedRaw", {text, one(6)},
                           {{"out_type", DType::i16}, {"little_endian", false}});
  CHECK(made.value()[0] == Tensor::of<int16_t>({1, 3}, {256, 512, 768}));
}

TEST_CASE("arithmetic that has no result says so, and what overflows wraps around") {
  CHECK(message("FloorDiv", {ints({1}), ints({0})}) == "Integer division by zero");
  CHECK(message("Mod", {ints({1}), ints({0})}) == "Integer division by zero");
  CHECK(message("Pow", {ints({2}), ints({-1})}) ==
        "Integers to negative integer powers are not allowed");
  CHECK(message("Range", {one(0), one(5), one(0)}) == "Requires delta != 0: 0");
  const Tensor lowest = ints({INT32_MIN});
  for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "Mul"})
    CHECK((*run_op(all_ops(), op, {lowest, ints({-1})}))[0] == lowest);
  for (const char* op : {"Mod", "FloorMod"})
    CHECK((*run_op(all_ops(), op, {lowest, ints({-1})}))[0] == ints({0}));
  CHECK((*run_op(all_ops(), "Neg", {lowest}))[0] == lowest);
  CHECK((*run_op(all_ops(), "Abs", {lowest}))[0] == lowest);
}

TEST_CASE("a placeholder that is not fed asks for its value") {
  const auto run = [](Attrs attrs) {
    Bench bench(all_ops());
    return bench.run("Placeholder", {}, {.name = "ph", .attrs = std::move(attrs)}).status();
  };
  CHECK(run({{"dtype", DType::i32}}) ==
        invalid("You must feed a value for placeholder tensor 'ph' with dtype int32"));
  CHECK(run({{"dtype", DType::f32}, {"shape", PartialShape{kUnknownDim, 2}}}) ==
        invalid("You must feed a value for placeholder tensor 'ph' with dtype float and shape "
                "[?,2]"));
}

TEST_CASE("checks say what they found") {
  CHECK(message("Assert", {Tensor::scalar(false), Tensor::vector<int32_t>({1, 2, 3, 4})}) ==
        "assertion failed: [1 2 3...]");
  CHECK(message("CheckNumerics", {floats({1.0f / 0.0f, 0.0f / 0.0f})}, {{"message", "loss"}}) ==
        "loss : Tensor had Inf and NaN values");
  CHECK(message("EnsureShape", {floats({1, 2})}, {{"shape", PartialShape{3}}}) ==
        "Shape of tensor node [2] is not compatible with expected shape [3].");
}

TEST_CASE("texts that are no numbers, and formats that are none, are shown") {
  CHECK(message("StringToNumber", {Tensor::scalar(std::string("1x"))}) ==
        "StringToNumberOp could not correctly convert string: 1x");
  CHECK(message("StringToNumber", {Tensor::scalar(std::string("--1"))}) != "");
  CHECK(message("StringToNumber", {Tensor::scalar(std::string("0x"))}) != "");
  CHECK(message("StringSplit",
                {Tensor::vector<std::string>({"a b"}), Tensor::vector<std::string>({" "})}) ==
        "delimiter must be a scalar, got shape: [1]");
  CHECK(message("AsString", {ints({1})}, {{"shortest", true}}) ==
        "scientific and shortest format not supported for datatype int32");
  CHECK(message("AsString", {ints({1})}, {{"precision", 0}}) ==
        "precision not supported for datatype int32");
  CHECK(message("AsString", {ints({1})}, {{"fill", "x"}}) == "Fill argument not supported: 'x'");
  CHECK(message("AsString", {ints({1})}, {{"width", 1 << 30}}) != "");
}

TEST_CASE("casts of what does not fit are the same everywhere") {
  const auto cast = [](Tensor value, DType to) {
    return (*run_op(all_ops(), "Cast", {std::move(value)}, {{"DstT", to}}))[0];
  };
  CHECK(cast(floats({1e20f, -1e20f, 300}), DType::i32) == ints({INT32_MIN, INT32_MIN, 300}));
  CHECK(cast(floats({300, -1}), DType::u8) == Tensor::vector<uint8_t>({44, 255}));
  CHECK(cast(floats({0.0f / 0.0f}), DType::i64) == Tensor::vector<int64_t>({INT64_MIN}));
  CHECK(run_op(all_ops(), "Cast", {floats({1})}, {{"DstT", DType::string}}).status().code() ==
        Code::unimplemented);
}

TEST_CASE("rows, ranks and formats that small ops can't take are refused in TensorFlow's words") {
  const Tensor x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor row = Tensor::of<float>({1, 2}, {9, 9});
  CHECK(message("InplaceAdd", {x, one(1), row}) == "i must be a vector. []");
  CHECK(message("InplaceAdd", {x, ints({1, 2}), row}) ==
        "i and x shape doesn't match at index 0: [2] vs. [1,2]");
  CHECK(message("InplaceSub", {x, ints({1}), Tensor::of<float>({1, 3}, {9, 9, 9})}) ==
        "x and v shape doesn't match at index 1 : [3,2] vs. [1,3]");
  CHECK(message("InplaceUpdate", {*Tensor::zeros(DType::f32, {0, 2}), ints({0}), row}) ==
        "x has no row that i could name");
  CHECK(message("LowerBound", {floats({1, 2}), row}) ==
        "Shape must be rank 2 but is rank 1 for `sorted_inputs` argument");
  CHECK(message("UpperBound", {x, row}) == "Leading dim_size of both tensors must match.");
  CHECK(message("NthElement", {floats({1, 2}), one(5)}) ==
        "Input must have last dimension > n = 5");
  CHECK(message("NthElement", {floats({1, 2}), one(-1)}) == "n must be non-negative but is -1");
  // Rows that are not there may be of any length.
  CHECK(message("NthElement", {*Tensor::allocate(DType::f32, {0, int64_t{1} << 50}), one(1)}) ==
        "");
  CHECK(message("ApproximateEqual", {floats({1, 2}), floats({1})}) ==
        "x and y must be of the same shape. x shape: [2]. y shape: [1]");
  CHECK(message("Fingerprint", {floats({1}), Tensor::scalar<std::string>("md5")}) ==
        "Unsupported fingerprint method: md5");
  CHECK(message("DataFormatDimMap", {ints({1})}, {{"src_format", AttrValue("NWC")}}) ==
        "Source format must be of length 4 or 5, received src_format = NWC");
  CHECK(message("DataFormatVecPermute", {ints({1, 2, 3})}) ==
        "1D input must be of size 2 or 4, but got shape [3]");
  CHECK(
      message("DataFormatVecPermute", {ints({1, 2, 3, 4})}, {{"dst_format", AttrValue("NHWD")}}) ==
      "Destination and source format must determine a permutation, got NHWC and NHWD");
  const Tensor text = Tensor::vector<std::string>({"abc"});
  CHECK(message("DecodePaddedRaw", {text, one(3)}, {{"out_type", DType::i16}}) ==
        "fixed_length (3) must be a multiple of the size of out_type (2)");
  CHECK(message("DecodePaddedRaw", {text, one(0)}, {{"out_type", DType::u8}}) ==
        "fixed_length (0) must be greater than zero.");
  const Attrs zlib{{"compression_type", AttrValue("ZLIB")}};
  const std::string packed("\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15", 13);
  CHECK(run_op(all_ops(), "DecodeCompressed", {Tensor::scalar(packed)}, zlib).value()[0] ==
        Tensor::scalar<std::string>("hello"));
  // Of what is cut off there is as much as unpacks.
  const std::string cut = packed.substr(0, 9);
  CHECK(run_op(all_ops(), "DecodeCompressed", {Tensor::scalar(cut)}, zlib).ok());
  CHECK(message("DecodeCompressed", {text}, zlib) != "");
  CHECK(message("CheckNumericsV2", {floats({1.0f / 0.0f, -1.0f / 0.0f, 0.0f / 0.0f})},
                {{"message", AttrValue("m")}}) == "m : Tensor had -Inf, +Inf, and NaN values");
}

TEST_CASE(
    "numbers so large that neighbours are one double, or squares infinite, are no exception") {
  const int64_t large = int64_t{1} << 53;
  const auto run = [](std::string_view op, std::vector<Tensor> inputs) {
    return run_op(all_ops(), op, std::move(inputs)).value()[0];
  };
  CHECK(run("ApproximateEqual",
            {Tensor::vector<int64_t>({large + 1, -3}), Tensor::vector<int64_t>({large, -3})}) ==
        Tensor::vector<bool>({false, true}));
  CHECK(run("FresnelCos", {Tensor::vector<double>({1e200, -1e200})}) ==
        Tensor::vector<double>({0.5, -0.5}));
  CHECK(run("FresnelSin", {Tensor::vector<double>({1e200, -1e200})}) ==
        Tensor::vector<double>({0.5, -0.5}));
  CHECK(run("Range", {Tensor::scalar(0.f), Tensor::scalar(0.6f), Tensor::scalar(0.2f)})
            .num_elements() == 3);
}

TEST_CASE("segments that are not there are named in the words that clients look for") {
  const auto says = [](const std::string& text, std::string_view words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  const Tensor rows = Tensor::of<float>({4, 1}, {1, 2, 3, 4}), all = ints({0, 1, 2, 3});
  const auto sorted = [&](std::initializer_list<int32_t> ids) {
    return message("SegmentSum", {rows, ints(ids)});
  };
  CHECK(says(sorted({0, 1, 2, 0}),
             "Segment id 1 out of range [0, 1), possibly because "
             "'segment_ids' input is not sorted: segment_ids[1] = 1"));
  CHECK(says(sorted({-1, -1, 0, 0}), "Segment id -1 out of range [0, 1), possibly because"));
  CHECK(says(sorted({0, 1, 0, 1}), "segment ids are not increasing: segment_ids[2] = 0 after 1"));
  CHECK(says(sorted({0, 0, 0, -1}), "segment ids must be >= 0: segment_ids[3] = -1"));
  CHECK(says(message("UnsortedSegmentSum",
                     {Tensor::of<float>({1, 1}, {17}), Tensor::of<int32_t>({1, 1}, {2}), one(2)}),
             "segment_ids[0,0] = 2 is out of range [0, 2)"));
  const Tensor far = Tensor::vector<int64_t>({(int64_t{1} << 62) - 1});
  CHECK(says(message("SparseSegmentSum", {Tensor::of<float>({1, 4}, {1, 2, 3, 4}), far, far}),
             "Encountered overflow when multiplying"));
  CHECK(says(message("SparseSegmentSum", {rows, ints({0, -1, 2, 3}), all}),
             "Bad: indices[1] == -1 out of range [0, 4)"));
  CHECK(says(message("SparseSegmentSumGrad", {rows, ints({0, 1, 2, 7}), all, one(4)}),
             "Index 7 out of range [0, 4): indices[3]"));
  CHECK(says(message("SparseSegmentSumGrad", {rows, all, ints({0, 1, 2, 9}), one(4)}),
             "Invalid number of segments: Segment id 9 out of range [0, 4)."));
}

TEST_CASE(
    "axes that are named twice and batches that are not there are told as clients know them") {
  const auto says = [](const std::string& text, std::string_view words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  CHECK(says(message("Sum", {floats({1, 2}), ints({0, -1})}),
             "Axes contains duplicate dimension: 0"));
  CHECK(says(
      message("GatherV2", {Tensor::of<float>({1, 1}, {1}), one(0), one(1)}, {{"batch_dims", 1}}),
      "Expected batch_dims in the range [0, 0], but got 1"));
  CHECK(says(message("SparseToDense", {Tensor::of<int32_t>({2, 1}, {1, 1}), ints({3}),
                                       floats({1, 2}), Tensor::scalar<float>(0)}),
             "indices[1] = [1] is repeated"));
}

}  // namespace
}  // namespace millrace
