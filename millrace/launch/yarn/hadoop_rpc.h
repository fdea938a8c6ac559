// One connection to a server of Hadoop: bytes in, bytes out; no socket, clock or thread. It logs in
// with a token, and then carries calls of one protocol, whose requests and answers are messages of
// protobuf (messages.h).
//
//   client:  | "hrpc" | 9 | 0 | 0xDF |                          version 9, class 0, SASL
//   frame:   | length u32, highest byte first | header | body |  each part after a varint of its
//   size
//
//   client                        server            header's call
//     NEGOTIATE            ──►                        -33
//                          ◄──    NEGOTIATE with a challenge, among others for tokens
//     INITIATE, response   ──►                        -33
//                          ◄──    SUCCESS, and its own proof
//     context: protocol    ──►                        -3
//     call 0, call 1, ...  ──►                        0, 1, ...
//                          ◄──    answers, each with its call's number
//
// Where the login has agreed upon it (sasl_layer.h), all that comes after it is protected: the
// frames of both sides are a stream, whose pieces are the tokens of messages
//
//     WRAP, sealed bytes   ◄─►                        -33
//
// Calls may be made at once: they are sent when the login is done. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/format/hadoop_credentials.h"
#include "millrace/launch/yarn/hadoop_fault.h"
#include "millrace/launch/yarn/sasl_layer.h"

namespace millrace {

struct HadoopLogin {
  std::string protocol = {};  // "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
  HadoopToken token = {};
  std::string client_id = {};  // 16 bytes that no other connection has
  std::string nonce = {};      // text that was never used before
};

class HadoopConnection {
 public:
  explicit HadoopConnection(HadoopLogin login);

  // The number of the call, by which it is answered.
  int call(std::string_view method, std::string_view request);

  // What is to be sent; it is taken out.
  std::string take_output();
  bool has_output() const { return !output_.empty(); }

  struct Answer {
    int call = 0;
    // The answer's bytes. Errors: hadoop_fault() of what the server says.
    Result<std::string> body = internal("not answered");
  };
  // What the server has sent. Errors, after which the connection is of no use: UNAUTHENTICATED if
  // the login is refused, or the server can't prove itself; DATA_LOSS for what makes no sense, or
  // was changed on its way; FAILED_PRECONDITION for a protection that can't be had here; what
  // hadoop_fault() makes of the server's last word.
  Result<std::vector<Answer>> feed(std::string_view bytes);

 private:
  enum class Stage { negotiating, proving, open };

  void send_sasl(std::string_view message);
  void send(std::string_view frames);
  Status unseal(std::string_view frame);
  Status take_frame(std::string_view frame, std::vector<Answer>& answers);
  Status take_login(std::string_view message);
  Status prove(std::string_view chosen, std::string_view challenge, const std::string& uri);
  Status open();

  const HadoopLogin login_;
  Stage stage_ = Stage::negotiating;
  std::string expected_proof_;
  SaslTerms terms_;
  std::optional<SaslLayer> layer_;  // set once messages are protected
  Status broken_;                   // why nothing more can be sent
  std::string input_;
  std::string unsealed_;  // of protected frames what is not whole yet
  std::string output_;
  std::string waiting_;  // the frames of calls, until the login is done
  int next_call_ = 0;
};

}  // namespace millrace
