// Datasets through their ops: which elements, in which order, and what is refused.
#include <doctest/doctest.h>

#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/testing/pipeline.h"
#include "millrace/ops/tables/families.h"

namespace millrace::data {
namespace {

using testing::calling;
using testing::flag;
using testing::number;
using testing::Pipeline;

TEST_CASE("a range ends before stop, also backwards, at the ends of int64 and where it is empty") {
  Pipeline made;
  CHECK(made.all(made.range(4)) == "0 1 2 3");
  CHECK(made.all(made.derive("RangeDataset", {number(5), number(0), number(-2)})) == "5 3 1");
  CHECK(made.all(made.range(0)) == "");
  CHECK(made.all(made.derive("RangeDataset", {number(INT64_MAX - 1), number(INT64_MAX),
                                              number(4)})) == "9223372036854775806");
  CHECK(made.status_of("RangeDataset", {number(0), number(1), number(0)}).message() ==
        "step must be a non-zero integer.");
}

TEST_CASE("slices are rows of the inputs and share their memory") {
  Pipeline made;
  const Tensor rows = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor names = Tensor::vector<std::string>({"a", "b", "c"});
  const std::vector<DType> types = {DType::f32, DType::string};
  Attrs attrs = Pipeline::outputs(types);
  attrs.set("Toutput_types", AttrValue::List<DType>(types));
  const Tensor dataset = made.derive("TensorSliceDataset", {rows, names}, attrs);
  CHECK(made.all(dataset, types) == "[1 2],\"a\" [3 4],\"b\" [5 6],\"c\"");
  const auto running = made.next(made.iterator(dataset, types), types);
  CHECK((*running->outputs())[0].tensor.buffer() == rows.buffer());
}

TEST_CASE("take, skip, repeat, shard and concatenate choose elements") {
  Pipeline made;
  const Tensor four = made.range(4);
  CHECK(made.all(made.derive("TakeDataset", {four, number(2)})) == "0 1");
  CHECK(made.all(made.derive("TakeDataset", {four, number(-1)})) == "0 1 2 3");
  CHECK(made.all(made.derive("SkipDataset", {four, number(3)})) == "3");
  CHECK(made.all(made.derive("SkipDataset", {four, number(-1)})) == "");
  CHECK(made.all(made.derive("RepeatDataset", {four, number(2)})) == "0 1 2 3 0 1 2 3");
  CHECK(made.all(made.derive("RepeatDataset", {made.range(0), number(-1)})) == "");
  CHECK(made.all(made.derive("ShardDataset", {made.range(8), number(3), number(1)})) == "1 4 7");
  CHECK(made.all(made.derive("ConcatenateDataset", {four, made.range(2)})) == "0 1 2 3 0 1");
  CHECK(made.status_of("ShardDataset", {four, number(2), number(2)}).message() ==
        "Index must be between 0 and 1 (currently index = 2).");
}

TEST_CASE("elements come from the dataset whose number is next, and from none that has ended") {
  Pipeline made;
  const auto slices = [&](std::initializer_list<int64_t> values) {
    Attrs attrs = Pipeline::outputs({DType::i64});
    attrs.set("Toutput_types", AttrValue::List<DType>({DType::i64}));
    return made.derive("TensorSliceDataset", {Tensor::vector<int64_t>(values)}, attrs);
  };
  const auto chosen = [&](std::initializer_list<int64_t> choices, bool stops) {
    return made.all(made.derive("DirectedInterleaveDataset",
                                {slices(choices), slices({10, 11}), slices({20})},
                                {{"stop_on_empty_dataset", stops}}));
  };
  CHECK(chosen({1, 0, 0}, false) == "20 10 11");
  CHECK(chosen({1, 1, 1, 0}, false) == "20 10");
  CHECK(chosen({1, 1, 1, 0}, true) == "20");
  CHECK(chosen({0, 2}, false).find("Selector index out of range") != std::string::npos);
}

TEST_CASE("records may be read with TensorFlow's own buffer, which its clients call -1") {
  Pipeline made;
  const auto making = [&](std::string_view op, int64_t size) {
    const std::string none;
    return made.bench
        ->run(op, {Tensor::vector<std::string>({"f"}), Tensor::scalar(none), number(size)})
        .status();
  };
  CHECK(making("TFRecordDataset", -1).to_string() == "OK");
  CHECK(making("TFRecordDataset", -2).message() == "`buffer_size` must be >= 0 (0 == default)");
  CHECK(making("TextLineDataset", -1).code() == Code::invalid_argument);
}

TEST_CASE("an element is found by its place, where it is known how many there are") {
  Pipeline made;
  const auto at = [&](const Tensor& dataset, int64_t index) {
    return made.bench->run("GetElementAtIndex", {dataset, number(index)},
                           {.attrs = Pipeline::outputs({DType::i64})});
  };
  const Tensor skipped = made.derive("SkipDataset", {made.range(7), number(2)});
  CHECK((*at(skipped, 0))[0].tensor.item<int64_t>() == 2);
  CHECK((*at(skipped, 4))[0].tensor.item<int64_t>() == 6);
  CHECK(at(skipped, 5).status().to_string() == "OUT_OF_RANGE: Index out of range [0, 5):5");
  CHECK(at(skipped, -1).status().code() == Code::out_of_range);
  Attrs pairs = Pipeline::outputs({DType::i64});
  pairs.set("output_shapes", std::vector<PartialShape>{PartialShape{2}});
  CHECK(made.bench->run("GetElementAtIndex", {skipped, number(0)}, {.attrs = pairs})
            .status()
            .message() == "Incompatible shapes at component 0: expected [2] but got [].");
  const Tensor endless = made.derive("RepeatDataset", {skipped, number(-1)});
  CHECK(at(endless, 0).status().message() ==
        "the dataset has an infinite cardinality, which does not support random access.");
}

TEST_CASE("rows of batches come in batches of other sizes, by turns") {
  Pipeline made;
  const Tensor batches =
      made.derive("BatchDatasetV2", {made.range(7), number(4), Tensor::scalar(false)});
  const auto again = [&](std::initializer_list<int64_t> sizes, bool drops) {
    return made.derive("RebatchDatasetV2",
                       {batches, Tensor::vector<int64_t>(sizes), Tensor::scalar(drops)});
  };
  CHECK(made.all(again({3}, false)) == "[0 1 2] [3 4 5] [6]");
  CHECK(made.all(again({3}, true)) == "[0 1 2] [3 4 5]");
  CHECK(made.all(again({1, 5}, false)) == "[0] [1 2 3 4 5] [6]");
  CHECK(made.status_of("RebatchDatasetV2", {batches, number(0), Tensor::scalar(false)})
            .message()
            .find("must have one that is larger than 0") != std::string::npos);
}

TEST_CASE("a dataset is held to the number of elements that was promised") {
  Pipeline made;
  const auto promised = [&](int64_t count) {
    return made.derive("AssertCardinalityDataset", {made.range(3), number(count)});
  };
  CHECK(made.all(promised(3)) == "0 1 2");
  CHECK(
      made.all(promised(4)).find("expected to contain 4 elements but contained only 3 elements.") !=
      std::string::npos);
  CHECK(made.all(promised(1))
            .find("expected to contain 1 element but contained at least 2 "
                  "elements.") != std::string::npos);
  CHECK(made.all(promised(-1)).find("an infinite number of elements but contained only 3") !=
        std::string::npos);
  CHECK(made.all(made.derive("RewriteDataset",
                             {made.range(2), Tensor::scalar(std::string("nothing"))})) == "0 1");
}

class VocabularyTest {
 public:
  VocabularyTest() {
    REQUIRE(register_tables(made.ops).ok());
    table = made.bench
                ->run("HashTableV2", {},
                      {.name = "table",
                       .attrs = {{"key_dtype", DType::string},
                                 {"value_dtype", DType::i64},
                                 {"shared_name", "words"}}})
                .value()[0];
  }
  Tensor entries(std::vector<Tensor> components) {
    std::vector<DType> types;
    for (const Tensor& component : components) types.push_back(component.dtype());
    Attrs attrs = Pipeline::outputs(types);
    attrs.set("Toutput_types", AttrValue::List<DType>(types));
    return made.derive("TensorSliceDataset", std::move(components), attrs);
  }
  Status fill(const Tensor& dataset) {
    return made.bench->run("InitializeTableFromDataset", {table, dataset}).status();
  }
  int64_t size() {
    return made.bench->run("LookupTableSizeV2", {table}).value()[0].tensor.item<int64_t>();
  }

