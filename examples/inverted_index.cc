// Tells for every word of texts in which files it is, and where.
//
//   millrace run --job files=1 --job map=2 --job reduce=2 --until files --
//       build/bin/inverted_index 'texts/*.txt' index
//
// A line of the folder `index` is a word, then file:byte of each line that has it, in the order of
// files. Its twin inverted_index.py makes the same of texts whose capital letters are those of
// ASCII: the others stay as they are here.
#include <millrace/millrace.h>
#include <re2/re2.h>

#include <cctype>
#include <cstdio>
#include <set>
#include <string>

using namespace millrace;

void places_of_words(std::string_view line, mapreduce::Pairs& pairs) {
  static const RE2 kWord(R"(([\pL\pN_]+))");
  const std::string_view path = pairs.place().path;
  const std::string place =
      std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(pairs.place().position);
  std::set<std::string> words;
  re2::StringPiece rest(line.data(), line.size());
  for (std::string word; RE2::FindAndConsume(&rest, kWord, &word);) {
    for (char& letter : word)
      letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    words.insert(word);
  }
  for (const std::string& word : words) pairs.add(word, place);
}

void posting(std::string_view, mapreduce::Values& places, mapreduce::Results& results) {
  std::string line;
  for (std::string_view place; places.next(&place);)
    line.append(line.empty() ? "" : " ").append(place);
  results.add(line);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s TEXTS INDEX\n", argv[0]);
    return 2;
  }
  return mapreduce::as_program(
      {.input = argv[1], .map = places_of_words, .reduce = posting, .output = argv[2]});
}
