#include "millrace/launch/yarn/hadoop_rpc.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/launch/yarn/hadoop_fault.h"
#include "millrace/launch/yarn/sasl_digest.h"

namespace millrace {
namespace {

using wire::Field;
using wire::WireType;

constexpr std::string_view kPreamble("hrpc\x09\x00\xDF", 7);
constexpr int kLoginCall = -33;
constexpr int kContextCall = -3;
constexpr size_t kLengthSize = 4;
constexpr size_t kLongestFrame = size_t{64} << 20;

namespace request_header {
enum Number : int { kRpcKind = 1, kRpcOp = 2, kCallId = 3, kClientId = 4, kRetryCount = 5 };
constexpr uint64_t kProtobuf = 2;
constexpr uint64_t kFinalPacket = 0;
}  // namespace request_header

namespace response_header {
enum Number : uint32_t { kCallId = 1, kStatus = 2, kExceptionClass = 4, kErrorMessage = 5 };
constexpr uint64_t kSuccess = 0;
}  // namespace response_header

namespace sasl {
enum Number : int { kState = 2, kToken = 3, kAuths = 4 };
enum State : uint64_t { kSuccess = 0, kNegotiate = 1, kInitiate = 2, kWrap = 5 };
}  // namespace sasl

namespace sasl_auth {
enum Number : uint32_t {
  kMethod = 1,
  kMechanism = 2,
  kProtocol = 3,
  kServerId = 4,
  kChallenge = 5
};
}  // namespace sasl_auth

namespace call_header {
enum Number : int { kMethod = 1, kProtocol = 2, kVersion = 3 };
constexpr uint64_t kFirstVersion = 1;
}  // namespace call_header

namespace connection_context {
enum Number : int { kProtocol = 3 };
}  // namespace connection_context

// Calls and retries are signed numbers in zigzag: 0, -1, 1, -2, ...
uint64_t zigzag(int value) {
  const auto wide = static_cast<int64_t>(value);
  return static_cast<uint64_t>(wide << 1) ^ static_cast<uint64_t>(wide >> 63);
}

// As the header of an answer has it: without zigzag.
int signed_call(uint64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

void put_delimited(std::string& out, std::string_view part) {
  wire::put_varint(&out, part.size());
  out += part;
}

void put_length(std::string& out, size_t size) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xFF);
}

size_t length_at(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthSize; ++i)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

std::string frame_of(int call, int retry, std::string_view client, std::string_view message_header,
                     std::string_view body) {
  std::string header;
  wire::put_varint_field(&header, request_header::kRpcKind, request_header::kProtobuf);
  wire::put_varint_field(&header, request_header::kRpcOp, request_header::kFinalPacket);
  wire::put_varint_field(&header, request_header::kCallId, zigzag(call));
  wire::put_bytes_field(&header, request_header::kClientId, client);
  wire::put_varint_field(&header, request_header::kRetryCount, zigzag(retry));
  std::string frame;
  put_delimited(frame, header);
  if (!message_header.empty()) put_delimited(frame, message_header);
  put_delimited(frame, body);
  std::string framed;
  put_length(framed, frame.size());
  return framed + frame;
}

// Takes a part after its size off the front. Errors: DATA_LOSS.
Result<std::string_view> take_delimited(std::string_view& bytes) {
  wire::Reader reader(bytes);
  uint64_t size = 0;
  if (!reader.next_varint(&size) || size > reader.remaining().size())
    return error(Code::data_loss, "an answer of Hadoop makes no sense");
  const std::string_view part = reader.remaining().substr(0, size);
  bytes = reader.remaining().substr(size);
  return part;
}

struct ResponseHeader {
  int call = 0;
  uint64_t status = response_header::kSuccess;
  std::string exception = {};
  std::string said = {};
};

// Off the front of a frame. Errors: DATA_LOSS.
Result<ResponseHeader> take_header(std::string_view& frame) {
  MR_ASSIGN(const std::string_view bytes, take_delimited(frame));
  wire::Reader reader(bytes);
  ResponseHeader header;
  for (Field field; reader.next(&field);) {
    if (field.is(response_header::kCallId, WireType::varint))
      header.call = signed_call(field.value);
    if (field.is(response_header::kStatus, WireType::varint)) header.status = field.value;
    if (field.is(response_header::kExceptionClass, WireType::bytes)) header.exception = field.bytes;
    if (field.is(response_header::kErrorMessage, WireType::bytes)) header.said = field.bytes;
  }
  if (!reader.ok())
    return error(Code::data_loss, "an answer of Hadoop: ", reader.status().message());
  return header;
}

constexpr const char* kNoServer = "this is no server of Hadoop, or it wants no login by a token";

// The next whole frame, off the front; none if more has to come. Errors: DATA_LOSS with `why` for
// one that is longer than any is.
Result<std::optional<std::string>> next_frame(std::string& bytes, const char* why) {
  if (bytes.size() < kLengthSize) return std::optional<std::string>();
  const size_t length = length_at(bytes);
  if (length > kLongestFrame) return error(Code::data_loss, why);
  if (bytes.size() < kLengthSize + length) return std::optional<std::string>();
  std::optional<std::string> frame = bytes.substr(kLengthSize, length);
  bytes.erase(0, kLengthSize + length);
  return frame;
}

struct SaslMessage {
  uint64_t state = sasl::kSuccess;
  std::string_view token = {};
  std::vector<std::string_view> offers = {};
};

// Errors: DATA_LOSS.
Result<SaslMessage> parse_sasl(std::string_view bytes) {
  wire::Reader reader(bytes);
  SaslMessage message;
  for (Field field; reader.next(&field);) {
    if (field.is(sasl::kState, WireType::varint)) message.state = field.value;
    if (field.is(sasl::kToken, WireType::bytes)) message.token = field.bytes;
    if (field.is(sasl::kAuths, WireType::bytes)) message.offers.push_back(field.bytes);
  }
  if (!reader.ok()) return error(Code::data_loss, "a login of Hadoop: ", reader.status().message());
  return message;
}

// A way to log in that the server offers.
struct LoginOffer {
  std::string_view method = {};  // empty if the offer makes no sense
  std::string_view protocol = {};
  std::string_view server = {};
  std::string_view challenge = {};
  std::string chosen = {};  // the offer without its challenge, as it is sent back
};

LoginOffer parse_offer(std::string_view bytes) {
  LoginOffer offer;
  wire::Reader reader(bytes);
  for (Field field; reader.next(&field);) {
    if (field.is(sasl_auth::kMethod, WireType::bytes)) offer.method = field.bytes;
    if (field.is(sasl_auth::kProtocol, WireType::bytes)) offer.protocol = field.bytes;
    if (field.is(sasl_auth::kServerId, WireType::bytes)) offer.server = field.bytes;
    if (field.is(sasl_auth::kChallenge, WireType::bytes)) {
      offer.challenge = field.bytes;
    } else if (field.type == WireType::bytes && field.number < sasl_auth::kChallenge) {
      wire::put_bytes_field(&offer.chosen, static_cast<int>(field.number), field.bytes);
    }
  }
  return reader.ok() ? offer : LoginOffer();
}

}  // namespace