  Pipeline made;
  Value table;
};

TEST_CASE("a table is filled with the keys and values of a dataset, single ones or many at once") {
  VocabularyTest words;
  const Tensor keys = Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"});
  const Tensor values = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  CHECK(words.fill(words.entries({keys, values})).to_string() == "OK");
  CHECK(words.size() == 4);
  const Tensor fewer =
      words.entries({Tensor::vector<std::string>({"a"}), number(1).reshaped({1}).value()});
  CHECK(words.fill(fewer).message() == "Table was already initialized with different data.");
}

TEST_CASE("what can't fill a table is refused: other types, a key without a value, no end") {
  VocabularyTest words;
  const Tensor keys = Tensor::vector<std::string>({"a", "b"});
  const Tensor values = Tensor::vector<int64_t>({1, 2});
  CHECK(words.fill(words.entries({values, keys})).message() ==
        "elements are of int64 and string, and the table is from string to int64");
  CHECK(words.fill(words.entries({keys})).message() ==
        "a table is filled with keys and values: elements of two components, not 1");
  CHECK(words.fill(words.entries({keys, Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4})}))
            .message()
            .find("each key has one value") != std::string::npos);
  const Tensor endless =
      words.made.derive("RepeatDataset", {words.entries({keys, values}), number(-1)},
                        Pipeline::outputs({DType::string, DType::i64}));
  CHECK(words.fill(endless).message() == "a table can't be filled with a dataset that has no end");
}

