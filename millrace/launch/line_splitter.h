// Cuts the bytes that a process writes into lines. Pure; one per stream, fed in order.
//
// Safe for anything: bytes are passed on as they are, NUL included; a line longer than
// kLongestLine comes in pieces, so that a process that never writes a newline costs bounded memory.
// "\n", "\r\n" and a lone "\r" (progress bars) end a line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace millrace {

class LineSplitter {
 public:
  static constexpr size_t kLongestLine = 16'384;
  using Sink = std::function<void(std::string_view line)>;  // without its end

  void feed(std::string_view bytes, const Sink& sink);
  // Passes on what came after the last line end, if anything.
  void finish(const Sink& sink);

 private:
  std::string partial_;
  bool after_return_ = false;  // a "\n" now belongs to the "\r" before it
};

}  // namespace millrace
