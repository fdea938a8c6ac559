// Merging runs, and gathering pairs within a bound of memory.
#include "millrace/mapreduce/gathering.h"

#include <map>
#include <string>

#include <doctest/doctest.h>

#include "millrace/base/random.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/mapreduce/key_table.h"
#include "millrace/mapreduce/testing/jobs_lab.h"

namespace millrace::mapreduce {
namespace {

using millrace::testing::MemoryFiles;
using testing::pairs_of;
using testing::run_of;

TEST_CASE("runs are merged in the order of keys, equal keys in the order of runs") {
  MemoryFiles files;
  const std::vector<Segment> runs = {
      run_of(files, "0", {{"a", "0"}, {"c", "1"}, {"c", "2"}}), run_of(files, "1", {}),
      run_of(files, "2",
             {{"", "3"}, {"c", "4"}, {std::string("c\0", 2), "5"}, {"longer than eight", "6"}}),
      run_of(files, "3", {{"a", "7"}, {"c", "8"}, {"longer than eigh", "9"}})};
  const std::string expected = std::string("=3 a=0 a=7 c=1 c=2 c=4 c=8 c") + '\0' +
                               "=5 longer than eigh=9 longer than eight=6";
  CHECK(pairs_of(Merge::of(files, runs, "scratch")) == expected);
  // The same in rounds, two files at a time.
  CHECK(pairs_of(Merge::of(files, runs, "scratch", 2)) == expected);
  CHECK(pairs_of(Merge::of(files, {}, "scratch")) == "");
}

TEST_CASE("a damaged run ends the merge with its name") {
  MemoryFiles files;
  const std::vector<Segment> runs = {run_of(files, "0", {{"a", "0"}}),
                                     run_of(files, "1", {{"b", "1"}})};
  files.contents()["1"].back() ^= 1;
  CHECK(pairs_of(Merge::of(files, runs, "scratch")).starts_with("DATA_LOSS: 1, byte 8"));
}

TEST_CASE("values that nobody asks for are passed over, and an error among them is heard of") {
  MemoryFiles files;
  const auto merge_of = [&] {
    Merge merge = Merge::of(files, {{"runs", 8, files.contents()["runs"].size() - 8}}, "").value();
    REQUIRE(merge.next().value());
    return merge;
  };
  std::vector<std::pair<std::string, std::string>> pairs(3, {"a", std::string(kBlockBytes, 'x')});
  pairs.emplace_back("b", "y");
  run_of(files, "runs", pairs);
  Merge merge = merge_of();
  MergedValues values(merge);
  CHECK(values.finish().value());
  CHECK(merge.key() == "b");
  files.contents()["runs"][2 * kBlockBytes] ^= 1;
  Merge damaged = merge_of();
  MergedValues some(damaged);
  std::string_view value;
  CHECK(some.next(&value));
  CHECK(some.finish().status().code() == Code::data_loss);
}

// ---- Gathering ----------------------------------------------------------------------------------

struct Gathered {
  int num_spills = 0;
  std::string pairs;  // of all partitions, with a bar between
};

const Partitioner kEven = nullptr;

Gathered gather(const Combiner& combiner, const std::vector<Pair>& pairs, size_t memory,
                int num_parts = 2) {
  MemoryFiles files;
  const Partitions partitions(num_parts, kEven);
  Gathering gathering({files, combiner, partitions, memory, "scratch"});
  REQUIRE(gathering.add(pairs).ok());
  Gathered made;
  const std::vector<Segment> segments = gathering.write("out").value();
  REQUIRE(segments.size() == static_cast<size_t>(num_parts));
  for (const Segment& segment : segments)
    str_append(&made.pairs, made.pairs.empty() ? "" : " | ",
               pairs_of(Merge::of(files, {segment}, "scratch")));
  made.num_spills = gathering.num_spills();
  return made;
}

std::vector<Pair> numbered(const std::vector<std::string>& keys) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < keys.size(); ++i)
    pairs.push_back({.key = keys[i], .number = static_cast<int64_t>(i), .is_number = true});
  return pairs;
}

TEST_CASE("what spills is what would have been made in memory") {
  std::vector<std::string> keys;
  SeededRandom random(7);
  for (int i = 0; i < 3000; ++i) keys.push_back(str_cat("key ", random.next() % 700));
  const std::vector<Pair> pairs = numbered(keys);
  const Combiner joined = fold([](std::string_view, std::string* total, std::string_view value) {
    total->append("+").append(value);
  });
  for (const Combiner& combiner : {Combiner(), sum(), joined}) {
    const Gathered large = gather(combiner, pairs, size_t{64} << 20);
    const Gathered small = gather(combiner, pairs, size_t{8} << 10);
    CHECK(large.num_spills == 0);
    CHECK(small.num_spills > 10);
    CHECK(small.pairs == large.pairs);
    CHECK(gather(combiner, pairs, 1024).pairs == large.pairs);
  }
}

