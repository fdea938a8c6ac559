// Caches in files: what is written, when it counts, and who is refused.
#include <doctest/doctest.h>

#include "millrace/base/random.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::calling;
using testing::number;
using testing::Pipeline;

// Outlives the iterators, which take their files away.
struct Disk {
  millrace::testing::MemoryFiles files;
  SeededRandom random{1};
};

class Cached : public Disk, public Pipeline {
 public:
  Cached() {
    bench->device().files = &files;
    bench->device().random = &random;
  }
  Tensor cache(const Tensor& input, std::vector<DType> types = {DType::i64}) {
    return derive("CacheDataset", {input, Tensor::scalar(std::string("foo"))}, outputs(types));
  }
  // The iterator's walk is given up for another.
  void leave(const Tensor& walk) { REQUIRE(bench->run("MakeIterator", {range(0), walk}).ok()); }
  std::string names() {
    std::string all;
    for (const auto& [name, content] : files.contents()) all += name + " ";
    return all;
  }
};

TEST_CASE("a cache is there once a walk has come to its end, and read instead of the dataset") {
  Cached made;
  const Tensor walk = made.iterator(made.cache(made.range(3)));
  CHECK(made.get(walk) == "0");
  CHECK(made.names() == "foo_0.lockfile ");
  CHECK(made.get(walk) == "1");
  CHECK(made.get(walk) == "2");
  CHECK(made.get(walk) == "End of sequence");
  CHECK(made.names() == "foo.data-00000-of-00001 foo.index ");
  CHECK(made.get(walk) == "End of sequence");
  CHECK(made.all(made.cache(made.range(0))) == "0 1 2");
  CHECK(made.all(made.derive("RepeatDataset", {made.cache(made.range(7)), number(2)})) ==
        "0 1 2 0 1 2");
}

TEST_CASE("one pipeline writes its cache and reads it, time after time") {
  Cached made;
  CHECK(made.all(made.derive("RepeatDataset", {made.cache(made.range(3)), number(3)})) ==
        "0 1 2 0 1 2 0 1 2");
  Cached empty;
  CHECK(empty.all(empty.cache(empty.range(0))).empty());
  CHECK(empty.all(empty.cache(empty.range(3))).empty());
}

TEST_CASE("a walk that stops early leaves no cache") {
  Cached made;
  const Tensor walk = made.iterator(made.cache(made.range(3)));
  made.get(walk);
  made.leave(walk);
  CHECK(made.names().empty());
  CHECK(made.all(made.cache(made.range(2))) == "0 1");
}

TEST_CASE("who begins a cache anew waits until what was left of it is taken away") {
  testing::HandPool disk;
  Cached made;
  made.bench->step().blocking = &disk;
  const Tensor first = made.iterator(made.cache(made.range(3)));
  auto running = made.next(first);
  CHECK(disk.run_one());
  made.pool.run_all();
  REQUIRE(running->is_done());
  made.leave(first);
  const Tensor second = made.iterator(made.cache(made.range(3)));
  running = made.next(second);
  made.pool.run_all();
  CHECK(made.names() == "foo_0.lockfile ");
  CHECK(disk.run_one());  // what was left is gone
  CHECK(made.names().empty());
  made.pool.run_all();
  CHECK(disk.run_one());  // and the new walk begins
  made.pool.run_all();
  REQUIRE(running->is_done());
  const auto outputs = running->outputs();
  REQUIRE(outputs.ok());
  CHECK((*outputs)[0].tensor.item<int64_t>() == 0);
  running.reset();
  made.leave(second);
  disk.run_all();
}

