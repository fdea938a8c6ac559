#include "millrace/wire/tensor_codec.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/wire/tensor.pb.h"
#include "millrace/wire/testing/hex.h"

namespace millrace::wire {
namespace {

using tensorflow::DataType;
using tensorflow::TensorProto;
using testing::from_hex;
using testing::to_hex;

TensorProto proto_of(DataType dtype, std::vector<int64_t> dims) {
  TensorProto proto;
  proto.set_dtype(dtype);
  for (const int64_t size : dims) proto.mutable_tensor_shape()->add_dim()->set_size(size);
  return proto;
}

Result<Tensor> decode(const TensorProto& proto, DecodeLimits limits = {}) {
  return decode_tensor_bytes(proto.SerializeAsString(), limits);
}

std::string error_of(const TensorProto& proto) { return decode(proto).status().to_string(); }

TEST_CASE("every plain dtype survives a round trip, through protobuf too") {
  for (int number = 1; number <= kMaxDType; ++number) {
    const DType dtype = dtype_from_number(number).value();
    if (!is_plain(dtype)) continue;
    CAPTURE(dtype_name(dtype));
    Tensor tensor = Tensor::zeros(dtype, {2, 3}).value();
    auto* bytes = static_cast<unsigned char*>(tensor.mutable_data());
    for (size_t i = 0; i < tensor.num_bytes(); ++i)
      bytes[i] = static_cast<unsigned char>(dtype == DType::boolean ? i % 2 : i);
    CHECK(decode_tensor_bytes(encode_tensor_bytes(tensor)).value() == tensor);
    TensorProto proto;
    REQUIRE(proto.ParseFromString(encode_tensor_bytes(tensor)));
    CHECK(decode(proto).value() == tensor);
    CHECK(proto.SerializeAsString() == encode_tensor_bytes(tensor));
  }
}

TEST_CASE("scalars and empty tensors survive, too") {
  CHECK(decode_tensor_bytes(encode_tensor_bytes(Tensor::scalar(1.5f))).value() ==
        Tensor::scalar(1.5f));
  const Tensor empty = Tensor::allocate(DType::i64, {2, 0, 3}).value();
  CHECK(decode_tensor_bytes(encode_tensor_bytes(empty)).value() == empty);
  const Tensor no_text = Tensor::allocate(DType::string, {0}).value();
  CHECK(decode_tensor_bytes(encode_tensor_bytes(no_text)).value() == no_text);
}

TEST_CASE("a tensor as an op's result has the bytes that protobuf writes") {
  const Tensor empty = Tensor::allocate(DType::i64, {2, 0}).value();
  CHECK(to_hex(encode_tensor_proto(empty)) == "08 09 12 06 12 02 08 02 12 00");
  CHECK(to_hex(encode_tensor_proto(Tensor::scalar(int8_t{5}))) == "08 06 12 00 22 01 05");
  CHECK(decode_tensor_bytes(encode_tensor_proto(empty)).value() == empty);
}

TEST_CASE("strings, handles and variants survive, too") {
  const Tensor text = Tensor::vector<std::string>({"abc", "", "de"});
  CHECK(to_hex(encode_tensor_bytes(text)) ==
        "08 07 12 04 12 02 08 03 22 08 03 00 02 61 62 63 64 65");
  CHECK(decode_tensor_bytes(encode_tensor_bytes(text)).value() == text);
  CHECK(to_hex(encode_tensor_bytes(Tensor::vector<std::string>({""}))) ==
        "08 07 12 04 12 02 08 01 22 01 00");

  ResourceHandle handle{"/job:a", "box", "v",
                        77,       "Var", {{DType::f32, PartialShape{2, kUnknownDim}}}};
  const Tensor handles = Tensor::vector<ResourceHandle>({handle, ResourceHandle()});
  CHECK(decode_tensor_bytes(encode_tensor_bytes(handles)).value() == handles);

  const Tensor variant = Tensor::scalar(Variant{"List", "meta", {Tensor::scalar(1), text}});
  const Tensor back = decode_tensor_bytes(encode_tensor_bytes(variant)).value();
  CHECK(back == variant);
  CHECK(back.item<Variant>().tensors.at(1) == text);
}

TEST_CASE("typed lists give the elements of their dtype") {
  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {2});
  proto.add_float_val(1), proto.add_float_val(2);
  CHECK(decode(proto).value() == Tensor::vector<float>({1, 2}));