HadoopConnection::HadoopConnection(HadoopLogin login) : login_(std::move(login)) {
  output_ = kPreamble;
  std::string negotiate;
  wire::put_varint_field(&negotiate, sasl::kState, sasl::kNegotiate);
  send_sasl(negotiate);
}

void HadoopConnection::send_sasl(std::string_view message) {
  output_ += frame_of(kLoginCall, -1, "", "", message);
}

int HadoopConnection::call(std::string_view method, std::string_view request) {
  std::string header;
  wire::put_bytes_field(&header, call_header::kMethod, method);
  wire::put_bytes_field(&header, call_header::kProtocol, login_.protocol);
  wire::put_varint_field(&header, call_header::kVersion, call_header::kFirstVersion);
  const std::string frame = frame_of(next_call_, 0, login_.client_id, header, request);
  if (stage_ == Stage::open) {
    send(frame);
  } else {
    waiting_ += frame;
  }
  return next_call_++;
}

std::string HadoopConnection::take_output() { return std::exchange(output_, {}); }

// Protected, frames are a stream that is cut as the server bears it.
void HadoopConnection::send(std::string_view frames) {
  if (!layer_) {
    output_ += frames;
    return;
  }
  while (!frames.empty() && broken_.ok()) {
    const std::string_view part = frames.substr(0, layer_->most_to_wrap());
    frames.remove_prefix(part.size());
    const Result<std::string> sealed = layer_->wrap(part);
    if (!sealed.ok()) {
      broken_ = sealed.status();
      return;
    }
    std::string message;
    wire::put_varint_field(&message, sasl::kState, sasl::kWrap);
    wire::put_bytes_field(&message, sasl::kToken, *sealed);
    send_sasl(message);
  }
}

