#include "millrace/op/device_name.h"

#include <charconv>

#include "absl/strings/ascii.h"

namespace millrace {
namespace {

bool is_identifier(std::string_view text) {
  if (text.empty() || !absl::ascii_isalpha(text[0])) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

Status bad_piece(std::string_view whole, std::string_view piece, std::string_view expected) {
  return invalid("device name '", whole, "': '", piece, "' makes no sense; ", expected);
}

// "*" sets nothing; a number in decimal that fits int.
Result<std::optional<int>> parse_number(std::string_view whole, std::string_view piece,
                                        std::string_view digits) {
  if (digits == "*") return std::optional<int>();
  int number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || digits[0] == '-' || problem != std::errc() || stop != end)
    return bad_piece(whole, piece, "expected a number or *");
  return std::optional<int>(number);
}

Result<std::optional<std::string>> parse_identifier(std::string_view whole, std::string_view piece,
                                                    std::string_view text) {
  if (text == "*") return std::optional<std::string>();
  if (!is_identifier(text))
    return bad_piece(whole, piece, "expected a letter, then letters, digits and _, or *");
  return std::optional<std::string>(text);
}

// The four legacy spellings are the only ones for which case does not count.
std::string_view canonical_type(std::string_view type) {
  if (type == "cpu") return "CPU";
  if (type == "gpu") return "GPU";
  return type;
}

// "CPU", "CPU:0", "CPU:*", "*", "*:0"
Status parse_type_and_id(std::string_view whole, std::string_view piece, std::string_view text,
                         DeviceName& name) {
  const size_t colon = text.find(':');
  MR_ASSIGN(name.type, parse_identifier(whole, piece, canonical_type(text.substr(0, colon))));
  name.id.reset();
  if (colon == std::string_view::npos) return {};
  MR_ASSIGN(name.id, parse_number(whole, piece, text.substr(colon + 1)));
  return {};
}

Status parse_piece(std::string_view whole, std::string_view piece, DeviceName& name) {
  const size_t colon = piece.find(':');
  const std::string_view kind = piece.substr(0, colon);
  const std::string_view value =
      colon == std::string_view::npos ? std::string_view() : piece.substr(colon + 1);
  if (kind == "job") {
    MR_ASSIGN(name.job, parse_identifier(whole, piece, value));
  } else if (kind == "replica") {
    MR_ASSIGN(name.replica, parse_number(whole, piece, value));
  } else if (kind == "task") {
    MR_ASSIGN(name.task, parse_number(whole, piece, value));
  } else if (kind == "device") {
    return parse_type_and_id(whole, piece, value, name);
  } else if (kind == "cpu" || kind == "CPU" || kind == "gpu" || kind == "GPU") {
    return parse_type_and_id(whole, piece, piece, name);
  } else {
    return bad_piece(whole, piece, "expected job:, replica:, task: or device:");
  }
  return {};
}

template <class T>
bool compatible(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

template <class T>
bool contained(const std::optional<T>& part, const std::optional<T>& full) {
  return !part || part == full;
}

}  // namespace

std::string TaskName::to_string() const {
  return str_cat("/job:", job, "/replica:", replica, "/task:", task);
}

Result<DeviceName> DeviceName::parse(std::string_view text) {
  DeviceName name;
  if (text.empty() || text == "/") return name;
  if (text[0] != '/') {
    std::string_view local = text;
    if (local.starts_with("device:")) local.remove_prefix(7);
    if (local.find('/') != std::string_view::npos)
      return bad_piece(text, text.substr(0, text.find('/')),
                       "a name of several parts begins with /");
    MR_TRY(parse_type_and_id(text, text, local, name));
    return name;
  }
  size_t begin = 1;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('/', begin), text.size());
    MR_TRY(parse_piece(text, text.substr(begin, end - begin), name));
    begin = end + 1;
  }
  return name;
}

DeviceName DeviceName::on(const TaskName& task, std::string type, int id) {
  return {task.job, task.replica, task.task, std::move(type), id};
}

bool DeviceName::is_compatible_with(const DeviceName& other) const {
  return compatible(job, other.job) && compatible(replica, other.replica) &&
         compatible(task, other.task) && compatible(type, other.type) && compatible(id, other.id);
}

bool DeviceName::matches(const DeviceName& full) const {
  return contained(job, full.job) && contained(replica, full.replica) &&
         contained(task, full.task) && contained(type, full.type) && contained(id, full.id);
}

DeviceName DeviceName::overridden_by(const DeviceName& inner) const {
  return {inner.job ? inner.job : job, inner.replica ? inner.replica : replica,
          inner.task ? inner.task : task, inner.type ? inner.type : type, inner.id ? inner.id : id};
}

std::string DeviceName::to_string() const {
  std::string text;
  if (job) str_append(&text, "/job:", *job);
  if (replica) str_append(&text, "/replica:", *replica);
  if (task) str_append(&text, "/task:", *task);
  if (type || id) {
    str_append(&text, "/device:", type ? *type : "*", ":");
    id ? str_append(&text, *id) : str_append(&text, "*");
  }
  return text;
}

}  // namespace millrace