TEST_CASE("a zip is as long as the shortest") {
  Pipeline made;
  const std::vector<DType> types = {DType::i64, DType::i64};
  Attrs attrs = Pipeline::outputs(types);
  attrs.set("N", 2);
  CHECK(made.all(made.derive("ZipDataset", {made.range(2), made.range(9)}, attrs), types) ==
        "0,0 1,1");
}

TEST_CASE("batches are stacked; the last one may be smaller or left out") {
  Pipeline made;
  const Tensor five = made.range(5);
  CHECK(made.all(made.derive("BatchDatasetV2", {five, number(2), flag(false)})) ==
        "[0 1] [2 3] [4]");
  CHECK(made.all(made.derive("BatchDatasetV2", {five, number(2), flag(true)})) == "[0 1] [2 3]");
  // The size is a word: nothing of it is set aside.
  CHECK(made.all(made.derive("BatchDatasetV2", {five, number(INT64_MAX), flag(false)})) ==
        "[0 1 2 3 4]");
  CHECK(made.status_of("BatchDatasetV2", {five, number(0), flag(false)}).message() ==
        "Batch size must be greater than zero.");
}

TEST_CASE("elements of several shapes make no batch, but a padded one") {
  Pipeline made;
  made.functions->add("count", {DType::i64}, {DType::i64},
                      [](std::vector<Tensor> in) -> Result<Element> {
                        std::vector<int64_t> values(static_cast<size_t>(in[0].item<int64_t>()),
                                                    in[0].item<int64_t>());
                        return Element{Tensor::vector<int64_t>(values)};
                      });
  const Tensor dataset =
      made.derive("MapDataset", {made.range(4)}, calling("count", Pipeline::outputs({DType::i64})));
  const Tensor batch = made.derive("BatchDatasetV2", {dataset, number(3), flag(false)});
  CHECK(made.get(made.iterator(batch)) ==
        "Cannot batch tensors with different shapes in component 0. First element had shape [0] "
        "and element 1 had shape [1].");
  Attrs attrs = Pipeline::outputs({DType::i64});
  attrs.set("Toutput_types", AttrValue::List<DType>{DType::i64});
  attrs.set("N", 1);
  const auto padded = [&](int64_t size) {
    return made.derive(
        "PaddedBatchDatasetV2",
        {dataset, number(2), Tensor::vector<int64_t>({size}), number(-7), flag(false)}, attrs);
  };
  CHECK(made.all(padded(-1)) == "[-7 1] [2 2 -7 3 3 3]");
  CHECK(made.all(padded(3)) == "[-7 -7 -7 1 -7 -7] [2 2 -7 3 3 3]");
  CHECK(made.get(made.iterator(
                     made.derive("PaddedBatchDatasetV2",
                                 {made.derive("SkipDataset", {dataset, number(2)}), number(2),
                                  Tensor::vector<int64_t>({1}), number(0), flag(false)},
                                 attrs)))
            .find("Attempted to pad to a smaller size than the input element") == 0);
}

