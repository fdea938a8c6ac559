#include "millrace/io/remote/hdfs_answers.h"

#include <nlohmann/json.hpp>

#include "millrace/io/remote/hdfs_settings.h"

namespace millrace::remote {
namespace {

using Json = nlohmann::json;

Json parsed(std::string_view text) { return Json::parse(text, nullptr, false); }

// The member, or null: of what is no object there is none.
const Json& member(const Json& value, const char* name) {
  static const Json kNothing;
  if (!value.is_object()) return kNothing;
  const auto found = value.find(name);
  return found == value.end() ? kNothing : *found;
}

std::string text_in(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

Status no_hdfs_answer(std::string_view why) {
  return error(Code::data_loss, "an answer of WebHDFS is damaged: ", why);
}

}  // namespace

Result<FileFacts> read_hdfs_facts(std::string_view json) {
  const Json all = parsed(json);
  const Json& status = member(all, "FileStatus");
  const Json &length = member(status, "length"), &changed = member(status, "modificationTime");
  const std::string type = text_in(member(status, "type"));
  if (!length.is_number_unsigned() || (type != "FILE" && type != "DIRECTORY"))
    return no_hdfs_answer("it tells no length, or not what is there");
  // More milliseconds than that are no time.
  const int64_t micros = changed.is_number_unsigned() && changed.get<uint64_t>() < (1ULL << 50)
                             ? static_cast<int64_t>(changed.get<uint64_t>()) * 1000
                             : 0;
  return FileFacts{.size = length.get<uint64_t>(),
                   .is_directory = type == "DIRECTORY",
                   .changed_micros = micros};
}

Result<HdfsPage> read_hdfs_page(std::string_view json) {
  const Json all = parsed(json);
  const Json& batch = member(all, "DirectoryListing");
  const Json& holder = batch.is_object() ? member(batch, "partialListing") : all;
  const Json& entries = member(member(holder, "FileStatuses"), "FileStatus");
  if (!entries.is_array()) return no_hdfs_answer("it is no list");
  HdfsPage page;
  for (const Json& entry : entries) {
    const Json& suffix = member(entry, "pathSuffix");
    if (!suffix.is_string()) return no_hdfs_answer("what is listed has no name");
    page.names.push_back(suffix.get<std::string>());
    if (page.names.back().find('/') != std::string::npos)
      return no_hdfs_answer("a name in a list has a slash");
  }
  const Json& left = member(batch, "remainingEntries");
  page.has_more = left.is_number_unsigned() && left.get<uint64_t>() > 0;
  return page;
}

Result<std::optional<HadoopToken>> read_hdfs_token(std::string_view json) {
  const Json all = parsed(json);
  if (!all.is_object() || !all.contains("Token")) return no_hdfs_answer("it has no token");
  const Json& token = member(all, "Token");
  if (token.is_null()) return std::optional<HadoopToken>();
  MR_ASSIGN(HadoopToken read, parse_hdfs_token(text_in(member(token, "urlString"))));
  return std::optional<HadoopToken>(std::move(read));
}

std::optional<bool> read_hdfs_boolean(std::string_view json) {
  const Json all = parsed(json);
  const Json& said = member(all, "boolean");
  if (!said.is_boolean()) return std::nullopt;
  return said.get<bool>();
}

HdfsException read_hdfs_exception(std::string_view json) {
  const Json all = parsed(json);
  const Json& told = member(all, "RemoteException");
  const std::string message = text_in(member(told, "message"));
  // Where in the server it came about is told in further lines.
  return {.name = text_in(member(told, "exception")),
          .message = message.substr(0, message.find('\n'))};
}

}  // namespace millrace::remote
