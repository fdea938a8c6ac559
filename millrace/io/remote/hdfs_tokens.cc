#include "millrace/io/remote/hdfs_tokens.h"

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/hdfs_answers.h"
#include "millrace/io/remote/url.h"

namespace millrace::remote {
namespace {

struct Scheme {
  std::string_view name;
  const char* kind;
  const char* usual_port;
};
constexpr Scheme kSchemes[] = {{"hdfs", "HDFS_DELEGATION_TOKEN", "8020"},
                               {"webhdfs", "WEBHDFS delegation", "9870"},
                               {"swebhdfs", "SWEBHDFS delegation", "9871"}};

}  // namespace

Result<std::optional<HadoopToken>> get_hdfs_token(const HdfsStore& store, const HdfsPlace& place,
                                                  const std::string& renewer) {
  HdfsAsk asked{.op = "GETDELEGATIONTOKEN"};
  if (!renewer.empty()) asked.query.emplace_back("renewer", renewer);
  MR_ASSIGN(const HttpReply reply, store.done(place, asked));
  return read_hdfs_token(reply.body);
}

Status cancel_hdfs_token(const HdfsStore& store, const HdfsPlace& place, const HadoopToken& token) {
  return store
      .done(place, {.method = "PUT",
                    .op = "CANCELDELEGATIONTOKEN",
                    .query = {{"token", hdfs_token_text(token)}}})
      .status();
}

HadoopToken hdfs_token_for(HadoopToken token, const std::string& path, const std::string& host) {
  const Result<Address> address = parse_address(path);
  if (!address.ok()) return token;
  for (const Scheme& scheme : kSchemes) {
    if (address->scheme != scheme.name) continue;
    const size_t colon = address->authority.rfind(':');
    token.kind = scheme.kind;
    token.service = str_cat(
        host, ":",
        colon == std::string::npos ? scheme.usual_port : address->authority.substr(colon + 1));
  }
  return token;
}

}  // namespace millrace::remote
