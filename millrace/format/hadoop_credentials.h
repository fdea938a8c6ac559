// The tokens that YARN leaves in a container's folder, in the file that HADOOP_TOKEN_FILE_LOCATION
// names, and those that a container is to find there, in Hadoop's "writable" form:
//
//   | "HDTS" | 0 | count | count x ( alias | identifier | password | kind | service ) | secrets ...
//   |
//
// Each of the five is a length and that many bytes; lengths and the count are Hadoop's variable
// numbers: one byte from -112 up is the number itself, a smaller one says how many bytes follow,
// the highest first. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// What proves to a server of Hadoop who asks, without Kerberos.
struct HadoopToken {
  std::string identifier = {};  // bytes that only servers understand
  std::string password = {};    // likewise
  std::string kind = {};        // "YARN_AM_RM_TOKEN"
  std::string service = {};     // whom it is for; may be empty
};

// Errors: DATA_LOSS for what is no such file; UNIMPLEMENTED for one in another of Hadoop's forms.
Result<std::vector<HadoopToken>> parse_credentials(std::string_view bytes);
// Such a file, without other secrets.
std::string write_credentials(const std::vector<HadoopToken>& tokens);

// One token's four parts, as they stand there behind its alias. Errors: DATA_LOSS.
std::string write_hadoop_token(const HadoopToken& token);
Result<HadoopToken> parse_hadoop_token(std::string_view bytes);

}  // namespace millrace
