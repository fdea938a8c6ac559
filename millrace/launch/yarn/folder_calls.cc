#include "millrace/launch/yarn/folder_calls.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

constexpr size_t kLongestHead = size_t{16} << 10;
constexpr size_t kLongestBody = size_t{8} << 20;
constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kAt = "?at=";
constexpr std::string_view kLogs = "logs/";
constexpr std::string_view kPacks = "packs/";
constexpr std::string_view kSentFiles = "/files/";

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// Takes what stands before the mark off the text, and the mark.
std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(part.size() + mark.size(), text.size()));
  return part;
}

bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_plain(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

Status no_sense() { return invalid("what was asked makes no sense"); }

}  // namespace

// Takes the door off the path.
bool FolderCalls::shows_secret(FolderCall& call) const {
  if (call.method != "GET" && call.method != "HEAD") return is_same_secret(call.token, token_);
  std::string_view path = call.path;
  if (door_.empty() || !path.starts_with('/')) return false;
  path.remove_prefix(1);
  const std::string_view door = path.substr(0, path.find('/'));
  if (!is_same_secret(door, door_)) return false;
  call.path = path.substr(door.size());
  call.is_by_door = true;
  return true;
}

Result<std::optional<FolderCall>> FolderCalls::next() {
  if (is_over_) return std::optional<FolderCall>();
  const size_t head = bytes_.find(kEndOfHead);
  if (head == std::string::npos) {
    if (bytes_.size() > kLongestHead) return invalid("no call has so long a head");
    return std::optional<FolderCall>();
  }
  std::string_view rest = std::string_view(bytes_).substr(0, head);
  std::string_view line = take_until(rest, "\r\n");
  FolderCall call;
  call.method = take_until(line, " ");
  call.path = take_until(line, " ");
  if (!line.starts_with("HTTP/1.")) return no_sense();
  uint64_t length = 0;
  while (!rest.empty()) {
    std::string_view value = take_until(rest, "\r\n");
    const std::string_view name = take_until(value, ":");
    value = without_blanks(value);
    if (is_same_name(name, "Content-Length")) {
      const auto said = number_in(value);
      if (!said || *said > kLongestBody) return invalid("a body of '", value, "' bytes");
      length = *said;
    }
    if (is_same_name(name, "Authorization") && value.starts_with(kBearer))
      call.token = value.substr(kBearer.size());
    if (is_same_name(name, "Transfer-Encoding")) return invalid("bodies come in one piece here");
  }
  if (!shows_secret(call)) {
    is_over_ = true;
    bytes_.clear();
    return std::optional<FolderCall>(std::move(call));
  }
  const size_t begin = head + kEndOfHead.size();
  if (bytes_.size() - begin < length) return std::optional<FolderCall>();
  call.body = bytes_.substr(begin, length);
  bytes_.erase(0, begin + length);
  return std::optional<FolderCall>(std::move(call));
}

std::string folder_answer(int code, std::string_view body) {
  const std::string_view words = code / 100 == 2 ? "OK" : "No";
  return str_cat("HTTP/1.1 ", code, " ", words, "\r\nContent-Length: ", body.size(), "\r\n\r\n",
                 body);
}

std::string file_answer_head(uint64_t size) {
  return str_cat("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ",
                 size, "\r\n\r\n");
}

std::string wanted_text(const std::vector<FilePart>& wanted) {
  std::string text;
  for (const FilePart& part : wanted) str_append(&text, part.offset, " ", part.name, "\n");
  return text;
}

Result<std::vector<FilePart>> parse_wanted(std::string_view text) {
  std::vector<FilePart> wanted;
  while (!text.empty()) {
    std::string_view line = take_until(text, "\n");
    const auto offset = number_in(take_until(line, " "));
    if (!offset || line.empty()) return no_sense();
    wanted.push_back({.name = std::string(line), .offset = *offset});
  }
  return wanted;
}

std::string parts_text(const FileParts& parts) {
  std::string text;
  for (const FilePart& part : parts.parts)
    str_append(&text, part.name, " ", part.offset, " ", part.bytes.size(), "\n", part.bytes);
  return text + (parts.has_more ? "more\n" : "all\n");
}

Result<FileParts> parse_parts(std::string_view text) {
  FileParts parts;
  for (;;) {
    std::string_view line = take_until(text, "\n");
    if (text.empty() && (line == "more" || line == "all")) {
      parts.has_more = line == "more";
      return parts;
    }
    FilePart part{.name = std::string(take_until(line, " "))};
    const auto offset = number_in(take_until(line, " "));
    const auto size = number_in(line);
    if (part.name.empty() || !offset || !size || *size > text.size())
      return error(Code::data_loss, "the answer of the job's launcher makes no sense");
    part.offset = *offset;
    part.bytes = text.substr(0, *size);
    text.remove_prefix(*size);
    parts.parts.push_back(std::move(part));
  }
}

Result<FilePart> parse_written(std::string_view path) {
  if (!path.starts_with('/')) return no_sense();
  path.remove_prefix(1);
  const std::string_view name = take_until(path, kAt);
  const auto offset = number_in(path);
  if (!offset) return no_sense();
  return FilePart{.name = std::string(name), .offset = *offset};
}

bool may_read(std::string_view name) {
  for (const std::string_view folder : {kLogs, kPacks})
    if (name.starts_with(folder)) return is_plain(name.substr(folder.size()));
  return name == "journal" || name == "launcher.log" || name == kPacksList || name == kLeftFile ||
         (is_plain(name) && name.starts_with("container_") && name.ends_with(".sh"));
}

bool may_fetch(std::string_view path) {
  const bool is_file = path.starts_with(kSentFiles);
  return path.starts_with('/') && is_plain(path.substr(is_file ? kSentFiles.size() : 1));
}

bool may_write(std::string_view name) {
  return is_plain(name) && name.starts_with("container_") &&
         (name.ends_with(".out") || name.ends_with(".err"));
}

}  // namespace millrace
