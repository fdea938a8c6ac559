// Datasets that few programs name, through their ops: reducers, names of files, pauses, shards.
#include <doctest/doctest.h>

#include "millrace/base/testing/fake_clock.h"
#include "millrace/base/testing/held_tasks.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::number;
using testing::Pipeline;

int64_t int_of(const Tensor& tensor) { return tensor.item<int64_t>(); }

// Sums by parity, which begin with the key; each result is negative.
Attrs summing(Pipeline& made) {
  using In = std::vector<Tensor>;
  const auto add = [&](const char* name, size_t takes, int64_t (*function)(const In&)) {
    made.functions->add(
        name, std::vector<DType>(takes, DType::i64), {DType::i64},
        [function](In in) -> Result<Element> { return Element{Tensor::scalar(function(in))}; });
  };
  add("parity", 1, [](const In& in) { return int_of(in[0]) % 2; });
  add("itself", 1, [](const In& in) { return int_of(in[0]); });
  add("plus", 2, [](const In& in) { return int_of(in[0]) + int_of(in[1]); });
  add("minus", 1, [](const In& in) { return -int_of(in[0]); });
  Attrs attrs = Pipeline::outputs({DType::i64});
  for (const auto& [part, name] : {std::pair("key", "parity"),
                                   {"init", "itself"},
                                   {"reduce", "plus"},
                                   {"finalize", "minus"}}) {
    attrs.set(std::string(part) + "_func", FunctionRef{name, {}});
    attrs.set(std::string("T") + part + "_func_other_arguments",
              AttrValue::List<DType>(std::vector<DType>()));
  }
  return attrs;
}

