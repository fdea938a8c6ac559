#include <sys/mman.h>

#include <cstring>

#include "millrace/format/wire_format.h"
#include "millrace/transport/grpc/testing/test_task.h"
#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/extensions.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::transport {
namespace {

using testing::Answered;

RecvTensorReply reply_with(Tensor tensor) {
  RecvTensorReply reply;
  reply.delivery.tensor = std::move(tensor);
  reply.send_start_micros = 1;
  return reply;
}

Tensor bytes_tensor(size_t size) {
  Tensor tensor = Tensor::allocate(DType::u8, Shape{static_cast<int64_t>(size)}).value();
  std::memset(tensor.mutable_data(), 5, size);
  return tensor;
}

// More memory than anybody has to touch: all of it reads as zero.
Tensor huge_tensor(size_t size) {
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(data != MAP_FAILED);
  auto buffer = Buffer::borrow(data, size, [data, size] { ::munmap(data, size); });
  return Tensor::on_buffer(DType::u8, Shape{static_cast<int64_t>(size)}, std::move(buffer)).value();
}

TEST_CASE("a peer that does not take parts gets one message, TensorFlow's") {
  const auto messages =
      encode_recv_tensor_reply(reply_with(bytes_tensor(kMinPartedBytes)), Parts::refused);
  REQUIRE(messages.ok());
  CHECK(messages->size() == 1);
}

TEST_CASE("a peer that takes parts gets a head and the content, cut and never copied") {
  const Tensor tensor = bytes_tensor(kMinPartedBytes + 1);
  const auto messages = encode_recv_tensor_reply(reply_with(tensor), Parts::taken);
  REQUIRE(messages.ok());
  REQUIRE(messages->size() == 1 + kMinPartedBytes / kPartBytes + 1);
  const std::string head = (*messages)[0].join();
  CHECK(head.size() < 20);
  size_t at = 0;
  for (size_t i = 1; i < messages->size(); ++i) {
    const auto& pieces = (*messages)[i].pieces();
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].view().data() == tensor.bytes().data() + at);
    at += pieces[0].view().size();
  }
  CHECK(at == tensor.num_bytes());
  // To TensorFlow the head would be a response without a tensor.
  tensorflow::RecvTensorResponse seen_by_tensorflow;
  REQUIRE(seen_by_tensorflow.ParseFromString(head));
  CHECK_FALSE(seen_by_tensorflow.has_tensor());
  CHECK(seen_by_tensorflow.send_start_micros() == 1);
}

TEST_CASE("parts are put together, whatever they are cut into") {
  Tensor tensor = bytes_tensor(kMinPartedBytes + 12345);
  const auto messages = encode_recv_tensor_reply(reply_with(tensor), Parts::taken).value();
  TensorReceiver receiver;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string bytes = messages[i].join();
    Chunks chunks;
    chunks.size = bytes.size();
    for (size_t at = 0; at < bytes.size(); at += 8193)
      chunks.pieces.push_back(std::string_view(bytes).substr(at, 8193));
    const auto more = receiver.add(chunks);
    REQUIRE(more.ok());
    CHECK(*more == (i + 1 < messages.size()));
  }
  const RecvTensorReply reply = receiver.take();
  CHECK((reply.delivery.tensor == tensor));
  CHECK(reply.send_start_micros == 1);
}

TEST_CASE("strings and dead values never come in parts") {
  Tensor text = Tensor::scalar(std::string(kMinPartedBytes, 'x'));
  CHECK(encode_recv_tensor_reply(reply_with(text), Parts::taken)->size() == 1);
  RecvTensorReply dead = reply_with(bytes_tensor(kMinPartedBytes));
  dead.delivery.is_dead = true;
  CHECK(encode_recv_tensor_reply(dead, Parts::taken)->size() == 1);
}

std::string head_message(int dtype, std::initializer_list<int64_t> dims) {
  std::string bytes;
  const wire::NestedField head(&bytes, kPartsHead);
  wire::put_varint_field(&bytes, 1, static_cast<uint64_t>(dtype));
  for (const int64_t dim : dims) wire::put_varint_field(&bytes, 2, static_cast<uint64_t>(dim));
  return bytes;
}

