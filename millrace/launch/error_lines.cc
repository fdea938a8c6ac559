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
  if (text.empty()) return;
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
