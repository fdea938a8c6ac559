// What goes into an outbox comes out of an inbox, however the bytes are cut on their way.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/transport/direct/inbox.h"
#include "millrace/transport/direct/outbox.h"

namespace millrace::transport {
namespace {

constexpr ReceiveLimits kRoomy{.all = size_t{1} << 30, .one_message = 1 << 28};

struct Receiver {
  explicit Receiver(const ReceiveLimits& limits = kRoomy)
      : intake(std::make_shared<Intake>(limits)), inbox(intake) {}

  // Gives it the bytes in pieces of at most `most`.
  Status take(std::string_view bytes, size_t most) {
    while (!bytes.empty()) {
      size_t taken = 0;
      for (const iovec& part : inbox.space()) {
        const size_t size = std::min({part.iov_len, bytes.size() - taken, most - taken});
        if (size > 0) std::memcpy(part.iov_base, bytes.data() + taken, size);
        taken += size;
      }
      MR_TRY(inbox.took(taken, messages));
      bytes.remove_prefix(taken);
    }
    return {};
  }

  std::shared_ptr<Intake> intake;
  Inbox inbox;
  std::vector<DirectMessage> messages;
};

// All that is to be written, of at most `most` bytes at once.
std::string written(Outbox& outbox, size_t most = SIZE_MAX) {
  std::string bytes;
  while (true) {
    const std::span<iovec> parts = outbox.next();
    if (parts.empty()) return bytes;
    const size_t size = std::min(parts.front().iov_len, most);
    bytes.append(static_cast<const char*>(parts.front().iov_base), size);
    outbox.sent(size);
  }
}

wire::Pieces pieces_of(std::string bytes) {
  wire::Pieces pieces;
  pieces.append(std::move(bytes));
  return pieces;
}

std::string text_of(const DirectMessage& message) {
  std::string scratch;
  return std::string(join(message.bytes.chunks(), scratch));
}

TEST_CASE("a request comes with its method, its deadline and its bytes") {
  Outbox outbox;
  outbox.put(request_frame(7, "/tensorflow.MasterService/RunStep", 1500, pieces_of("abc")));
  Receiver receiver;
  REQUIRE(receiver.take(written(outbox), 1).ok());
  REQUIRE(receiver.messages.size() == 1);
  const DirectMessage& message = receiver.messages.front();
  CHECK(message.kind == FrameKind::request);
  CHECK(message.call == 7);
  CHECK(message.method == "/tensorflow.MasterService/RunStep");
  CHECK(message.deadline_micros == 1500);
  CHECK(text_of(message) == "abc");
  CHECK(outbox.empty());
}

TEST_CASE("an error comes with its code, its words and its details") {
  const Status given = out_of_range("FIFOQueue 'q' is closed").with_payload("url", "bytes");
  Outbox outbox;
  outbox.put(error_frame(3, given));
  Receiver receiver;
  REQUIRE(receiver.take(written(outbox), 5).ok());
  REQUIRE(receiver.messages.size() == 1);
  CHECK(receiver.messages.front().kind == FrameKind::error);
  CHECK(receiver.messages.front().call == 3);
  CHECK(from_wire_status(receiver.messages.front().error) == given);
}

TEST_CASE("messages of any size come whole, however they are cut") {
  std::mt19937 random(11);
  for (const size_t most : {size_t{1}, size_t{13}, size_t{4096}, size_t{100'000}, SIZE_MAX}) {
    CAPTURE(most);
    Outbox outbox;
    std::map<uint32_t, std::string> sent;
    const std::vector<size_t> sizes =
        most < 100 ? std::vector<size_t>{0, 1, 300, 5000}
                   : std::vector<size_t>{
                         0, 1, 4095, kFrameBytes - 1, kFrameBytes, 70'000, 2 * kFrameBytes + 5};
    for (uint32_t call = 1; call <= sizes.size(); ++call) {
      std::string bytes(sizes[call - 1], '\0');
      std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
      sent[call] = bytes;
      outbox.put(answer_frame(call, pieces_of(bytes), false));
    }
    Receiver receiver;
    REQUIRE(receiver.take(written(outbox, most), most).ok());
    REQUIRE(receiver.messages.size() == sent.size());
    for (const DirectMessage& message : receiver.messages)
      CHECK(text_of(message) == sent.at(message.call));
    receiver.messages.clear();
    CHECK(receiver.intake->held() == 0);
  }
}

TEST_CASE("a small message does not wait for the end of a large one") {
  Outbox outbox;
  outbox.put(answer_frame(1, pieces_of(std::string(8 * kFrameBytes, 'x')), false));
  outbox.next();  // the large one is on its way
  outbox.put(answer_frame(2, pieces_of("small"), false));
  Receiver receiver;
  REQUIRE(receiver.take(written(outbox), SIZE_MAX).ok());
  REQUIRE(receiver.messages.size() == 2);
  CHECK(receiver.messages.front().call == 2);
  CHECK(receiver.messages.back().bytes.size() == 8 * kFrameBytes);
}

TEST_CASE("the parts of an answer come in their order, the last one as the last") {
  Outbox outbox;
  for (const char* part : {"a", "b", "c"})
    outbox.put(answer_frame(9, pieces_of(part), std::string_view(part) != "c"));
  Receiver receiver;
  REQUIRE(receiver.take(written(outbox), 3).ok());
  std::string come;
  for (const DirectMessage& message : receiver.messages)
    come += text_of(message) + (message.more ? "+" : ".");
  CHECK(come == "a+b+c.");
}

TEST_CASE("a message that is too large is refused, and those behind it come") {
  Outbox outbox;
  outbox.put(request_frame(1, "m", 0, pieces_of(std::string(100'000, 'x'))));
  outbox.put(request_frame(2, "m", 0, pieces_of("small")));
  Receiver receiver({.all = 1 << 20, .one_message = 50'000});
  REQUIRE(receiver.take(written(outbox), 1000).ok());
  REQUIRE(receiver.messages.size() == 2);
  CHECK(receiver.messages[0].refusal.code() == Code::resource_exhausted);
  CHECK(receiver.messages[0].refusal.message().find("100000 bytes") != std::string_view::npos);
  CHECK(receiver.messages[1].refusal.ok());
  CHECK(text_of(receiver.messages[1]) == "small");
}

TEST_CASE("messages that nobody lets go of are refused once they are too much together") {
  Outbox outbox;
  for (uint32_t call = 1; call <= 4; ++call)
    outbox.put(request_frame(call, "m", 0, pieces_of(std::string(30'000, 'x'))));
  Receiver receiver({.all = 100'000, .one_message = 50'000});
  const std::string bytes = written(outbox);
  REQUIRE(receiver.take(bytes, 1000).ok());
  REQUIRE(receiver.messages.size() == 4);
  CHECK(receiver.messages[2].refusal.ok());
  CHECK(receiver.messages[3].refusal.code() == Code::resource_exhausted);
  receiver.messages.clear();
  CHECK(receiver.intake->held() == 0);
  REQUIRE(receiver.take(bytes.substr(0, bytes.size() / 4), 1000).ok());
  CHECK(receiver.messages.at(0).refusal.ok());
}

TEST_CASE("calls without gRPC have half of its bound beside it, and no larger message") {
  const ReceiveLimits limits = Intake::beside_grpc({.all = 1000, .one_message = 700});
  CHECK(limits.all == 500);
  CHECK(limits.one_message == 500);
  CHECK(Intake::beside_grpc({.all = 1000, .one_message = 300}).one_message == 300);
}

std::string frame(const FrameHead& head, std::string_view body = {}) {
  const FrameHeadBytes bytes = to_bytes(head);
  return std::string(bytes.data(), bytes.size()) + std::string(body);
}

TEST_CASE("what is no frame ends the connection, with what is wrong") {
  using frame_flag::kBegins;
  using frame_flag::kEnds;
  const std::string request = to_bytes(RequestHead{.message_bytes = 3, .method = "m"});
  const auto size = static_cast<uint32_t>(request.size());
  const auto of = [](uint32_t bytes, FrameKind kind, uint8_t flags) {
    return FrameHead{.size = bytes, .call = 1, .kind = kind, .flags = flags};
  };
  const struct {
    const char* what;
    std::string bytes;
  } cases[] = {
      {"kind", frame(of(0, static_cast<FrameKind>(0), 0))},
      {"kind", frame(of(0, static_cast<FrameKind>(9), 0))},
      {"flags", frame(of(0, FrameKind::cancel, 0x80))},
      {"a body that is too large", frame(of(kMaxBodyBytes + 1, FrameKind::answer, kBegins))},
      {"an error that is too large", frame(of(1 << 20, FrameKind::error, kBegins | kEnds))},
      {"an error without a code", frame(of(8, FrameKind::error, 0), std::string(8, '\0'))},
      {"a cancellation with a body", frame(of(1, FrameKind::cancel, 0), "x")},
      {"a message without a beginning", frame(of(2, FrameKind::request, kEnds), "xx")},
      {"a head that is too short", frame(of(4, FrameKind::request, kBegins), "xxxx")},
      {"longer than it said",
       frame(of(size + 4, FrameKind::request, kBegins | kEnds), request + "abcd")},
      {"shorter than it said",
       frame(of(size + 2, FrameKind::request, kBegins | kEnds), request + "ab")},
      {"begun twice", frame(of(size, FrameKind::request, kBegins), request) +
                          frame(of(size, FrameKind::request, kBegins), request)},
      {"a request that ends as an answer", frame(of(size, FrameKind::request, kBegins), request) +
                                               frame(of(3, FrameKind::answer, kEnds), "abc")},
  };
  for (const auto& [what, bytes] : cases) {
    CAPTURE(what);
    Receiver receiver;
    const Status status = receiver.take(bytes, 7);
    CHECK(status.code() == Code::invalid_argument);
    CHECK(receiver.messages.empty());
  }
}

TEST_CASE("bytes that somebody damaged give messages or an error, and nothing else") {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    Outbox outbox;
    for (uint32_t call = 1; call < 5; ++call) {
      outbox.put(request_frame(call, "/tensorflow.MasterService/RunStep", random() % 3,
                               pieces_of(std::string(random() % 300, 'm'))));
      outbox.put(error_frame(call, internal("no")));
    }
    std::string bytes = written(outbox);
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    Receiver receiver({.all = 1 << 20, .one_message = 1 << 16});
    static_cast<void>(receiver.take(bytes, 1 + random() % 200));
    CHECK(receiver.intake->held() <= size_t{1} << 20);
  }
}

}  // namespace
}  // namespace millrace::transport
