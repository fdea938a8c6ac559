// Counts every word of texts, alone or on a cluster, in five lines.
//
//   millrace run --job files=1 --job map=2 --job reduce=2 --until files --restart map=100
//       --restart reduce=100 -- build/bin/mapreduce_words 'texts/*.txt' counts
//
// The folder `counts` appears when all is counted, with the bytes that examples/mapreduce_words.py
// makes. Tasks may be killed meanwhile: what they had is done again.
#include <millrace/millrace.h>

using namespace millrace::mapreduce;

void words(std::string_view line, Pairs& pairs) {
  for (std::string_view word : words_of(line)) pairs.add(word, 1);
}

int main(int, char** argv) {
  return as_program({.input = argv[1], .map = words, .reduce = sum(), .output = argv[2]});
}
