// Finds the lines of files that match a pattern, by as many tasks as there are.
//
//   millrace run --job files=1 --job worker=4 --until files --
//       build/bin/distributed_grep 'ERROR|FATAL' '/var/log/**/*.log' found
//
// Lines of the folder `found` are sorted by file and place: file:byte:line. Files that can't be
// read, up to a hundred, are left out and listed in found/_rejected.jsonl. distributed_grep.py is
// its twin; patterns are RE2's here.
#include <millrace/millrace.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace millrace;

constexpr size_t kDigits = 20;  // of a place in a key, so that keys are sorted as numbers are

Status run(const RE2& pattern, const char* files, const char* found) {
  const auto grep = [&pattern](std::string_view line, mapreduce::Pairs& pairs) {
    if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern)) return;
    const std::string at = std::to_string(pairs.place().position);
    pairs.count("lines found");
    pairs.add(std::string(pairs.place().path) + std::string(kDigits - at.size(), '0') + at, line);
  };
  const auto shown = [](std::string* text, std::string_view key, std::string_view line) {
    const std::string_view at = key.substr(key.size() - kDigits);
    text->append(key.substr(0, key.size() - kDigits)).append(":");
    text->append(at.substr(std::min(at.find_first_not_of('0'), kDigits - 1))).append(":");
    text->append(line);
  };
  MR_ASSIGN(const mapreduce::Made made,
            mapreduce::run({.input = mapreduce::text_files(
                                files, {.encoding = mapreduce::TextOptions::Encoding::bytes}),
                            .map = grep,
                            .output = mapreduce::text_output(found, shown),
                            .partitions = 1,
                            .max_bad = 100}));
  const auto lines = made.counters.find("lines found");
  if (made.is_published)
    std::printf("%lld lines in %s\n",
                static_cast<long long>(lines == made.counters.end() ? 0 : lines->second),
                made.files[0].c_str());
  return {};
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s PATTERN FILES FOUND\n", argv[0]);
    return 2;
  }
  const RE2 pattern(argv[1], RE2::Latin1);
  if (!pattern.ok()) {
    std::fprintf(stderr, "'%s': %s\n", argv[1], pattern.error().c_str());
    return 2;
  }
  const Status status = run(pattern, argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