TEST_CASE("unbatching gives the rows back") {
  Pipeline made;
  const Tensor batch = made.derive("BatchDatasetV2", {made.range(5), number(3), flag(false)});
  CHECK(made.all(made.derive("UnbatchDataset", {batch})) == "0 1 2 3 4");
}

TEST_CASE("windows are datasets, that far from each other") {
  Pipeline made;
  const auto window = [&](int64_t size, int64_t shift, int64_t stride, bool drop) {
    return made.derive("WindowDataset",
                       {made.range(5), number(size), number(shift), number(stride), flag(drop)},
                       Pipeline::outputs({DType::variant}));
  };
  const auto elements = [&](const Tensor& windows) {
    made.functions->add("itself", {DType::variant}, {DType::variant},
                        [](std::vector<Tensor> in) -> Result<Element> { return in; });
    const Tensor batches = made.derive("FlatMapDataset", {windows},
                                       calling("itself", Pipeline::outputs({DType::i64})));
    return made.all(batches);
  };
  CHECK(elements(window(2, 2, 1, true)) == "0 1 2 3");
  CHECK(elements(window(2, 1, 1, true)) == "0 1 1 2 2 3 3 4");
  CHECK(elements(window(2, 2, 2, false)) == "0 2 2 4 4");
  CHECK(elements(window(1, 3, 1, false)) == "0 3");
}

TEST_CASE("a function's dataset of other components than its node says is refused, not read") {
  Pipeline made;
  made.functions->add("itself", {DType::variant}, {DType::variant},
                      [](std::vector<Tensor> in) -> Result<Element> { return in; });
  const Tensor windows =
      made.derive("WindowDataset", {made.range(2), number(1), number(1), number(1), flag(false)},
                  Pipeline::outputs({DType::variant}));
  for (const std::vector<DType>& types :
       {std::vector<DType>{DType::string}, std::vector<DType>{DType::i64, DType::i64}}) {
    const Tensor elements =
        made.derive("FlatMapDataset", {windows}, calling("itself", Pipeline::outputs(types)));
    const Tensor batches =
        made.derive("BatchDatasetV2", {elements, number(2), flag(false)}, Pipeline::outputs(types));
    CHECK(made.get(made.iterator(batches, types), types).find("the dataset that a function gave") !=
          std::string::npos);
  }
}

TEST_CASE("options that are told to a dataset later come behind those that it was told before") {
  Pipeline made;
  const auto told = [&](const Tensor& dataset, std::string options) {
    return made.derive("OptionsDataset", {dataset}, {{"serialized_options", std::move(options)}});
  };
  const Tensor first = made.derive("TakeDataset", {told(made.range(4), "one "), number(2)});
  const auto outputs = made.bench->run("GetOptions", {told(first, "two")});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  CHECK((*outputs)[0].tensor == Tensor::scalar(std::string("one two")));
}

TEST_CASE("the same seeds shuffle alike, each walk anew unless that is refused") {
  Pipeline made;
  const auto shuffled = [&](int64_t buffer, bool reshuffle) {
    Attrs attrs;
    attrs.set("reshuffle_each_iteration", reshuffle);
    return made.derive("ShuffleDataset", {made.range(6), number(buffer), number(3), number(4)},
                       attrs);
  };
  const std::string first = made.all(shuffled(4, true));
  CHECK(made.all(shuffled(4, true)) == first);
  CHECK(made.all(shuffled(1, true)) == "0 1 2 3 4 5");
  const Tensor again = shuffled(6, true), same = shuffled(6, false);
  CHECK(made.all(again) != made.all(again));
  CHECK(made.all(same) == made.all(same));
  CHECK(made.all(made.derive("RepeatDataset", {same, number(2)})) ==
        made.all(same) + " " + made.all(same));
  CHECK(made.status_of("ShuffleDataset", {made.range(1), number(0), number(0), number(0)}).code() ==
        Code::invalid_argument);
}

