// Whole jobs in one process: what they make, and how they end when they can't be done.
#include <atomic>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/records.h"
#include "millrace/mapreduce/alone.h"
#include "millrace/mapreduce/run.h"
#include "millrace/mapreduce/testing/jobs_lab.h"

namespace millrace::mapreduce {
namespace {

using millrace::testing::ScratchDirectory;
using testing::bytes_of_file;
using testing::FullDisk;
using testing::names_in;
using testing::write_file;

std::shared_ptr<Runtime> job_runtime() {
  static const std::shared_ptr<Runtime> kRuntime = Runtime::create({.threads = 2});
  return kRuntime;
}

// A folder with texts, spills and outputs of a test's own.
struct Yard {
  ScratchDirectory scratch;

  std::string at(std::string_view name) const { return scratch.path(name); }
  Result<Made> run(const Job& job, int threads = 2) const {
    return run_alone(job, job_runtime()->host(), threads, at("spills"));
  }
  Result<Made> run_on(Files& files, const Job& job, int threads = 2) const {
    const Host& real = job_runtime()->host();
    const Host host{real.clock,    real.timers, real.random,  real.pool, real.endings,
                    real.blocking, real.log,    real.metrics, files};
    return run_alone(job, host, threads, at("spills"));
  }
  // All that the job has written, its files one after the other.
  std::string written(std::string_view output) const {
    std::string all;
    for (const std::string& name : names_in(at(output)))
      if (name.starts_with("part-")) all += bytes_of_file(str_cat(at(output), "/", name));
    return all;
  }
  // Nothing of a job is left but what was there before: no output, no folder of work.
  bool is_clean() const {
    for (const std::string& name : names_in(at("")))
      if (name.find("unfinished") != std::string::npos || name == "out") return false;
    return !std::filesystem::exists(at("spills")) || names_in(at("spills")).empty();
  }
};

void count_words(std::string_view line, Pairs& pairs) {
  for (const std::string_view word : words_of(line)) pairs.add(word, 1);
}

Job word_count(const Yard& yard) {
  return {.input = yard.at("texts/*.txt"),
          .map = count_words,
          .reduce = sum(),
          .output = yard.at("out"),
          .say = nullptr};
}

TEST_CASE("words are counted, and the output is there with its counters and nothing else") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "to be or not to be\n");
  write_file(yard.at("texts/b.txt"), "be quick\nor not");
  const Result<Made> made = yard.run(word_count(yard));
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(yard.written("out") == "be\t3\nnot\t2\nor\t2\nquick\t1\nto\t2\n");
  CHECK(made->is_published);
  CHECK(made->counters == Counters{{"bad records", 0},
                                   {"keys reduced", 5},
                                   {"pairs mapped", 10},
                                   {"records read", 3},
                                   {"records written", 5},
                                   {"spills", 0}});
  CHECK(names_in(yard.at("out")) ==
        std::set<std::string>{"_counters.json", "part-00000-of-00001.txt"});
  CHECK(names_in(yard.at("")) == std::set<std::string>{"out", "spills", "texts"});
  CHECK(names_in(yard.at("spills")).empty());
  CHECK(made->files == std::vector<std::string>{yard.at("out/part-00000-of-00001.txt")});
}

TEST_CASE("splits, threads, memory and partitions change nothing in what is counted") {
  const Yard yard;
  std::map<std::string, int> expected;
  for (const char* name : {"texts/a.txt", "texts/b.txt"}) {
    std::string text;
    for (int i = 0; i < 2000; ++i) {
      const std::string word = str_cat("w", i * i % 911);
      str_append(&text, word, i % 7 == 0 ? "\n" : " ");
      ++expected[word];
    }
    write_file(yard.at(name), text);
  }
  std::string lines;
  for (const auto& [word, count] : expected) str_append(&lines, word, "\t", count, "\n");
  for (const uint64_t split : {uint64_t{100}, uint64_t{1000}, uint64_t{1} << 30}) {
    for (const size_t memory : {size_t{2} << 10, size_t{1} << 20}) {
      Job job = word_count(yard);
      job.input = text_files(yard.at("texts/*.txt"), {.split = split});
      job.memory = memory;
      const Result<Made> made = yard.run(job, 3);
      REQUIRE_MESSAGE(made.ok(), made.status().to_string());
      CHECK(yard.written("out") == lines);
      std::filesystem::remove_all(yard.at("out"));
    }
  }
  Job job = word_count(yard);
  job.partitions = 3;
  const Result<Made> made = yard.run(job);
  REQUIRE(made.ok());
  CHECK(made->files.size() == 3);
  std::map<std::string, int> found;
  std::istringstream all(yard.written("out"));
  int count = 0;
  for (std::string word; all >> word >> count;) found[word] = count;
  CHECK(found == expected);
}