TEST_CASE("all elements of a key become one, in the keys' order") {
  Pipeline made;
  const Attrs attrs = summing(made);
  for (const char* op : {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    CHECK(made.all(made.derive(op, {made.range(6)}, attrs)) == "-6 -10");
    CHECK(made.all(made.derive(op, {made.range(0)}, attrs)) == "");
  }
}

TEST_CASE("a reducer's functions may take their time") {
  Pipeline made;
  const Attrs attrs = summing(made);
  made.functions->hold();
  const auto running =
      made.next(made.iterator(made.derive("GroupByReducerDataset", {made.range(2)}, attrs)));
  // Of each of two elements the key, its first state and the next one; then the result.
  for (int call = 0; call < 7; ++call) {
    made.pool.run_all();
    REQUIRE(made.functions->num_held() == 1);
    CHECK_FALSE(running->is_done());
    made.functions->answer();
  }
  made.pool.run_all();
  REQUIRE(running->is_done());
  CHECK(int_of((*running->outputs())[0].tensor) == 0);
}

TEST_CASE(
    "files that match a pattern are named, not folders, and it is an error if there are none") {
  Pipeline made;
  millrace::testing::MemoryFiles files;
  made.bench->device().files = &files;
  for (const char* folder : {"/d", "/d/bin"}) REQUIRE(files.make_directories(folder).ok());
  // A folder is listed, too.
  files.contents()["/d/bin"] = "";
  files.contents()["/d/b1"] = "";
  files.contents()["/d/b2"] = "";
  files.contents()["/d/a"] = "";
  const auto named = [&](std::vector<std::string> patterns) {
    return made.all(made.derive("MatchingFilesDataset", {Tensor::vector<std::string>(patterns)}),
                    {DType::string});
  };
  CHECK(named({"/d/b*", "/d/a", "/d/none"}) == R"("/d/b1" "/d/b2" "/d/a")");
  CHECK(named({"/d/*"}) == R"("/d/a" "/d/b1" "/d/b2")");
  CHECK(named({"/d/none"}).starts_with("Don't find any matched files"));
}

TEST_CASE("each element comes after a pause, in which no thread waits") {
  Pipeline made;
  FakeClock clock;
  millrace::testing::OneTimer timer;
  made.bench->device().clock = &clock;
  made.bench->device().timers = &timer;
  const Tensor iterator = made.iterator(made.derive("SleepDataset", {made.range(1), number(1000)}));
  for (const char* expected : {"0", "End of sequence"}) {
    const auto running = made.next(iterator);
    made.pool.run_all();
    CHECK_FALSE(running->is_done());
    REQUIRE(timer.is_set());
    timer.fire();
    made.pool.run_all();
    REQUIRE(running->is_done());
    const auto outputs = running->outputs();
    CHECK((outputs.ok() ? testing::text_of((*outputs)[0].tensor) : outputs.status().message()) ==
          expected);
  }
  CHECK(made.status_of("SleepDataset", {made.range(1), number(-1)})
            .message()
            .starts_with("`sleep_microseconds` must be >= 0"));
}

TEST_CASE("a walk with pauses needs timers, and says so") {
  Pipeline made;
  const Tensor dataset = made.derive("ExperimentalSleepDataset", {made.range(1), number(0)});
  const auto handle = made.bench->run(
      "IteratorV2", {},
      {.attrs = {{"shared_name", "i"},
                 {"container", ""},
                 {"output_types", AttrValue::List<DType>({DType::i64})},
                 {"output_shapes", AttrValue::List<PartialShape>({PartialShape()})}}});
  REQUIRE(handle.ok());
  CHECK(made.bench->run("MakeIterator", {dataset, (*handle)[0]}).status().code() ==
        Code::failed_precondition);
}

TEST_CASE("a batch is cut for replicas, of which the last ones may get less or nothing") {
  Pipeline made;
  const Tensor batches =
      made.derive("BatchDatasetV2", {made.range(7), number(5), Tensor::scalar(false)});
  for (const char* op : {"RebatchDataset", "ExperimentalRebatchDataset"}) {
    CHECK(made.all(made.derive(op, {batches, number(4)})) == "[0 1] [2 3] [4] [] [5] [6] [] []");
    CHECK(made.all(made.derive(op, {made.range(1), number(2)}))
              .starts_with("Cannot rebatch dataset: All components must have at least one"));
    CHECK(made.status_of(op, {batches, number(0)}).message() ==
          "num_replicas must be greater than zero.");
  }
}

TEST_CASE("a worker takes elements by turns, unless it is to take files") {
  Pipeline made;
  const auto policy = [](int64_t number) {
    Attrs attrs;
    attrs.set("auto_shard_policy", number);
    return attrs;
  };
  const std::vector<Tensor> second = {made.range(5), number(2), number(1)};
  CHECK(made.all(made.derive("AutoShardDataset", second)) == "1 3");
  CHECK(made.all(made.derive("ExperimentalAutoShardDataset", second, policy(2))) == "1 3");
  CHECK(made.all(made.derive("AutoShardDataset", second, policy(-1))) == "0 1 2 3 4");
  CHECK(made.status_of("AutoShardDataset", second, policy(1)).code() == Code::unimplemented);
  CHECK(made.status_of("AutoShardDataset", {made.range(5), number(2), number(2)}).message() ==
        "index must be between 0 and 1, not 2");
}

TEST_CASE("how large batches are is known through what leaves them whole") {
  Pipeline made;
  const auto size_of = [&](const Tensor& dataset) {
    return int_of(made.bench->run("ComputeBatchSize", {dataset}).value()[0].tensor);
  };
  const auto batches = [&](int64_t size) {
    return made.derive("BatchDatasetV2", {made.range(9), number(size), testing::flag(false)});
  };
  CHECK(size_of(made.range(9)) == -1);
  CHECK(size_of(batches(4)) == 4);
  CHECK(size_of(made.derive("TakeDataset", {made.derive("RepeatDataset", {batches(4), number(2)}),
                                            number(1)})) == 4);
  CHECK(size_of(made.derive("ConcatenateDataset", {batches(4), batches(4)})) == 4);
  CHECK(size_of(made.derive("ConcatenateDataset", {batches(4), batches(3)})) == -1);
  const std::vector<DType> two = {DType::i64, DType::i64};
  CHECK(size_of(made.derive("ZipDataset", {batches(2), batches(2)}, Pipeline::outputs(two))) == 2);
  CHECK(size_of(made.derive("RebatchDataset", {batches(4), number(2)})) == -1);
}

TEST_CASE("an element goes into a variant and comes out again, as what it was") {
  Pipeline made;
  const Tensor words = Tensor::vector<std::string>({"a", "b"});
  const auto packed = made.bench->run("CompressElement", {number(3), words});
  REQUIRE(packed.ok());
  const auto unpacked = [&](const Value& packed_one, std::vector<DType> types) {
    return made.bench->run("UncompressElement", {packed_one},
                           {.attrs = Pipeline::outputs(std::move(types))});
  };
  const auto element = unpacked((*packed)[0], {DType::i64, DType::string});
  REQUIRE(element.ok());
  CHECK((*element)[0].tensor == number(3));
  CHECK((*element)[1].tensor == words);
  CHECK(unpacked((*packed)[0], {DType::i64}).status().to_string() ==
        "FAILED_PRECONDITION: Expected 1 outputs from uncompress, but got 2");
  CHECK(unpacked((*packed)[0], {DType::i64, DType::f32}).status().code() ==
        Code::failed_precondition);
  CHECK(unpacked(made.range(1), {DType::i64}).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace::data
