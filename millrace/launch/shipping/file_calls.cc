#include "millrace/launch/shipping/file_calls.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/placed_files.h"

namespace millrace {
namespace {

constexpr std::string_view kGreeting = "millrace-files 1 ";
constexpr size_t kLongestOutputPath = 1024;
constexpr size_t kLongestWhy = 2048;

// What follows the word, if the line begins with it.
std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return {};
  return line.substr(word.size());
}

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || fault != std::errc() || stop != text.data() + text.size()) return {};
  return number;
}

std::optional<PutOutput> output_of(std::string_view rest) {
  const size_t blank = rest.find(' ');
  const std::optional<uint64_t> size = number_of(rest.substr(0, blank));
  if (!size || blank == std::string_view::npos) return {};
  rest.remove_prefix(blank + 1);
  if (!rest.starts_with("0 ") && !rest.starts_with("1 ")) return {};
  const std::string_view path = rest.substr(2);
  if (!is_output_path(path)) return {};
  return PutOutput{*size, rest[0] == '1', std::string(path)};
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text.substr(0, kLongestWhy);
}

}  // namespace

std::string to_line(const FileCall& call) {
  if (const auto* it = std::get_if<FileGreeting>(&call)) return str_cat(kGreeting, it->token, "\n");
  if (const auto* it = std::get_if<GetBlob>(&call)) return str_cat("get ", it->digest, "\n");
  if (const auto* it = std::get_if<BeginOutputs>(&call)) return str_cat("outputs ", it->task, "\n");
  if (const auto* it = std::get_if<PutOutput>(&call))
    return str_cat("file ", it->size, it->is_executable ? " 1 " : " 0 ", it->path, "\n");
  return "done\n";
}

std::string to_line(const FileAnswer& answer) {
  if (const auto* it = std::get_if<BlobFollows>(&answer)) return str_cat("blob ", it->size, "\n");
  if (const auto* it = std::get_if<CanNotBe>(&answer))
    return str_cat("no ", one_line(it->why), "\n");
  if (const auto* it = std::get_if<NotYet>(&answer))
    return str_cat("later ", one_line(it->why), "\n");
  return std::holds_alternative<GoOn>(answer) ? "go\n" : "ok\n";
}

Result<FileCall> parse_file_call(std::string_view line) {
  if (const auto token = after(line, kGreeting)) return FileCall(FileGreeting{std::string(*token)});
  if (const auto digest = after(line, "get "); digest && is_digest(*digest))
    return FileCall(GetBlob{std::string(*digest)});
  if (const auto task = after(line, "outputs "); task && is_plain_name(*task))
    return FileCall(BeginOutputs{std::string(*task)});
  if (const auto file = after(line, "file "))
    if (std::optional<PutOutput> output = output_of(*file)) return FileCall(*std::move(output));
  if (line == "done") return FileCall(EndOutputs{});
  return invalid("'", line.substr(0, 80), "' is no call for files");
}

Result<FileAnswer> parse_file_answer(std::string_view line) {
  if (line == "ok") return FileAnswer(IsDone{});
  if (line == "go") return FileAnswer(GoOn{});
  if (const auto why = after(line, "no ")) return FileAnswer(CanNotBe{std::string(*why)});
  if (const auto why = after(line, "later ")) return FileAnswer(NotYet{std::string(*why)});
  if (const auto text = after(line, "blob "))
    if (const auto size = number_of(*text)) return FileAnswer(BlobFollows{*size});
  return invalid("'", line.substr(0, 80), "' is no answer about files");
}

bool is_output_path(std::string_view path) {
  if (path.empty() || path.size() > kLongestOutputPath) return false;
  for (;;) {
    const size_t slash = path.find('/');
    if (!is_plain_name(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace millrace
