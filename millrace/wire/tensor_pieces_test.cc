#include "millrace/wire/tensor_pieces.h"

#include <string>

#include <doctest/doctest.h>

#include "millrace/wire/master.pb.h"
#include "millrace/wire/tensor_extractor.h"
#include "millrace/wire/testing/hex.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::wire {
namespace {

using testing::counting;

constexpr int kFeed = tensorflow::RunStepRequest::kFeedFieldNumber;

Result<TensorExtractor::Extracted> extract(std::string_view bytes, int number, TensorField field,
                                           size_t chunk_size = 11) {
  TensorExtractor extractor(number, field, bytes.size());
  for (size_t at = 0; at < bytes.size(); at += chunk_size) {
    const std::string chunk(bytes.substr(at, chunk_size));
    MR_TRY(extractor.add(chunk));
  }
  return extractor.finish();
}

TEST_CASE("small bytes gather in one piece, large ones stay where they are") {
  Pieces message;
  message.append("ab");
  message.append(std::string("cd"));
  CHECK(message.pieces().size() == 1);
  std::string large(50000, 'x');
  const char* const where = large.data();
  message.append(std::move(large));
  CHECK(message.pieces()[1].view().data() == where);
  const Tensor tensor = counting(1000);
  message.append_shared(tensor.buffer(), tensor.bytes());
  message.append("e");
  CHECK(message.pieces().size() == 4);
  CHECK(message.size() == 4 + 50000 + 4000 + 1);
  CHECK(message.join() == "abcd" + std::string(50000, 'x') + std::string(tensor.bytes()) + "e");
}

TEST_CASE("tensors under a kilobyte are part of the bytes around them") {
  Pieces message;
  append_tensor_field(message, 1, counting(255));
  CHECK(message.pieces().size() == 1);
  append_tensor_field(message, 1, counting(256));
  CHECK(message.pieces().size() == 2);
}

TEST_CASE("a shared buffer stays alive as long as the pieces") {
  Pieces message;
  {
    const Tensor tensor = counting(1000);
    append_tensor_field(message, 1, tensor);
  }
  const auto pieces = std::move(message).pieces();
  CHECK(pieces.back().buffer.use_count() == 1);
  CHECK(pieces.back().view().size() == 4000);
}

TEST_CASE("a request made of pieces is what protobuf reads") {
  tensorflow::RunStepRequest request;
  request.set_session_handle("s");
  request.add_fetch("y:0");
  Pieces message;
  message.append(request.SerializeAsString());
  const Tensor large = counting(5000);
  const Tensor text = Tensor::vector<std::string>({"a", std::string(3000, 'b')});
  append_named_tensor(message, kFeed, "large:0", large);
  append_named_tensor(message, kFeed, "small:0", Tensor::scalar(1));
  append_named_tensor(message, kFeed, "text:0", text);

  tensorflow::RunStepRequest back;
  REQUIRE(back.ParseFromString(message.join()));
  CHECK(back.session_handle() == "s");
  CHECK(back.fetch(0) == "y:0");
  REQUIRE(back.feed_size() == 3);
  CHECK(back.feed(0).name() == "large:0");
  CHECK(decode_tensor_bytes(back.feed(0).tensor().SerializeAsString()).value() == large);
  CHECK(decode_tensor_bytes(back.feed(1).tensor().SerializeAsString()).value() ==
        Tensor::scalar(1));
  CHECK(decode_tensor_bytes(back.feed(2).tensor().SerializeAsString()).value() == text);
}

TEST_CASE("named tensors are taken out of a request, and the rest is a request without them") {
  tensorflow::RunStepRequest request;
  request.set_session_handle("s");
  request.add_fetch("y:0");
  request.mutable_options()->set_timeout_in_ms(5);
  request.set_request_id(-1);
  Pieces message;
  append_named_tensor(message, kFeed, "a:0", counting(3000));
  message.append(request.SerializeAsString());
  append_named_tensor(message, kFeed, "b:0", Tensor::scalar(std::string("text")));
  const std::string bytes = message.join();
  for (const size_t chunk_size : {1, 2, 3, 17, 4096, 1000000}) {
    CAPTURE(chunk_size);
    const auto extracted = extract(bytes, kFeed, TensorField::named, chunk_size).value();
    REQUIRE(extracted.tensors.size() == 2);
    CHECK(extracted.tensors[0].name == "a:0");
    CHECK(extracted.tensors[0].tensor == counting(3000));
    CHECK(extracted.tensors[1].name == "b:0");
    CHECK(extracted.tensors[1].tensor == Tensor::scalar(std::string("text")));
    CHECK(extracted.rest == request.SerializeAsString());
  }
}

TEST_CASE("tensors without names are taken out the same way") {
  tensorflow::RunCallableRequest request;
  request.set_handle(3);
  Pieces message;
  message.append(request.SerializeAsString());
  for (const int count : {1, 2000, 0}) append_tensor_field(message, 3, counting(count));
  const auto extracted = extract(message.join(), 3, TensorField::plain).value();
  REQUIRE(extracted.tensors.size() == 3);
  CHECK(extracted.tensors[1].tensor == counting(2000));
  CHECK(extracted.tensors[2].tensor.num_elements() == 0);
  CHECK(extracted.rest == request.SerializeAsString());
}

TEST_CASE("a name may stand behind its tensor, and unknown fields beside it") {
  tensorflow::RunGraphRequest request;
  auto* named = request.add_send();
  named->set_name("key");
  REQUIRE(named->mutable_tensor()->ParseFromString(encode_tensor_bytes(counting(2))));
  // NamedTensorProto written backwards: tensor, an unknown varint and string, name.
  std::string body;
  const std::string tensor = encode_tensor_bytes(counting(2));
  body += "\x12" + std::string(1, static_cast<char>(tensor.size())) + tensor +
          "\x50\x07\x5a\x02zz\x0a\x03key";
  const std::string bytes = "\x1a" + std::string(1, static_cast<char>(body.size())) + body;
  const auto extracted = extract(bytes, 3, TensorField::named).value();
  REQUIRE(extracted.tensors.size() == 1);
  CHECK(extracted.tensors[0].name == "key");
  CHECK(extracted.tensors[0].tensor == counting(2));
  CHECK(extracted.rest.empty());
}

TEST_CASE("a named tensor that is missing or broken is refused with its name") {
  tensorflow::RunStepRequest request;
  request.add_feed()->set_name("x:0");
  CHECK(extract(request.SerializeAsString(), kFeed, TensorField::named).status().message() ==
        "malformed message at byte 7: 'x:0' has no tensor");
  request.mutable_feed(0)->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  request.mutable_feed(0)->mutable_tensor()->set_tensor_content("abc");
  CHECK(extract(request.SerializeAsString(), kFeed, TensorField::named).status().message() ==
        "'x:0': tensor float[] has content of 3 bytes; 1 elements of 4 bytes are needed");
}

}  // namespace
}  // namespace millrace::wire
