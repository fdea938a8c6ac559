#include "millrace/io/remote/hdfs_settings.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

#include "millrace/base/str_cat.h"

namespace millrace::remote {
namespace {

constexpr uint64_t kLongestTokens = 16 << 20;
constexpr std::string_view kHdfsKinds[] = {"HDFS_DELEGATION_TOKEN", "WEBHDFS delegation",
                                           "SWEBHDFS delegation"};

Result<std::string> read_token_file(Files& local, const std::string& path) {
  MR_ASSIGN(const auto file, local.open(path));
  MR_ASSIGN(const uint64_t size, file->size());
  if (size > kLongestTokens) return invalid(size, " bytes are no file of Hadoop's tokens");
  std::string bytes(size, '\0');
  MR_ASSIGN(const size_t length, file->read(0, bytes));
  bytes.resize(length);
  MR_ASSIGN(const auto tokens, parse_credentials(bytes));
  for (const HadoopToken& token : tokens)
    for (const std::string_view kind : kHdfsKinds)
      if (token.kind == kind) return hdfs_token_text(token);
  return std::string();
}

}  // namespace

std::string hdfs_token_text(const HadoopToken& token) {
  std::string text;
  absl::WebSafeBase64Escape(write_hadoop_token(token), &text);
  while (text.ends_with('=')) text.pop_back();
  return text;
}

Result<HadoopToken> parse_hdfs_token(std::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(absl::string_view(text.data(), text.size()), &bytes))
    return error(Code::data_loss, "a token of HDFS is no base64");
  return parse_hadoop_token(bytes);
}

std::string hdfs_origin(const Address& address, int http_port) {
  const bool is_secure = address.scheme == "swebhdfs";
  std::string host = address.authority;
  // Behind the last colon that is not one of an address of IPv6.
  const size_t colon = host.rfind(':');
  std::string port;
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    port = host.substr(colon + 1);
    host.resize(colon);
  }
  if (address.scheme == "hdfs") {
    if (http_port != 0) {
      port = str_cat(http_port);
    } else if (port == "8020" || port == "9000") {
      port.clear();
    }
  }
  if (port.empty()) port = is_secure ? "9871" : "9870";
  return str_cat(is_secure ? "https://" : "http://", host, ":", port);
}

Result<HdfsSettings> read_hdfs_settings(const Environment& environment, Files& local) {
  HdfsSettings made;
  for (const char* name : {"HADOOP_USER_NAME", "USER", "LOGNAME"}) {
    made.user = environment(name).value_or("");
    if (!made.user.empty()) break;
  }
  const std::string port = environment("MILLRACE_HDFS_HTTP_PORT").value_or("");
  if (!port.empty() &&
      (!absl::SimpleAtoi(port, &made.http_port) || made.http_port < 1 || made.http_port > 65535))
    return invalid("MILLRACE_HDFS_HTTP_PORT is '", shown_text(port), "', which is no port");
  const std::string tokens = environment("HADOOP_TOKEN_FILE_LOCATION").value_or("");
  if (tokens.empty()) return made;
  auto token = read_token_file(local, tokens);
  if (!token.ok()) {
    return failed_precondition(
        "the tokens in '", tokens,
        "', which HADOOP_TOKEN_FILE_LOCATION names, can't be read: ", token.status().message());
  }
  made.token = *std::move(token);
  return made;
}

}  // namespace millrace::remote