TEST_CASE("a reduction of nothing gives its initial state, if that has the type of the result") {
  Pipeline made;
  const auto add = [](std::vector<Tensor> in) -> Result<Element> { return Element{in[0]}; };
  made.functions->add("numbers", {DType::i64, DType::i64}, {DType::i64}, add);
  made.functions->add("words", {DType::string, DType::i64}, {DType::i64}, add);
  const auto reduced = [&](const char* function, const Tensor& state) {
    Attrs attrs = calling(function, Pipeline::outputs({DType::i64}));
    attrs.set("Tstate", AttrValue::List<DType>({state.dtype()}));
    attrs.set("Targuments", AttrValue::List<DType>());
    return made.status_of("ReduceDataset", {made.range(0), state}, attrs);
  };
  CHECK(reduced("numbers", number(7)).ok());
  CHECK(reduced("words", Tensor::scalar(std::string("seven"))).message() ==
        "Data type mismatch at component 0: expected int64 but got string.");
}

TEST_CASE("datasets lie in each other only as deep as a stack reaches") {
  Pipeline made;
  Tensor dataset = made.range(1);
  for (int depth = 1; depth < kMostDeep; ++depth)
    dataset = made.derive("TakeDataset", {dataset, number(1)});
  CHECK(made.all(dataset) == "0");
  CHECK(made.status_of("SkipDataset", {dataset, number(0)}).message().find("is the most") !=
        std::string::npos);
  const std::vector<DType> types = {DType::variant};
  Attrs attrs = Pipeline::outputs(types);
  attrs.set("Toutput_types", AttrValue::List<DType>(types));
  CHECK(made.status_of("TensorDataset", {dataset}, attrs).message().find("is the most") !=
        std::string::npos);
}

TEST_CASE("a function whose dataset calls it again fails instead of filling the stack") {
  Pipeline made;
  made.functions->add(
      "again", {DType::i64}, {DType::variant}, [&](const std::vector<Tensor>&) -> Result<Element> {
        return Element{made.derive("FlatMapDataset", {made.range(1)},
                                   calling("again", Pipeline::outputs({DType::i64})))};
      });
  const Tensor dataset = made.derive("FlatMapDataset", {made.range(1)},
                                     calling("again", Pipeline::outputs({DType::i64})));
  CHECK(made.get(made.iterator(dataset)).find("calls it again") != std::string::npos);
}

TEST_CASE("no more datasets are asked at once than take turns") {
  Pipeline made;
  made.functions->add(
      "some", {DType::i64}, {DType::variant},
      [&](const std::vector<Tensor>&) -> Result<Element> { return Element{made.range(2)}; });
  const Attrs attrs = calling("some", Pipeline::outputs({DType::i64}));
  const auto inputs = [&](int64_t cycle, int64_t calls) {
    return std::vector<Tensor>{made.range(2), number(cycle), number(1), number(calls)};
  };
  const auto refused = [&](int64_t cycle, int64_t calls) {
    return made.status_of("ParallelInterleaveDatasetV2", inputs(cycle, calls), attrs).message();
  };
  CHECK(made.all(made.derive("ParallelInterleaveDatasetV2", inputs(2, 2), attrs)) == "0 0 1 1");
  CHECK(made.all(made.derive("ParallelInterleaveDatasetV2", inputs(2, -1), attrs)) == "0 0 1 1");
  CHECK(made.all(made.derive("ParallelInterleaveDatasetV2", inputs(-1, 1), attrs)) == "0 1 0 1");
  CHECK(refused(2, 3).find("must less than or equal to cycle_length: 3 are more") == 19);
  CHECK(refused(2, 0) == "num_parallel_calls must be greater than zero.");
}

TEST_CASE("what is no dataset, or one of another task, is refused") {
  Pipeline made;
  CHECK(made.status_of("TakeDataset", {Tensor::scalar(Variant()), number(1)}).message() ==
        "Tensor must be a Dataset object.");
  Variant travelled = made.range(1).item<Variant>();
  travelled.tensors[0] = *travelled.tensors[0].clone();
  CHECK(made.status_of("TakeDataset", {Tensor::scalar(travelled), number(1)})
            .message()
            .find("can't be read on another task") != std::string::npos);
}

}  // namespace
}  // namespace millrace::data