TEST_CASE("a reducer has the values of a key in the order of the input, and may give any number") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "a 1\nb 2\na 3\nc 4\nb 5\n");
  Job job = word_count(yard);
  job.input = text_files(yard.at("texts/*.txt"), {.split = 5});
  job.memory = 1024;
  job.map = [](std::string_view line, Pairs& pairs) {
    pairs.add(line.substr(0, 1), line.substr(2));
  };
  job.reduce = [](std::string_view key, Values& values, Results& results) {
    results.count("keys seen");
    if (key == "c") return;  // nothing, and no value asked for
    std::string all;
    for (std::string_view value; values.next(&value);) all.append(value);
    results.add(all);
    if (key == "b") results.add(int64_t{7});
  };
  const Result<Made> made = yard.run(job);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(yard.written("out") == "a\t13\nb\t25\nb\t7\n");
  CHECK(made->counters.at("keys seen") == 3);
  CHECK(made->counters.at("records written") == 3);
}

// ---- Bad records --------------------------------------------------------------------------------

// Ten lines, then more; the 1000th is "record 999".
std::string thousand_lines() {
  std::string text;
  for (int i = 0; i < 1200; ++i) str_append(&text, "record ", i, "\n");
  return text;
}

TEST_CASE("a mapper that fails on the 1000th record ends the job with the record, and its place") {
  for (const bool throws : {false, true}) {
    const Yard yard;
    write_file(yard.at("texts/a.txt"), thousand_lines());
    Job job = word_count(yard);
    job.map = [throws](std::string_view line, Pairs& pairs) -> Status {
      pairs.add("before", 1);
      if (line != "record 999") return {};
      if (throws) throw std::runtime_error("not this one");
      return invalid("not this one");
    };
    const Status failed = yard.run(job).status();
    CHECK(failed.code() == Code::invalid_argument);
    CHECK(failed.message().find("a.txt at 10879: ") != std::string::npos);
    CHECK(failed.message().find("not this one; the record is 'record 999'. 1 record is bad, and "
                                "max_bad=0 allows 0") != std::string::npos);
    CHECK(yard.is_clean());
    // With one allowed, nothing of that record is counted, and it is put aside.
    job.max_bad = 1;
    const Result<Made> made = yard.run(job);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    CHECK(yard.written("out") == "before\t1199\n");
    CHECK(made->counters.at("bad records") == 1);
    CHECK(made->counters.at("records read") == 1199);
    const std::string aside = bytes_of_file(yard.at("out/_rejected.jsonl"));
    CHECK(aside.find(R"("position":10879,"record":"'record 999'")") != std::string::npos);
    CHECK(std::count(aside.begin(), aside.end(), '\n') == 1);
  }
}

TEST_CASE("a line beyond the limit, one that is no UTF-8 and a file that is gone are bad records") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "good\n" + std::string(5000, 'x') + "\n\xff\xfe\ngood\n");
  Job job = word_count(yard);
  job.input = text_files({yard.at("texts/a.txt"), yard.at("texts/gone.txt")}, {.longest = 4999});
  job.max_bad = 3;
  const Result<Made> made = yard.run(job);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(yard.written("out") == "good\t2\n");
  const std::string aside = bytes_of_file(yard.at("out/_rejected.jsonl"));
  CHECK(aside.find("gone.txt") < aside.find("a line of 5000 bytes; the longest may have 4999"));
  CHECK(aside.find("the line is no UTF-8") != std::string::npos);
  std::filesystem::remove_all(yard.at("out"));
  job.max_bad = 2;
  CHECK(yard.run(job).status().message().find("3 records are bad, and max_bad=2 allows 2") !=
        std::string::npos);
  CHECK(yard.is_clean());
}

TEST_CASE("a TFRecord of 3 GB is one bad record, and is not looked for") {
  const Yard yard;
  Job job = word_count(yard);
  job.max_bad = 1;
  // The head alone tells, which has a checksum of its own.
  const std::string_view length("\0\0\0\xc0\0\0\0\0", 8);
  std::string record(length);
  io::put_little(&record, io::masked(io::crc32c(length)));
  write_file(yard.at("a.tfrecord"), record + "the rest");
  job.input = record_files({yard.at("a.tfrecord")});
  REQUIRE(yard.run(job).ok());
  const std::string aside = bytes_of_file(yard.at("out/_rejected.jsonl"));
  CHECK_MESSAGE(aside.find("3221225472") != std::string::npos, aside);
}