  proto = proto_of(tensorflow::DT_DOUBLE, {1});
  proto.add_double_val(-3);
  CHECK(decode(proto).value() == Tensor::vector<double>({-3}));

  proto = proto_of(tensorflow::DT_INT16, {2});
  proto.add_int_val(-1), proto.add_int_val(300);
  CHECK(decode(proto).value() == Tensor::vector<int16_t>({-1, 300}));

  proto = proto_of(tensorflow::DT_UINT8, {});
  proto.add_int_val(200);
  CHECK(decode(proto).value() == Tensor::scalar<uint8_t>(200));

  proto = proto_of(tensorflow::DT_INT64, {1});
  proto.add_int64_val(-5);
  CHECK(decode(proto).value() == Tensor::vector<int64_t>({-5}));

  proto = proto_of(tensorflow::DT_UINT32, {1});
  proto.add_uint32_val(4000000000u);
  CHECK(decode(proto).value() == Tensor::vector<uint32_t>({4000000000u}));

  proto = proto_of(tensorflow::DT_UINT64, {1});
  proto.add_uint64_val(~uint64_t{0});
  CHECK(decode(proto).value() == Tensor::vector<uint64_t>({~uint64_t{0}}));

  proto = proto_of(tensorflow::DT_BOOL, {2});
  proto.add_bool_val(true), proto.add_bool_val(false);
  CHECK(decode(proto).value() == Tensor::vector<bool>({true, false}));

  proto = proto_of(tensorflow::DT_COMPLEX64, {1});
  proto.add_scomplex_val(1), proto.add_scomplex_val(-2);
  CHECK(decode(proto).value() == Tensor::vector<std::complex<float>>({{1, -2}}));

  proto = proto_of(tensorflow::DT_COMPLEX128, {1});
  proto.add_dcomplex_val(1), proto.add_dcomplex_val(-2);
  CHECK(decode(proto).value() == Tensor::vector<std::complex<double>>({{1, -2}}));

  proto = proto_of(tensorflow::DT_HALF, {1});
  proto.add_half_val(0x3c00);
  CHECK(decode(proto).value() == Tensor::vector<Half>({Half(1.0f)}));

  proto = proto_of(tensorflow::DT_BFLOAT16, {1});
  proto.add_half_val(0x3f80);
  CHECK(decode(proto).value() == Tensor::vector<BFloat16>({BFloat16(1.0f)}));

  proto = proto_of(tensorflow::DT_FLOAT8_E5M2, {2});
  proto.set_float8_val("\x3c\x3d");
  CHECK(decode(proto).value().bytes() == "\x3c\x3d");

  proto = proto_of(static_cast<tensorflow::DataType>(33), {2});  // newer than our .proto
  proto.set_float8_val("\x07\x0f");
  CHECK(decode(proto).value().bytes() == "\x07\x0f");

