#include "millrace/launch/error_lines.h"

#include <algorithm>
#include <array>

namespace millrace {
namespace {

constexpr std::array<std::string_view, 27> kMarks = {"Error",
                                                     "ERROR",
                                                     "error:",
                                                     "FATAL",
                                                     "Fatal",
                                                     "fatal:",
                                                     "Exception",
                                                     "terminate called",
                                                     "Check failed",
                                                     "Assertion",
                                                     "std::bad_alloc",
                                                     "Segmentation fault",
                                                     "not found",
                                                     "No such file",
                                                     "Permission denied",
                                                     "panic",
                                                     "CANCELLED:",
                                                     "UNKNOWN:",
                                                     "INVALID_ARGUMENT:",
                                                     "NOT_FOUND:",
                                                     "OUT_OF_RANGE:",
                                                     "INTERNAL:",
                                                     "UNAVAILABLE:",
                                                     "RESOURCE_EXHAUSTED:",
                                                     "ABORTED:",
                                                     "DATA_LOSS:",
                                                     "FAILED_PRECONDITION:"};

bool looks_like_error(std::string_view line) {
  return std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) {
    return line.find(mark) != std::string_view::npos;
  });
}

// "20:14:42.680 I map:0: CreateSession still waiting …": a line of Millrace's log below a warning,
// or of TensorFlow's ("2017-04-10 12:00:00.123456: I tensorflow/…"). Such lines quote errors that
// are none.
bool is_information(std::string_view line) {
  constexpr std::string_view kTime = "00:00:00.000";
  const size_t colon = line.substr(0, 16).find(':');
  if (colon == line.npos || colon < 2) return false;
  std::string_view rest = line.substr(colon - 2);
  for (size_t i = 0; i < kTime.size(); ++i) {
    const bool is_digit = i < rest.size() && rest[i] >= '0' && rest[i] <= '9';
    if (kTime[i] == '0' ? !is_digit : i >= rest.size() || rest[i] != kTime[i]) return false;
  }
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789:", kTime.size()), rest.size()));
  return rest.starts_with(" I ") || rest.starts_with(" D ") || rest.starts_with(" T ");
}

// What precedes the outermost message of a Python traceback is indented: source lines, notes.
std::string_view trimmed(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  size_t end = line.find_last_not_of(" \t");
  return line.substr(begin, end - begin + 1);
}

bool names_a_task_only(std::string_view line) {
  return line.ends_with(":") && line.find("From /job:") != std::string_view::npos;
}

}  // namespace

void ErrorLines::note(Stream stream, std::string_view line) {
  std::string_view text = trimmed(line).substr(0, kLongest);
  if (text.empty() || is_information(line)) return;
  if (last_goes_on_) {
    const bool is_first = first_ == last_;
    last_ = (last_ + " ").append(text).substr(0, kLongest);
    if (is_first) first_ = last_;
    last_goes_on_ = false;
    return;
  }
  bool indented = text.data() != line.data();
  if (!indented) followed_ = true;
  // What a C++ exception says is indented, but is the best that there is.
  if (text.starts_with("what():") || (looks_like_error(text) && !indented)) {
    if (first_.empty()) first_ = text;
    last_ = text;
    followed_ = false;
    last_goes_on_ = names_a_task_only(text);
  } else if (stream == Stream::err) {
    last_on_err_ = text;
  }
}

}  // namespace millrace
