#include "millrace/launch/yarn/hadoop_rpc.h"

#include <utility>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
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
enum State : uint64_t { kSuccess = 0, kNegotiate = 1, kInitiate = 2 };
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

bool ends_with_one_of(std::string_view text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends)
    if (text.ends_with(end)) return true;
  return false;
}

Code code_of(std::string_view exception) {
  if (ends_with_one_of(exception, {"StandbyException", "RetriableException", "NotYetReadyException",
                                   "NMNotYetReadyException"}))
    return Code::unavailable;
  if (ends_with_one_of(exception, {"InvalidToken", "SaslException"})) return Code::unauthenticated;
  if (ends_with_one_of(exception, {"AccessControlException", "AuthorizationException"}))
    return Code::permission_denied;
  if (ends_with_one_of(exception,
                       {"InvalidResourceRequestException", "InvalidLabelResourceRequestException",
                        "ResourceNotFoundException"}))
    return Code::invalid_argument;
  if (ends_with_one_of(exception, {"ApplicationAttemptNotFoundException",
                                   "ApplicationNotFoundException", "ContainerNotFoundException"}))
    return Code::not_found;
  if (ends_with_one_of(exception, {"ApplicationMasterNotRegisteredException"}))
    return Code::aborted;
  if (ends_with_one_of(exception, {"InvalidApplicationMasterRequestException"}))
    return Code::already_exists;
  if (ends_with_one_of(exception, {"RpcNoSuchMethodException", "RpcNoSuchProtocolException",
                                   "UnsupportedOperationException"}))
    return Code::unimplemented;
  return Code::unknown;
}

}  // namespace

Status hadoop_fault(std::string_view exception_class, std::string_view said) {
  const std::string_view first_line = said.substr(0, said.find('\n'));
  const size_t dot = exception_class.rfind('.');
  const std::string_view name =
      dot == std::string_view::npos ? exception_class : exception_class.substr(dot + 1);
  if (first_line.empty()) return error(code_of(name), name.empty() ? "it says no more" : name);
  return error(code_of(name), first_line);
}

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
  std::string& out = stage_ == Stage::open ? output_ : waiting_;
  out += frame_of(next_call_, 0, login_.client_id, header, request);
  return next_call_++;
}

std::string HadoopConnection::take_output() { return std::exchange(output_, {}); }

Result<std::vector<HadoopConnection::Answer>> HadoopConnection::feed(std::string_view bytes) {
  input_ += bytes;
  std::vector<Answer> answers;
  while (input_.size() >= kLengthSize) {
    const size_t length = length_at(input_);
    if (length > kLongestFrame)
      return error(Code::data_loss, "this is no server of Hadoop, or it wants no login by a token");
    if (input_.size() < kLengthSize + length) break;
    const std::string frame = input_.substr(kLengthSize, length);
    input_.erase(0, kLengthSize + length);
    MR_TRY(take_frame(frame, answers));
  }
  return answers;
}

Status HadoopConnection::take_frame(std::string_view frame, std::vector<Answer>& answers) {
  MR_ASSIGN(const std::string_view header, take_delimited(frame));
  wire::Reader reader(header);
  Field field;
  int call = 0;
  uint64_t status = response_header::kSuccess;
  std::string exception;
  std::string said;
  while (reader.next(&field)) {
    if (field.is(response_header::kCallId, WireType::varint)) call = signed_call(field.value);
    if (field.is(response_header::kStatus, WireType::varint)) status = field.value;
    if (field.is(response_header::kExceptionClass, WireType::bytes)) exception = field.bytes;
    if (field.is(response_header::kErrorMessage, WireType::bytes)) said = field.bytes;
  }
  if (!reader.ok())
    return error(Code::data_loss, "an answer of Hadoop: ", reader.status().message());
  const bool is_of_call = stage_ == Stage::open && call >= 0;
  if (status != response_header::kSuccess) {
    Status fault = hadoop_fault(exception, said);
    if (!is_of_call) return fault;
    answers.push_back({call, fault});
    return {};
  }
  MR_ASSIGN(const std::string_view body, take_delimited(frame));
  if (!is_of_call) return take_login(body);
  answers.push_back({call, std::string(body)});
  return {};
}

Status HadoopConnection::take_login(std::string_view message) {
  wire::Reader reader(message);
  Field field;
  uint64_t state = sasl::kSuccess;
  std::string proof;
  std::vector<std::string_view> offers;
  while (reader.next(&field)) {
    if (field.is(sasl::kState, WireType::varint)) state = field.value;
    if (field.is(sasl::kToken, WireType::bytes)) proof = field.bytes;
    if (field.is(sasl::kAuths, WireType::bytes)) offers.push_back(field.bytes);
  }
  if (!reader.ok()) return error(Code::data_loss, "a login of Hadoop: ", reader.status().message());
  if (stage_ == Stage::negotiating && state == sasl::kNegotiate) {
    for (const std::string_view bytes : offers) {
      const LoginOffer offer = parse_offer(bytes);
      if (offer.method != "TOKEN") continue;
      return prove(offer.chosen, offer.challenge, str_cat(offer.protocol, "/", offer.server));
    }
    return error(Code::unauthenticated, "the server takes no token for a login");
  }
  if (stage_ == Stage::proving && state == sasl::kSuccess) {
    if (proof != expected_proof_)
      return error(Code::unauthenticated, "the server can't prove that it knows the token");
    open();
    return {};
  }
  return error(Code::data_loss, "a login of Hadoop that takes a turn nobody knows (state ", state,
               ")");
}

Status HadoopConnection::prove(std::string_view chosen, std::string_view challenge,
                               const std::string& uri) {
  MR_ASSIGN(const DigestResponse response,
            answer_digest(challenge, {.user = absl::Base64Escape(login_.token.identifier),
                                      .password = absl::Base64Escape(login_.token.password),
                                      .uri = uri,
                                      .nonce = login_.nonce}));
  expected_proof_ = response.expected;
  std::string message;
  wire::put_varint_field(&message, sasl::kState, sasl::kInitiate);
  wire::put_bytes_field(&message, sasl::kToken, response.text);
  wire::put_bytes_field(&message, sasl::kAuths, chosen);
  send_sasl(message);
  stage_ = Stage::proving;
  return {};
}

void HadoopConnection::open() {
  stage_ = Stage::open;
  std::string context;
  wire::put_bytes_field(&context, connection_context::kProtocol, login_.protocol);
  output_ += frame_of(kContextCall, -1, "", "", context);
  output_ += std::exchange(waiting_, {});
}

}  // namespace millrace