  proto = proto_of(tensorflow::DT_STRING, {2});
  proto.add_string_val("a"), proto.add_string_val("b");
  CHECK(decode(proto).value() == Tensor::vector<std::string>({"a", "b"}));
}

TEST_CASE("a short list repeats its last element, an empty one means zero, surplus is ignored") {
  TensorProto proto = proto_of(tensorflow::DT_INT32, {4});
  CHECK(decode(proto).value() == Tensor::vector<int32_t>({0, 0, 0, 0}));
  proto.add_int_val(1);
  CHECK(decode(proto).value() == Tensor::vector<int32_t>({1, 1, 1, 1}));
  proto.add_int_val(2), proto.add_int_val(3);
  CHECK(decode(proto).value() == Tensor::vector<int32_t>({1, 2, 3, 3}));
  for (int i = 4; i < 9; ++i) proto.add_int_val(i);
  CHECK(decode(proto).value() == Tensor::vector<int32_t>({1, 2, 3, 4}));

  proto = proto_of(tensorflow::DT_COMPLEX64, {3});
  for (int i = 1; i <= 5; ++i) proto.add_scomplex_val(static_cast<float>(i));
  CHECK(decode(proto).value() == Tensor::vector<std::complex<float>>({{1, 2}, {3, 4}, {3, 4}}));

  proto = proto_of(tensorflow::DT_STRING, {3});
  CHECK(decode(proto).value() == Tensor::vector<std::string>({"", "", ""}));
  proto.add_string_val("x");
  CHECK(decode(proto).value() == Tensor::vector<std::string>({"x", "x", "x"}));

  proto = proto_of(tensorflow::DT_RESOURCE, {2});
  proto.add_resource_handle_val()->set_name("v");
  const Tensor handles = decode(proto).value();
  CHECK(handles.flat<ResourceHandle>()[0].name == "v");
  CHECK(handles.flat<ResourceHandle>()[1] == ResourceHandle());
}

TEST_CASE("lists may be written one by one instead of packed, and in several runs") {
  // dtype int32, shape [3], int_val 1 unpacked, int_val {2, 3} packed
  CHECK(decode_tensor_bytes(from_hex("08 03 12 04 12 02 08 03 38 01 3a 02 02 03")).value() ==
        Tensor::vector<int32_t>({1, 2, 3}));
}

TEST_CASE("a bool is true by any number but 0, and kept as 1") {
  // bool[3] with bool_val 2, 0 and 256, whose lowest byte is 0.
  const auto decoded = decode_tensor_bytes(from_hex("08 0a 12 04 12 02 08 03 5a 04 02 00 80 02"));
  REQUIRE(decoded.status().to_string() == "OK");
  CHECK(to_hex(decoded->bytes()) == "01 00 01");
}

TEST_CASE("an empty tensor needs no content and ignores what there is") {
  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {0, 5});
  proto.set_tensor_content("abc");
  CHECK(decode(proto).value() == Tensor::allocate(DType::f32, {0, 5}).value());
}

TEST_CASE("a missing shape and one without dims are scalars") {
  CHECK(decode_tensor_bytes(from_hex("08 03 38 07")).value() == Tensor::scalar<int32_t>(7));
  CHECK(decode_tensor_bytes(from_hex("08 03 12 00 38 07")).value() == Tensor::scalar<int32_t>(7));
}

TEST_CASE("what can't be a tensor is refused with the reason") {
  CHECK(error_of(proto_of(tensorflow::DT_INVALID, {2})) ==
        "INVALID_ARGUMENT: a tensor of shape [2] has dtype number 0, which means none");
  CHECK(error_of(proto_of(tensorflow::DT_FLOAT_REF, {})) ==
        "INVALID_ARGUMENT: a tensor of shape [] has dtype number 101, a reference type; values are "
        "never references");
  CHECK(error_of(proto_of(static_cast<DataType>(34), {})) ==
        "INVALID_ARGUMENT: a tensor of shape [] has dtype number 34, which is not known");
  CHECK(error_of(proto_of(static_cast<DataType>(999), {})) ==
        "INVALID_ARGUMENT: a tensor of shape [] has dtype number 999, which is not known");
  CHECK(error_of(proto_of(tensorflow::DT_FLOAT, {2, -1})) ==
        "INVALID_ARGUMENT: shape of a tensor: dimension 1 of a shape is -1; sizes start at 0");
  CHECK_FALSE(decode(proto_of(tensorflow::DT_FLOAT, std::vector<int64_t>(255, 1))).ok());
  CHECK_FALSE(decode(proto_of(tensorflow::DT_FLOAT, {int64_t{1} << 62, 4})).ok());

  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {3});
  proto.set_tensor_content("12345678");
  CHECK(
      error_of(proto) ==
      "INVALID_ARGUMENT: tensor float[3] has content of 8 bytes; 3 elements of 4 bytes are needed");

  proto = proto_of(tensorflow::DT_BOOL, {3});
  proto.set_tensor_content(std::string("\0\x01\x02", 3));
  CHECK(error_of(proto) ==
        "INVALID_ARGUMENT: bool[3]: element 2 of a bool tensor is byte 2; it must be 0 or 1");

  proto = proto_of(tensorflow::DT_STRING, {2});
  proto.set_tensor_content(
      "\x01\x02"
      "ab");
  CHECK(error_of(proto) ==
        "INVALID_ARGUMENT: tensor string[2]: the lengths in the content add up to 3 bytes; 2 "
        "follow them");
  proto.set_tensor_content("\x01\xff");
  CHECK(
      error_of(proto) ==
      "INVALID_ARGUMENT: tensor string[2]: the content has 2 bytes and ends before length 1 of 2");
  proto = proto_of(tensorflow::DT_STRING, {int64_t{1} << 40});
  proto.set_tensor_content("\x01\xff");
  CHECK(decode(proto).status().code() == Code::invalid_argument);
}

