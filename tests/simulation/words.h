// Words: one line of a play, read word by word, and what words stand for.
#pragma once

#include <chrono>
#include <sstream>
#include <string>

namespace millrace::simulation {

using Words = std::istringstream;

// The next one; empty at the end of the line.
inline std::string next_word(Words& words) {
  std::string word;
  words >> word;
  return word;
}

// "250ms", "15s", "2min"
inline std::chrono::milliseconds duration_of(const std::string& text) {
  double count = 0;
  std::string unit;
  std::istringstream(text) >> count >> unit;
  const double factor = unit == "min" ? 60'000 : unit == "s" ? 1000 : 1;
  return std::chrono::milliseconds(static_cast<int64_t>(count * factor));
}

inline std::string rest_of(Words& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  return text;
}

}  // namespace millrace::simulation