TEST_CASE("a reducer that fails ends the job with its key") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "one two three\n");
  Job job = word_count(yard);
  job.reduce = [](std::string_view key, Values&, Results&) {
    return key == "three" ? invalid("not this one") : Status();
  };
  CHECK(yard.run(job).status().to_string() ==
        "INVALID_ARGUMENT: reducing partition 0: reducing the key 'three': not this one");
  CHECK(yard.is_clean());
}

TEST_CASE("a counter that goes beyond 64 bits goes round, wherever it is counted") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "one\n");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Job job = word_count(yard);
  job.map = [](std::string_view line, Pairs& pairs) {
    for (int i = 0; i < 2; ++i) pairs.count("mapped", kMost);
    pairs.add(line, 1);
  };
  job.reduce = [](std::string_view, Values&, Results& results) {
    for (int i = 0; i < 2; ++i) results.count("reduced", kMost);
  };
  const Result<Made> made = yard.run(job);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(made->counters.at("mapped") == -2);
  CHECK(made->counters.at("reduced") == -2);
}

// ---- Inputs and outputs -------------------------------------------------------------------------

TEST_CASE("items come from a function, records from TFRecord files, and go into such") {
  const Yard yard;
  Job make{.input = items(
               [i = 0]() mutable {
                 return i == 25 ? std::nullopt : std::optional(str_cat("item ", 100 + i++));
               },
               4),
           .map =
               [](std::string_view item, Pairs& pairs) {
                 CHECK(pairs.place().path == "item");
                 pairs.add(item, str_cat("value of ", item));
               },
           .output = record_output(yard.at("made")),
           .say = nullptr};
  const Result<Made> made = yard.run(make);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(made->files == std::vector<std::string>{yard.at("made/part-00000-of-00001.tfrecord")});
  // No file of a batch is left.
  CHECK(names_in(yard.at("made")).size() == 2);
  const Job read{.input = record_files({yard.at("made/*.tfrecord")}),
                 .map =
                     [](std::string_view record, Pairs& pairs) {
                       pairs.add(record.substr(9, 7), static_cast<int64_t>(pairs.place().position));
                     },
                 .output = yard.at("read"),
                 .say = nullptr};
  REQUIRE(yard.run(read).ok());
  CHECK(yard.written("read").starts_with("item 10\t0\nitem 10\t1\n"));
  CHECK(yard.written("read").ends_with("item 12\t24\n"));
}

TEST_CASE("functions of items and of lines that throw end the job, whatever they throw") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "one\n");
  Job job = word_count(yard);
  job.input = items([]() -> std::optional<std::string> { throw 5; });
  CHECK(yard.run(job).status().to_string() ==
        "UNKNOWN: the input can't be divided: the function of items: it throws what is no "
        "std::exception");
  job.input = items([]() -> std::optional<std::string> { throw std::runtime_error("not this"); });
  CHECK(yard.run(job).status().to_string() ==
        "UNKNOWN: the input can't be divided: the function of items: it throws not this");
  job = word_count(yard);
  job.reduce = [](std::string_view, Values&, Results& results) { results.add(1); };
  job.output = text_output(yard.at("out"),
                           [](std::string*, std::string_view, std::string_view) { throw 5; });
  CHECK(yard.run(job).status().code() == Code::unknown);
  // Pairs as they are: no reducer stands between the function and the job.
  job.reduce = {};
  CHECK(yard.run(job).status().to_string() ==
        "UNKNOWN: reducing partition 0: a function of the job throws what is no std::exception");
  CHECK(yard.is_clean());
}

TEST_CASE("a damaged file of records is one bad record, and the records before are read") {
  const Yard yard;
  std::string bytes = io::framed_record("one") + io::framed_record("two");
  bytes.back() ^= 1;
  write_file(yard.at("texts/a.tfrecord"), bytes);
  const Job job{.input = record_files({yard.at("texts/*")}),
                .map = [](std::string_view record, Pairs& pairs) { pairs.add(record, 1); },
                .output = yard.at("out"),
                .max_bad = 1,
                .say = nullptr};
  REQUIRE(yard.run(job).ok());
  CHECK(yard.written("out") == "one\t1\n");
  CHECK(bytes_of_file(yard.at("out/_rejected.jsonl")).find("DATA_LOSS") != std::string::npos);
}

TEST_CASE("a file is read once, however many patterns match it, and paths are given as they are") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "x");
  write_file(yard.at("texts/b.txt"), "");
  const Job job{.input = paths({yard.at("texts/*"), yard.at("texts/../texts/a.txt")}),
                .map = [](std::string_view path, Pairs& pairs) { pairs.add(path, 1); },
                .output = yard.at("out"),
                .say = nullptr};
  REQUIRE(yard.run(job).ok());
  CHECK(yard.written("out") ==
        str_cat(yard.at("texts/a.txt"), "\t1\n", yard.at("texts/b.txt"), "\t1\n"));
}