TEST_CASE("a small message can't ask for a large tensor beyond the limit") {
  for (const DataType dtype :
       {tensorflow::DT_FLOAT, tensorflow::DT_STRING, tensorflow::DT_VARIANT}) {
    TensorProto proto = proto_of(dtype, {int64_t{1} << 40});
    CHECK(decode(proto).status().code() == Code::resource_exhausted);
  }
  TensorProto proto = proto_of(tensorflow::DT_FLOAT, {100});
  CHECK(decode(proto, {.max_expanded_bytes = 400}).ok());
  CHECK(decode(proto, {.max_expanded_bytes = 399}).status().code() == Code::resource_exhausted);
  proto = proto_of(tensorflow::DT_STRING, {10});
  proto.add_string_val(std::string(1000, 'x'));
  CHECK(decode(proto, {.max_expanded_bytes = 9320}).ok());
  CHECK(decode(proto, {.max_expanded_bytes = 9319}).status().code() == Code::resource_exhausted);
}

TEST_CASE("the limit holds for all tensors inside a variant together") {
  TensorProto proto = proto_of(tensorflow::DT_VARIANT, {});
  auto* data = proto.add_variant_val();
  for (int i = 0; i < 3; ++i) *data->add_tensors() = proto_of(tensorflow::DT_FLOAT, {100});
  CHECK(decode(proto, {.max_expanded_bytes = 1200 + sizeof(Variant)}).ok());
  CHECK(decode(proto, {.max_expanded_bytes = 1199 + sizeof(Variant)}).status().code() ==
        Code::resource_exhausted);
}

TEST_CASE("messages that declare large tensors and bring nothing are bounded together") {
  // Zeros, so that nothing of all this is ever written to.
  const std::string message = proto_of(tensorflow::DT_FLOAT, {(1 << 29) - 1}).SerializeAsString();
  CHECK(message.size() < 20);
  std::vector<Tensor> held;
  Result<Tensor> next = decode_tensor_bytes(message);
  for (; next.ok() && held.size() < 100'000; next = decode_tensor_bytes(message))
    held.push_back(*std::move(next));
  CHECK_MESSAGE(next.status().code() == Code::resource_exhausted, held.size());
  CHECK(next.status().message().find("no memory for a block of") != std::string_view::npos);
  held.clear();
  CHECK(decode_tensor_bytes(proto_of(tensorflow::DT_FLOAT, {1 << 20}).SerializeAsString()).ok());
}

TEST_CASE("variants inside variants are followed as deep as they may lie, not for ever") {
  Tensor nested = Tensor::scalar(1);
  const auto nest = [&] { nested = Tensor::scalar(Variant{"t", "", {nested}}); };
  for (int i = 0; i <= Variant::kMostNested; ++i) nest();
  CHECK(decode_tensor_bytes(encode_tensor_bytes(nested)).ok());
  nest();
  CHECK(decode_tensor_bytes(encode_tensor_bytes(nested)).status().code() == Code::invalid_argument);
  for (int i = 0; i < 50; ++i) nest();
  CHECK(decode_tensor_bytes(encode_tensor_bytes(nested)).status().code() == Code::invalid_argument);
}

TEST_CASE("a tensor without a value is written as nothing and refused") {
  CHECK(encode_tensor_bytes(Tensor()).empty());
  CHECK_FALSE(decode_tensor_bytes("").ok());
}

}  // namespace
}  // namespace millrace::wire
