// Makes records of 100 bytes and sorts them over several files: two jobs in one program.
//
//   millrace run --job files=1 --job map=2 --job reduce=2 --until files --
//       build/bin/sort_records --megabytes=10000 --folder=sorting
//
// The first job makes sorting/unsorted; the second sorts it into sorting/sorted, whose files, one
// after the other, are in order: a partition has keys from here to there. A process holds
// --memory=64 megabytes of pairs; the rest is on disk. With --unsorted=PATTERN it sorts what is
// there.
#include <millrace/millrace.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

using namespace millrace;

constexpr size_t kRecord = 100, kKey = 10;  // bytes, with the end of the line
constexpr uint64_t kChunk = 1000;           // records
constexpr std::string_view kLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// The same ones for a number each time.
void records_of(std::string_view chunk, mapreduce::Pairs& pairs) {
  uint64_t state = 0;
  std::from_chars(chunk.data(), chunk.data() + chunk.size(), state);
  std::string record(kRecord - 1, '.');
  for (uint64_t i = 0; i < kChunk; ++i) {
    for (size_t at = 0; at < kKey; ++at) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      record[at] = kLetters[(state >> 33) % kLetters.size()];
    }
    std::string number = std::to_string(i);
    record.replace(kKey, 10, std::string(10 - chunk.size(), '0').append(chunk));
    record.replace(kKey + 10, 6, std::string(6 - number.size(), '0').append(number));
    pairs.add(std::string(chunk) + number, record);
  }
}

int by_first_letters(std::string_view key, int parts) {
  const auto rank = [](char letter) { return static_cast<int>(kLetters.find(letter)); };
  const int letters = static_cast<int>(kLetters.size());
  return (rank(key[0]) * letters + rank(key[1])) * parts / (letters * letters);
}

// Cuts a record into its key and the rest.
Status cut(std::string_view line, mapreduce::Pairs& pairs) {
  if (line.size() < kKey || line.substr(0, 2).find_first_not_of(kLetters) != line.npos)
    return invalid("no record of ", kRecord, " bytes");
  pairs.add(line.substr(0, kKey), line.substr(kKey));
  return {};
}

Status run(std::map<std::string, std::string> flags) {
  MR_ASSIGN(const auto task, mapreduce::Task::create());
  const size_t memory = std::stoul(flags["memory"]) << 20;
  const std::string unsorted = flags["folder"] + "/unsorted";
  if (flags["unsorted"].empty()) {
    const uint64_t chunks = std::stoul(flags["megabytes"]) * 1'000'000 / (kRecord * kChunk);
    const auto next = [chunks, chunk = uint64_t{0}]() mutable -> std::optional<std::string> {
      return chunk == chunks ? std::nullopt : std::optional(std::to_string(chunk++));
    };
    const auto line = [](std::string* text, std::string_view, std::string_view record) {
      text->append(record);
    };
    MR_TRY(task->run({.input = mapreduce::items(next, 10),
                      .map = records_of,
                      .output = mapreduce::text_output(unsorted, line),
                      .memory = memory,
                      .name = "make"}));
    flags["unsorted"] = unsorted + "/part-*";
  }
  const auto line = [](std::string* text, std::string_view key, std::string_view rest) {
    text->append(key).append(rest);
  };
  MR_ASSIGN(const mapreduce::Made made,
            task->run({.input = flags["unsorted"],
                       .map = cut,
                       .output = mapreduce::text_output(flags["folder"] + "/sorted", line),
                       .partition = by_first_letters,
                       .partitions = std::stoi(flags["partitions"]),
                       .memory = memory,
                       .threads = std::stoi(flags["threads"]),
                       .name = "sort"}));
  if (made.is_published)
    std::printf("sorted %lld records into %zu files\n",
                static_cast<long long>(made.counters.at("records written")), made.files.size());
  task->end({});
  return {};
}

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags = {{"megabytes", "1"},    {"memory", "64"},
                                              {"folder", "sorting"}, {"unsorted", ""},
                                              {"partitions", "0"},   {"threads", "0"}};
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const size_t equals = flag.find('=');
    const auto known = flags.find(flag.substr(0, equals).erase(0, 2));
    if (equals == flag.npos || known == flags.end()) {
      std::fprintf(stderr,
                   "no flag '%s': they are --megabytes=, --memory=, --folder=, --unsorted=, "
                   "--partitions= and --threads=\n",
                   argv[i]);
      return 2;
    }
    known->second = flag.substr(equals + 1);
  }
  const Status status = run(std::move(flags));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
