// What a server of Hadoop sends (hadoop_rpc.h), for tests: frames, answers, refusals, and a login
// by a token that both sides know.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/launch/yarn/sasl_layer.h"

namespace millrace {

inline constexpr const char* kServersOffer =
    R"(realm="default",nonce="abc",qop="auth",charset=utf-8)";
inline constexpr uint64_t kLoginCall = 0xFFFFFFDF;  // -33 in 32 bits

// Its size as a varint, then the text.
std::string delimited(const std::string& text);
// Its size in four bytes, then the parts.
std::string frame(const std::string& parts);
// In answer to a call.
std::string answer(uint64_t call, const std::string& body);
std::string refusal(uint64_t call, uint64_t status, const std::string& exception,
                    const std::string& said);
// One of the logins that are offered; a challenge for the token's.
std::string auth(const std::string& method, const std::string& challenge);
std::string negotiation(const std::string& challenge = kServersOffer);
// Frames as a server sends them when messages are protected.
std::string wrapped(SaslLayer& server, const std::string& frames);
// The end of a login, with the server's own proof.
std::string success(const std::string& proof);

}  // namespace millrace