TEST_CASE("totals are those of a map, keys in order, values of a key in the order of the input") {
  const std::vector<std::string> keys = {"b", "a", "b", "", "a", "b"};
  CHECK(gather(sum(), numbered(keys), 1 << 20, 1).pairs == "=3 a=5 b=7");
  CHECK(gather({}, numbered(keys), 1 << 20, 1).pairs == "=3 a=1 a=4 b=0 b=2 b=5");
}

TEST_CASE("a store stays within its memory, whatever is added and however tables grow") {
  const Partitions partitions(3, kEven);
  for (const size_t memory : {size_t{1} << 12, size_t{1} << 16, size_t{1} << 20}) {
    for (const Combiner& combiner : {Combiner(), sum()}) {
      MemoryFiles files;
      const auto store = make_pair_store(combiner, partitions, memory);
      int num_spills = 0;
      for (int64_t i = 0; i < 40'000; ++i) {
        const std::string key = str_cat("key of some length ", i);
        const Pair pair{.key = key, .number = i, .is_number = true};
        const bool was_empty = store->empty();
        const size_t before = store->bytes_grown();
        const size_t taken = store->add({&pair, 1}, {}).value();
        CHECK((taken == 1) == (was_empty || before + key.size() <= memory));
        if (taken == 1) continue;
        RunWriter writer = RunWriter::create(files, "spill").value();
        REQUIRE(store->write(writer).ok());
        ++num_spills;
        // What is left does not make the next one useless.
        CHECK(store->bytes_grown() < memory);
        REQUIRE(store->add({&pair, 1}, {}).value() == 1);
      }
      CHECK(num_spills >= 1);
      CHECK(num_spills < 40'000 / 4);
    }
  }
}

TEST_CASE("keys of any length are told apart, and their fronts and hashes with them") {
  KeyTable<int64_t> table(256);
  std::map<std::string, int64_t> expected;
  std::vector<std::string> keys = {"", std::string(1, '\0'), std::string(8, '\0'),
                                   std::string(9, '\0')};
  for (size_t size = 1; size <= 20; ++size) {
    for (size_t at = 0; at < size; ++at) {
      keys.emplace_back(size, 'x');
      keys.back()[at] = 'y';
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::string& key : keys) {
      // Behind other texts, and before them.
      const std::string around = str_cat(key, "z", key, "zzzzzzzz");
      const HashedKey within(std::string_view(around).substr(key.size() + 1, key.size()), around);
      const HashedKey alone(key);
      CHECK(within.front == alone.front);
      CHECK(within.hash == alone.hash);
      int64_t* found = table.find(within);
      CHECK((found != nullptr) == (expected.count(key) != 0));
      CHECK(table.find(alone) == found);
      if (found == nullptr) found = table.add(within);
      ++*found;
      ++expected[key];
    }
  }
  table.for_each(
      [&](const auto& slot) { CHECK(slot.value == expected.at(std::string(slot.text()))); });
  CHECK(table.size() == expected.size());
  CHECK(front_of("abc") == front_of(std::string("abc\0\0", 5)));
  CHECK(front_of("abcdefg") != front_of("abcdefh"));
}

TEST_CASE("a table counts what it takes, and half as much again while it doubles") {
  KeyTable<int64_t> table(256);
  size_t most_grown = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string key = str_cat("key ", i);
    const size_t before = table.bytes();
    const size_t told = table.bytes_grown();
    *table.add(HashedKey(key)) = i;
    CHECK(table.bytes() <= told + 256);
    most_grown = std::max(most_grown, told - before);
  }
  CHECK(table.size() == 50'000);
  for (int i = 0; i < 50'000; ++i) {
    const std::string key = str_cat("key ", i);
    int64_t* const found = table.find(HashedKey(key));
    REQUIRE(found != nullptr);
    CHECK(*found == i);
  }
  CHECK(table.find(HashedKey("key 50000")) == nullptr);
  CHECK(most_grown >= 65'536 * sizeof(KeyTable<int64_t>::Slot));
}

TEST_CASE("a partition that is none, and a total that is too large, are told with the key") {
  MemoryFiles files;
  const auto one = [](Pair pair) { return std::vector{pair}; };
  const Partitioner wrong = [](std::string_view, int parts) { return parts; };
  const Partitions partitions(2, wrong);
  const Combiner none;
  Gathering list({files, none, partitions, 1 << 20, "scratch"});
  CHECK(list.add(one({.key = "k", .value = "v"})).to_string() ==
        "OUT_OF_RANGE: partition gives 2 for the key 'k'; it must be 0 to 1");
  const Combiner adding = sum();
  const Partitions even(2, kEven);
  Gathering sums({files, adding, even, 1 << 20, "scratch"});
  REQUIRE(sums.add(one({.key = "k", .number = INT64_MAX, .is_number = true})).ok());
  CHECK(sums.add(one({.key = "k", .number = 1, .is_number = true})).code() == Code::out_of_range);
  CHECK(sums.add(one({.key = "k", .value = "no number"})).code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace::mapreduce