TEST_CASE("no input at all makes empty files") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "");
  REQUIRE(yard.run(word_count(yard)).ok());
  CHECK(yard.written("out") == "");
  CHECK(names_in(yard.at("out")).contains("part-00000-of-00001.txt"));
}

// ---- What can't be done -------------------------------------------------------------------------

TEST_CASE("an output that is there, or can't be written, ends the job before any work") {
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "x");
  std::atomic<int> calls = 0;
  Job job = word_count(yard);
  job.map = [&calls](std::string_view, Pairs&) { ++calls; };
  write_file(yard.at("out/theirs"), "");
  CHECK(yard.run(job).status().code() == Code::already_exists);
  CHECK(bytes_of_file(yard.at("out/theirs")) == "");
  std::filesystem::remove_all(yard.at("out"));
  job.output = yard.at("texts/a.txt/below");
  const Status below = yard.run(job).status();
  CHECK(below.message().find("can't be written") != std::string::npos);
  CHECK(calls == 0);
  CHECK(yard.is_clean());
  // An empty folder is as good as none.
  std::filesystem::create_directories(yard.at("out"));
  job.output = yard.at("out");
  CHECK(yard.run(job).ok());
}

TEST_CASE(
    "a disk that is full, wherever the job is by then, ends it with words and without a trace") {
  const Yard yard;
  std::string text;
  for (int i = 0; i < 3000; ++i) str_append(&text, "word", i, "\n");
  write_file(yard.at("texts/a.txt"), text);
  Job job = word_count(yard);
  job.memory = 16 << 10;  // it spills
  size_t room = 0;
  int refusals = 0;
  for (;; room += 9'000) {
    FullDisk disk(room);
    const Result<Made> made = yard.run_on(disk, job, 1);
    if (made.ok()) break;
    ++refusals;
    CHECK_MESSAGE(made.status().code() == Code::resource_exhausted, made.status().to_string());
    CHECK(made.status().message().find("No space left") != std::string::npos);
    CHECK(yard.is_clean());
    REQUIRE(room < 10'000'000);
  }
  CHECK(refusals > 5);
  CHECK(yard.written("out").size() == text.size() + size_t{2} * 3000);
}

TEST_CASE("jobs that make no sense are refused with the field") {
  const Yard yard;
  const auto refused = [&](void (*change)(Job&)) {
    Job job = word_count(yard);
    change(job);
    return job.check().message();
  };
  CHECK(refused([](Job&) {}) == "");
  CHECK(refused([](Job& job) { job.input = {}; }) == "the job has no input");
  CHECK(refused([](Job& job) { job.map = {}; }) == "the job has no map");
  CHECK(refused([](Job& job) { job.output = {}; }) == "the job has no output");
  CHECK(refused([](Job& job) { job.memory = 10; }).starts_with("memory is 10"));
  CHECK(refused([](Job& job) { job.max_bad = -1; }).starts_with("max_bad is -1"));
  CHECK(refused([](Job& job) { job.partitions = -1; }).starts_with("partitions is -1"));
  CHECK(refused([](Job& job) { job.attempts = 0; }).starts_with("attempts is 0"));
  CHECK(refused([](Job& job) { job.lease = std::chrono::milliseconds(0); }).starts_with("lease"));
  CHECK(refused([](Job& job) { job.input = text_files("x", {.split = 0}); }).starts_with("split"));
  CHECK(refused([](Job& job) { job.input = items(nullptr); }).starts_with("items()"));
  Job job = word_count(yard);
  job.input = yard.at("nothing/*.txt");
  CHECK(yard.run(job).status().message().find("no file matches the input") != std::string::npos);
  CHECK(yard.is_clean());
}

TEST_CASE("without TF_CONFIG a task is alone; with one, its cluster must make sense") {
  const Environment nothing = [](const char*) { return nullptr; };
  const Yard yard;
  write_file(yard.at("texts/a.txt"), "x y x\n");
  REQUIRE(run(word_count(yard), nothing).ok());
  CHECK(yard.written("out") == "x\t2\ny\t1\n");
  const Environment odd = [](const char* name) -> const char* {
    return std::string_view(name) == "TF_CONFIG"
               ? R"({"cluster":{"files":["localhost:0"],"map":["localhost:0"]},)"
                 R"("task":{"type":"map","index":0}})"
               : nullptr;
  };
  CHECK(Task::create(odd).status().message() ==
        "nobody would reduce: the cluster has the jobs files, map; it needs tasks of 'reduce' or "
        "'worker'");
}

}  // namespace
}  // namespace millrace::mapreduce
