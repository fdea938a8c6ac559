#include "millrace/launch/foreign/shell_script.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {
namespace {

constexpr std::string_view kDirective = "#SBATCH";

class ScriptReader {
 public:
  ScriptReader(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  Result<std::vector<ShellCommand>> read() {
    while (!rest_.empty()) MR_TRY(read_one());
    end_command();
    if (!awaited_.empty()) return fault("the text below << ", awaited_, " has no end");
    return std::move(commands_);
  }

 private:
  Status read_one() {
    const char c = rest_[0];
    if (c == '\\' && rest_.size() > 1) {
      const char next = rest_[1];
      advance(2);
      if (next != '\n') word() += next;
      return {};
    }
    if (c == '\'' || c == '"') return read_quoted(c);
    if (c == '#' && !in_word_) return read_comment();
    if (c == '<' || c == '>') return read_redirection();
    if (c == '\n') {
      advance(1);
      end_command();
      return read_here();
    }
    if (c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
      end_command();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else {
      word() += c;
    }
    advance(1);
    return {};
  }

  Status read_quoted(char quote) {
    const int opened = line_;
    advance(1);
    std::string& text = word();
    while (!rest_.empty() && rest_[0] != quote) {
      // In double quotes a backslash is one, except before these.
      const bool escapes = quote == '"' && rest_[0] == '\\' && rest_.size() > 1 &&
                           std::string_view("\"\\$`\n").find(rest_[1]) != std::string_view::npos;
      if (escapes) advance(1);
      if (!escapes || rest_[0] != '\n') text += rest_[0];
      advance(1);
    }
    if (rest_.empty())
      return invalid(file_, ":", opened, ": a quote ", std::string_view(&quote, 1),
                     " is not closed");
    advance(1);
    return {};
  }

  Status read_comment() {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view comment = rest_.substr(0, end);
    if (current_.words.empty() && comment.starts_with(kDirective)) {
      Result<std::vector<std::string>> words = split_words(comment);
      if (!words.ok()) return fault(words.status().message());
      commands_.push_back({.where = str_cat(file_, ":", line_), .words = *std::move(words)});
    }
    advance(end);
    return {};
  }

  // The word after it goes with it; what stands before it, as in 2>&1, is a number of its own.
  Status read_redirection() {
    if (in_word_ && current_.words.back().find_first_not_of("0123456789") == std::string::npos) {
      current_.words.pop_back();
      in_word_ = false;
    }
    end_word();
    const bool here = rest_.starts_with("<<") && !rest_.starts_with("<<<");
    while (!rest_.empty() && (rest_[0] == '<' || rest_[0] == '>' || rest_[0] == '&' ||
                              rest_[0] == '|' || rest_[0] == '-'))
      advance(1);
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) advance(1);
    const bool is_quoted = !rest_.empty() && (rest_[0] == '"' || rest_[0] == '\'');
    const size_t stop = is_quoted ? rest_.find(rest_[0], 1) : rest_.find_first_of(" \t\r\n;|&()<>");
    const size_t end = std::min(is_quoted && stop != rest_.npos ? stop + 1 : stop, rest_.size());
    std::string target(rest_.substr(0, end));
    advance(end);
    if (!here) return {};
    std::erase_if(target, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    awaited_ = std::move(target);
    return {};
  }

  Status read_here() {
    if (awaited_.empty()) return {};
    if (commands_.empty()) return fault("<< belongs to no command");
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view read = rest_.substr(0, end);
      const std::string_view bare = read.substr(std::min(read.find_first_not_of('\t'), end));
      const bool is_end = bare == awaited_;
      if (!is_end) str_append(&commands_.back().here, read, "\n");
      advance(std::min(end + 1, rest_.size()));
      if (!is_end) continue;
      awaited_.clear();
      return {};
    }
    return {};
  }

  void advance(size_t letters) {
    line_ += static_cast<int>(std::ranges::count(rest_.substr(0, letters), '\n'));
    rest_.remove_prefix(letters);
  }

  std::string& word() {
    if (current_.words.empty()) current_.where = str_cat(file_, ":", line_);
    if (!in_word_) current_.words.emplace_back();
    in_word_ = true;
    return current_.words.back();
  }
  void end_word() { in_word_ = false; }
  void end_command() {
    end_word();
    if (!current_.words.empty()) commands_.push_back(std::exchange(current_, {}));
  }

  template <class... Parts>
  Status fault(const Parts&... parts) const {
    return invalid(file_, ":", line_, ": ", parts...);
  }

  std::string_view rest_;
  const std::string file_;
  int line_ = 1;
  bool in_word_ = false;
  ShellCommand current_;
  std::vector<ShellCommand> commands_;
  std::string awaited_;  // the end of the text below the next line
};

}  // namespace

Result<std::vector<ShellCommand>> read_shell_script(std::string_view text, std::string_view file) {
  if (text.size() > YamlValue::kLargestFile)
    return invalid(file, ": a script of a job has at most ", YamlValue::kLargestFile, " bytes");
  return ScriptReader(text, file).read();
}

}  // namespace millrace