TEST_CASE("a head that lies is refused") {
  const auto refused = [](const std::string& head) {
    TensorReceiver receiver;
    return receiver.add(Chunks(head)).status().code();
  };
  CHECK(refused(head_message(7, {2})) == Code::invalid_argument);   // strings
  CHECK(refused(head_message(0, {2})) == Code::invalid_argument);   // no type
  CHECK(refused(head_message(99, {2})) == Code::invalid_argument);  // no type that we know
  CHECK(refused(head_message(1, {-2})) == Code::invalid_argument);  // negative
  CHECK(refused(head_message(1, {1 << 30, 1 << 30, 1 << 30})) == Code::invalid_argument);
  CHECK(refused(head_message(1, {int64_t{1} << 60})) != Code::ok);  // more than there is
}

TEST_CASE("parts that are too long, or hold what can't be, are refused") {
  TensorReceiver longer;
  REQUIRE(longer.add(Chunks(head_message(4, {3}))).value());
  CHECK(longer.add(Chunks("ab")).value());
  CHECK(longer.add(Chunks("cd")).status().code() == Code::invalid_argument);
  TensorReceiver bools;
  REQUIRE(bools.add(Chunks(head_message(10, {3}))).value());
  CHECK(bools.add(Chunks(std::string_view("\0\1\2", 3))).status().code() == Code::invalid_argument);
}

TEST_CASE("more than 2 GB: parts for us, TensorFlow's words for others") {
  const Tensor tensor = huge_tensor((size_t{1} << 31) + 5);
  const auto parts = encode_recv_tensor_reply(reply_with(tensor), Parts::taken);
  REQUIRE(parts.ok());
  CHECK(parts->size() == 2 + (size_t{1} << 31) / kPartBytes);
  const Status refused = encode_recv_tensor_reply(reply_with(tensor), Parts::refused).status();
  CHECK(refused.code() == Code::internal);
  CHECK(
      refused.message().starts_with("Failed to encode tensor to byte buffer: Cannot encode a "
                                    "Tensor that exceeds the 2GB protobuf "
                                    "limit"));
}

TEST_CASE_TEMPLATE("a feed of more than 2 GB is refused before it is sent", Task, ALL_TASKS) {
  Task task;
  RunStepRequest request;
  request.feeds = {{"x:0", huge_tensor((size_t{1} << 31) + 5)}};
  Answered<RunStepReply> answered;
  task.master_channel()->run_step(std::move(request), {.waiting = true}, answered.done());
  const Status status = answered.wait().status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().starts_with("the message of RunStep has 21474"));
}

TEST_CASE_TEMPLATE("a tensor of more than 2 GB goes from task to task", Task, ALL_TASKS) {
  Task task;
  const Tensor sent = huge_tensor((size_t{1} << 31) + 5);
  task.worker.on_recv_tensor = [&](RecvTensorRequest, const Call&, Done<RecvTensorReply> done) {
    done(reply_with(sent));
  };
  Answered<RecvTensorReply> answered;
  task.worker_channel()->recv_tensor({1, "k", 1}, {}, answered.done());
  const auto reply = answered.wait();
  REQUIRE(reply.ok());
  CHECK((reply->delivery.tensor == sent));
}

TEST_CASE_TEMPLATE("a receiver that gives up in the middle of a tensor cancels its sender", Task,
                   ALL_TASKS) {
  Task task;
  task.worker.on_recv_tensor = [&](RecvTensorRequest, const Call&, Done<RecvTensorReply> done) {
    done(reply_with(huge_tensor(size_t{1} << 30)));
  };
  Cancellation cancellation;
  Answered<RecvTensorReply> answered;
  task.worker_channel()->recv_tensor({1, "k", 1}, {.cancellation = &cancellation}, answered.done());
  cancellation.cancel(aborted("the step was given up"));
  CHECK(answered.wait().status() == aborted("the step was given up"));
  CHECK(task.server->stop(aborted("done")).ok());
}

TEST_CASE("an answer that must be acknowledged is acknowledged") {
  // A TensorFlow worker with a response cache; ours answers the acknowledgement, too.
  testing::TestTask task;
  task.worker.on_recv_tensor = [&](RecvTensorRequest, const Call&, Done<RecvTensorReply> done) {
    RecvTensorReply reply = reply_with(Tensor::scalar(1.0f));
    reply.require_ack = true;
    done(std::move(reply));
  };
  Answered<RecvTensorReply> answered;
  task.worker_channel()->recv_tensor({1, "k", 1}, {}, answered.done());
  const auto reply = answered.wait();
  REQUIRE(reply.ok());
  CHECK(reply->require_ack);
}

}  // namespace
}  // namespace millrace::transport