TEST_CASE("only one walk at a time writes a cache") {
  Cached made;
  const Tensor first = made.iterator(made.cache(made.range(3)));
  const Tensor second = made.iterator(made.cache(made.range(3)));
  CHECK(made.get(first) == "0");
  const std::string told = made.get(second);
  CHECK(told.find("the cache in the file 'foo': There appears to be a concurrent caching iterator "
                  "running - cache lockfile already exists ('foo_0.lockfile')") == 0);
  CHECK(told.find("Lockfile contents: Created by a Millrace task") != std::string::npos);
  CHECK(made.get(first) == "1");
  // Who was refused takes nothing away, and may try again.
  made.leave(second);
  CHECK(made.get(first) == "2");
  CHECK(made.get(first) == "End of sequence");
  CHECK(made.all(made.cache(made.range(1))) == "0 1 2");
}

TEST_CASE("many elements are written in parts, which become one cache") {
  Cached made;
  const Tensor whole = made.cache(made.range(150'000));
  const Tensor batches =
      made.derive("BatchDatasetV2", {whole, number(149'999), Tensor::scalar(false)});
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor walk = made.iterator(batches);
    const auto running = made.next(walk);
    made.pool.run_all();
    const auto first = running->outputs();
    REQUIRE(first.ok());
    CHECK((*first)[0].tensor.flat<int64_t>()[149'998] == 149'998);
    CHECK(made.get(walk) == "[149999]");
    CHECK(made.get(walk) == "End of sequence");
    CHECK(made.names() == "foo.data-00000-of-00002 foo.data-00001-of-00002 foo.index ");
  }
}

TEST_CASE("elements that failed are not in the cache") {
  Cached made;
  made.functions->add("but 1", {DType::i64}, {DType::i64},
                      [](std::vector<Tensor> in) -> Result<Element> {
                        if (in[0].item<int64_t>() == 1) return invalid("bad");
                        return in;
                      });
  const Tensor numbers =
      made.derive("MapDataset", {made.range(3)}, calling("but 1", Pipeline::outputs({DType::i64})));
  CHECK(made.all(made.cache(numbers)) == "0 bad 2");
  CHECK(made.all(made.cache(numbers)) == "0 2");
}

TEST_CASE("the cache of another dataset is refused, and so is a checkpoint") {
  Cached made;
  CHECK(made.all(made.cache(made.range(2))) == "0 1");
  const auto slices = [&](std::vector<Tensor> parts, const std::vector<DType>& types) {
    Attrs attrs = Pipeline::outputs(types);
    attrs.set("Toutput_types", AttrValue::List<DType>(types));
    return made.derive("TensorSliceDataset", std::move(parts), attrs);
  };
  const std::vector<DType> words = {DType::string};
  const Tensor of_words =
      made.cache(slices({Tensor::vector<std::string>({"a", "b"})}, words), words);
  CHECK(made.get(made.iterator(of_words, words), words)
            .find("is of type int64 and shape [], the dataset's are of type string") !=
        std::string::npos);
  const std::vector<DType> pairs = {DType::i64, DType::i64};
  const Tensor two = Tensor::vector<int64_t>({1, 2});
  const Tensor of_pairs = made.cache(slices({two, two}, pairs), pairs);
  CHECK(made.get(made.iterator(of_pairs, pairs), pairs).find("element 0") != std::string::npos);
}

TEST_CASE("a full disk is told, and leaves no cache") {
  for (int changes = 0;; ++changes) {
    Cached made;
    made.files.break_after(changes);
    const Tensor walk = made.iterator(made.cache(made.range(2)));
    std::string told;
    for (int i = 0; i < 3; ++i) told = made.get(walk);
    if (told == "End of sequence") {
      CHECK(changes > 4);
      break;
    }
    CHECK_MESSAGE(told.find("the cache in the file 'foo': ") == 0, changes);
    CHECK(made.get(walk).find("the cache in the file 'foo': ") == 0);
    made.files.mend();
    made.leave(walk);
    CHECK_MESSAGE(made.names().find("lockfile") == std::string::npos, changes);
    REQUIRE(changes < 100);
  }
}

}  // namespace
}  // namespace millrace::data
