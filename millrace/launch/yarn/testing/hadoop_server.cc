#include "millrace/launch/yarn/testing/hadoop_server.h"

#include "millrace/format/wire_format.h"

namespace millrace {

using wire::put_bytes_field;
using wire::put_varint_field;

std::string delimited(const std::string& text) {
  std::string out;
  wire::put_varint(&out, text.size());
  return out + text;
}

std::string frame(const std::string& parts) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(parts.size() >> shift & 0xFF);
  return out + parts;
}

std::string answer(uint64_t call, const std::string& body) {
  std::string header;
  put_varint_field(&header, 1, call);
  put_varint_field(&header, 2, 0);
  return frame(delimited(header) + delimited(body));
}

std::string refusal(uint64_t call, uint64_t status, const std::string& exception,
                    const std::string& said) {
  std::string header;
  put_varint_field(&header, 1, call);
  put_varint_field(&header, 2, status);
  put_bytes_field(&header, 4, exception);
  put_bytes_field(&header, 5, said);
  return frame(delimited(header));
}

std::string auth(const std::string& method, const std::string& challenge) {
  std::string out;
  put_bytes_field(&out, 1, method);
  put_bytes_field(&out, 2, "DIGEST-MD5");
  put_bytes_field(&out, 3, "");
  put_bytes_field(&out, 4, "default");
  if (!challenge.empty()) put_bytes_field(&out, 5, challenge);
  return out;
}

std::string negotiation(const std::string& challenge) {
  std::string body;
  put_varint_field(&body, 2, 1);
  put_bytes_field(&body, 4, auth("KERBEROS", ""));
  put_bytes_field(&body, 4, auth("TOKEN", challenge));
  return answer(kLoginCall, body);
}

std::string wrapped(SaslLayer& server, const std::string& frames) {
  std::string body;
  put_varint_field(&body, 2, 5);
  put_bytes_field(&body, 3, server.wrap(frames).value());
  return answer(kLoginCall, body);
}

std::string success(const std::string& proof) {
  std::string body;
  put_varint_field(&body, 2, 0);
  put_bytes_field(&body, 3, proof);
  return answer(kLoginCall, body);
}

}  // namespace millrace
