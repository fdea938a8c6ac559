#include "millrace/wire/tensor_response.h"

#include <string>

#include <doctest/doctest.h>

#include "millrace/format/wire_format.h"
#include "millrace/wire/testing/hex.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::wire {
namespace {

using testing::counting;
using testing::from_hex;
using testing::to_hex;

// Feeds `bytes` in chunks of `chunk_size`.
Result<TensorResponse> parse(std::string_view bytes, size_t chunk_size = 7) {
  TensorResponseParser parser(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += chunk_size) {
    // A copy of its own, so that reading past its end is noticed.
    const std::string chunk(bytes.substr(at, chunk_size));
    MR_TRY(parser.add(chunk));
  }
  return parser.finish();
}

std::string encode(const TensorResponse& response) {
  return encode_tensor_response(response).value().join();
}

TensorResponse response_of(Tensor tensor) { return {std::move(tensor), false, 1, false}; }

TEST_CASE("responses are written byte for byte as TensorFlow writes them") {
  CHECK(to_hex(encode(response_of(Tensor::vector<float>({1, 2})))) ==
        "18 01 0a 12 08 01 12 04 12 02 08 02 22 08 00 00 80 3f 00 00 00 40");
  CHECK(to_hex(encode(response_of(Tensor::scalar(1.0f)))) == "18 01 0a 08 08 01 22 04 00 00 80 3f");
  CHECK(to_hex(encode(response_of(Tensor::vector<std::string>({"abc", "", "de"})))) ==
        "18 01 0a 12 08 07 12 04 12 02 08 03 22 08 03 00 02 61 62 63 64 65");
  CHECK(to_hex(encode({Tensor(), true, 1, false})) ==
        "10 01 18 01 0a 0a 08 01 12 04 12 02 08 00 22 00");
}

TEST_CASE("responses are read in whatever chunks they arrive") {
  const Tensor tensor = counting(1000);
  const std::string bytes = encode({tensor, false, 123456789, true});
  for (const size_t chunk_size : {1, 2, 3, 5, 13, 100, 4000, 100000}) {
    CAPTURE(chunk_size);
    const TensorResponse response = parse(bytes, chunk_size).value();
    CHECK(response.tensor == tensor);
    CHECK(response.send_start_micros == 123456789);
    CHECK(response.require_ack);
    CHECK_FALSE(response.is_dead);
  }
}

TEST_CASE(
    "a payload is shared on the way out and copied once, into its final buffer, on the way in") {
  const Tensor tensor = counting(1000);
  const Pieces pieces = encode_tensor_response(response_of(tensor)).value();
  CHECK(pieces.pieces().size() == 2);
  CHECK(pieces.pieces()[1].view().data() == tensor.data());
  CHECK(pieces.pieces()[1].buffer == tensor.buffer());
  const TensorResponse response = parse(pieces.join()).value();
  CHECK(response.tensor.is_sole_owner());
  CHECK(response.tensor.buffer()->size() == tensor.num_bytes());
}

TEST_CASE("scalars, empty tensors, strings and bools arrive") {
  for (const Tensor& tensor :
       {Tensor::scalar(1.0f), Tensor::allocate(DType::i64, {0, 3}).value(),
        Tensor::vector<std::string>({"a", ""}), Tensor::vector<bool>({true, false}),
        Tensor::scalar(ResourceHandle())}) {
    CAPTURE(tensor.to_string());
    CHECK(parse(encode(response_of(tensor))).value().tensor == tensor);
  }
}

TEST_CASE("a dead value arrives without a tensor, whatever dummy came with it") {
  CHECK(parse(encode({Tensor(), true, 1, false})).value().is_dead);
  CHECK_FALSE(parse(encode({Tensor(), true, 1, false})).value().tensor.has_value());
  CHECK(parse(from_hex("10 01")).value().is_dead);
  CHECK(parse(from_hex("0a 00 10 01")).value().is_dead);
  CHECK(parse(from_hex("10 01 0a 02 08 65")).value().is_dead);
  CHECK(parse(from_hex("0a 06 08 01 22 02 41 42 10 01")).value().is_dead);
}

TEST_CASE("fields may come in any order") {
  const auto wanted = Tensor::vector<float>({1, 2});
  // The order of field numbers, as protobuf itself writes.
  tensorflow::RecvTensorResponse proto;
  REQUIRE(proto.mutable_tensor()->ParseFromString(encode_tensor_bytes(wanted)));
  proto.set_send_start_micros(5);
  proto.set_require_ack(true);
  proto.mutable_transport_options()->set_type_url("x");
  const TensorResponse response = parse(proto.SerializeAsString()).value();
  CHECK(response.tensor == wanted);
  CHECK(response.send_start_micros == 5);
  // Content before dtype and shape; an unknown field behind the content.
  CHECK(parse(from_hex("0a 12 22 08 00 00 80 3f 00 00 00 40 12 04 12 02 08 02 08 01"))
            .value()
            .tensor == wanted);
  CHECK(parse(from_hex("0a 15 08 01 12 04 12 02 08 02 22 08 00 00 80 3f 00 00 00 40 a0 06 01"))
            .value()
            .tensor == wanted);
}

TEST_CASE("typed lists are read, too") {
  tensorflow::RecvTensorResponse proto;
  proto.mutable_tensor()->set_dtype(tensorflow::DT_INT32);
  proto.mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(3);
  proto.mutable_tensor()->add_int_val(7);
  CHECK(parse(proto.SerializeAsString()).value().tensor == Tensor::vector<int32_t>({7, 7, 7}));
}

TEST_CASE("malformed responses are refused with the offset") {
  CHECK(parse(from_hex("0a 05 08")).status().message() ==
        "malformed message at byte 2: a length that passes the end of its message");
  CHECK(parse(from_hex("0a 02 08 80")).status().message() ==
        "malformed message at byte 4: a message ends inside a field");
  CHECK(parse(from_hex("0a")).status().message() ==
        "malformed message at byte 1: a message ends inside a field");
  CHECK(parse(from_hex("18 ff ff ff ff ff ff ff ff ff ff 01")).status().message() ==
        "malformed message at byte 11: a number of more than 10 bytes");
  CHECK(parse("").status().message() ==
        "a RecvTensorResponse that is not dead holds 0 tensors; one is needed");
  CHECK(parse(from_hex("0a 04 08 03 38 07 0a 04 08 03 38 07")).status().code() ==
        Code::invalid_argument);
  CHECK(parse(from_hex("0a 00")).status().message() ==
        "received tensor: a tensor of shape [] has dtype number 0, which means none");
}

TEST_CASE("a bool that is neither 0 nor 1 does not get through the fast path") {
  const std::string bytes = from_hex("0a 0b 08 0a 12 04 12 02 08 01 22 01 02");
  CHECK(parse(bytes).status().message() ==
        "received tensor: element 0 of a bool tensor is byte 2; it must be 0 or 1");
}

TEST_CASE("a message that is shorter or longer than announced is refused") {
  const std::string bytes = encode(response_of(counting(3)));
  TensorResponseParser longer(bytes.size() + 1);
  CHECK(longer.add(bytes).ok());
  CHECK(longer.finish().status().code() == Code::invalid_argument);
  TensorResponseParser shorter(bytes.size());
  CHECK(shorter.add(bytes).ok());
  CHECK(shorter.add("x").message() == "malformed message at byte " + std::to_string(bytes.size()) +
                                          ": the message goes on after its announced end");
  CHECK_FALSE(shorter.finish().ok());
}

TEST_CASE("a value without a tensor is not sent") {
  CHECK(encode_tensor_response({Tensor(), false, 0, false}).status().code() == Code::internal);
}

}  // namespace
}  // namespace millrace::wire
