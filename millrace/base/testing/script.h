// Scripts of transcripts: a line for each thing that happens, which begins with a word that says
// what.
#pragma once

#include <sstream>
#include <string>

namespace millrace::testing {

// Calls happen(verb, words) for each line that is not empty; `words` are those after the first.
template <class Happen>
void each_line(const std::string& script, Happen happen) {
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string verb;
    if (words >> verb) happen(verb, words);
  }
}

}  // namespace millrace::testing
