// Addresses: what a remote path names, and how its parts are written in a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::remote {

// "s3://bucket/a/b": {"s3", "bucket", "a/b"}. A bucket, or a host with or without a port.
struct Address {
  std::string scheme;
  std::string authority;
  std::string path;  // behind the slash that ends the authority

  std::string to_string() const;
};

// Errors: INVALID_ARGUMENT if `path` has no scheme, an empty authority, or a letter in it that no
// host and no bucket has.
Result<Address> parse_address(const std::string& path);

// Bytes as a request's path has them: letters, digits and -._~ as they are, others as %XX. A slash
// stays one where `slashes` says so.
enum class Slashes : uint8_t { kept, encoded };
std::string percent_encoded(std::string_view text, Slashes slashes);
// The text before percent_encoded; what is no %XX stays as it is.
std::string percent_decoded(std::string_view text);

using Query = std::vector<std::pair<std::string, std::string>>;
// "a=1&b=%2F", in the order given.
std::string encoded_query(const Query& query);

// For messages: no more than 300 bytes of what a server says, in one line, with letters that can be
// shown.
std::string shown_text(std::string_view said);

}  // namespace millrace::remote