Result<std::vector<HadoopConnection::Answer>> HadoopConnection::feed(std::string_view bytes) {
  MR_TRY(broken_);
  input_ += bytes;
  std::vector<Answer> answers;
  for (;;) {
    MR_ASSIGN(const auto frame, next_frame(input_, kNoServer));
    if (!frame) return answers;
    if (!layer_) {
      MR_TRY(take_frame(*frame, answers));
      continue;
    }
    MR_TRY(unseal(*frame));
    for (;;) {
      MR_ASSIGN(const auto inner,
                next_frame(unsealed_, "a protected answer of Hadoop is longer than any is"));
      if (!inner) break;
      MR_TRY(take_frame(*inner, answers));
    }
  }
}

Status HadoopConnection::unseal(std::string_view frame) {
  MR_ASSIGN(const ResponseHeader header, take_header(frame));
  if (header.status != response_header::kSuccess)
    return hadoop_fault(header.exception, header.said);
  if (header.call != kLoginCall)
    return error(Code::data_loss, "an answer of the server is not protected, as was agreed upon");
  MR_ASSIGN(const std::string_view body, take_delimited(frame));
  MR_ASSIGN(const SaslMessage message, parse_sasl(body));
  if (message.state != sasl::kWrap)
    return error(Code::data_loss, "a protected answer of Hadoop in a state that nobody knows (",
                 message.state, ")");
  MR_ASSIGN(const std::string text, layer_->unwrap(message.token));
  unsealed_ += text;
  return {};
}

Status HadoopConnection::take_frame(std::string_view frame, std::vector<Answer>& answers) {
  MR_ASSIGN(const ResponseHeader header, take_header(frame));
  const bool is_of_call = stage_ == Stage::open && header.call >= 0;
  if (header.status != response_header::kSuccess) {
    Status fault = hadoop_fault(header.exception, header.said);
    if (!is_of_call) return fault;
    answers.push_back({header.call, fault});
    return {};
  }
  MR_ASSIGN(const std::string_view body, take_delimited(frame));
  if (!is_of_call) return take_login(body);
  answers.push_back({header.call, std::string(body)});
  return {};
}

Status HadoopConnection::take_login(std::string_view text) {
  MR_ASSIGN(const SaslMessage message, parse_sasl(text));
  if (stage_ == Stage::negotiating && message.state == sasl::kNegotiate) {
    for (const std::string_view bytes : message.offers) {
      const LoginOffer offer = parse_offer(bytes);
      if (offer.method != "TOKEN") continue;
      return prove(offer.chosen, offer.challenge, str_cat(offer.protocol, "/", offer.server));
    }
    return error(Code::unauthenticated, "the server takes no token for a login");
  }
  if (stage_ == Stage::proving && message.state == sasl::kSuccess) {
    if (message.token != expected_proof_)
      return error(Code::unauthenticated, "the server can't prove that it knows the token");
    return open();
  }
  return error(Code::data_loss, "a login of Hadoop that takes a turn nobody knows (state ",
               message.state, ")");
}

Status HadoopConnection::prove(std::string_view chosen, std::string_view challenge,
                               const std::string& uri) {
  MR_ASSIGN(const DigestResponse response,
            answer_digest(challenge, {.user = absl::Base64Escape(login_.token.identifier),
                                      .password = absl::Base64Escape(login_.token.password),
                                      .uri = uri,
                                      .nonce = login_.nonce}));
  expected_proof_ = response.expected;
  terms_ = response.terms;
  std::string message;
  wire::put_varint_field(&message, sasl::kState, sasl::kInitiate);
  wire::put_bytes_field(&message, sasl::kToken, response.text);
  wire::put_bytes_field(&message, sasl::kAuths, chosen);
  send_sasl(message);
  stage_ = Stage::proving;
  return {};
}

Status HadoopConnection::open() {
  stage_ = Stage::open;
  if (terms_.protection != SaslProtection::none) {
    MR_ASSIGN(layer_, SaslLayer::create(terms_, SaslLayer::Side::client));
  }
  std::string context;
  wire::put_bytes_field(&context, connection_context::kProtocol, login_.protocol);
  send(frame_of(kContextCall, -1, "", "", context));
  send(std::exchange(waiting_, {}));
  return broken_;
}

}  // namespace millrace
