// Tables through their ops: what is found, what is filled once, what changes, and what is refused.
#include "doctest/doctest.h"

#include "millrace/ops/tables/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

Tensor names(std::initializer_list<std::string> values) {
  return Tensor::vector<std::string>(values);
}
Tensor ids(std::initializer_list<int64_t> values) { return Tensor::vector<int64_t>(values); }

class Tables {
 public:
  Tables() : ops_(registry()), bench_(*ops_) {}

  Result<Value> make(std::string_view op, Attrs more = {}, std::vector<Value> inputs = {},
                     DType key = DType::string) {
    Attrs attrs{{"key_dtype", key}, {"value_dtype", DType::i64}, {"shared_name", AttrValue("t")}};
    for (const auto& [name, value] : more) attrs.set(name, value);
    MR_ASSIGN(std::vector<Value> outputs,
              bench_.run(op, std::move(inputs), {.name = "table", .attrs = std::move(attrs)}));
    return std::move(outputs[0]);
  }
  Status run(std::string_view op, std::vector<Value> inputs) {
    return bench_.run(op, std::move(inputs), {.name = "access"}).status();
  }
  Result<Tensor> find(const Value& table, Tensor keys, Tensor fallback,
                      std::string_view op = "LookupTableFindV2") {
    MR_ASSIGN(auto outputs, bench_.run(op, {table, keys, fallback}, {.name = "find"}));
    return outputs[0].tensor;
  }
  int64_t size(const Value& table) {
    return bench_.run("LookupTableSizeV2", {table}).value()[0].tensor.item<int64_t>();
  }
  Result<std::vector<Value>> entries(const Value& table, DType key = DType::string) {
    return bench_.run("LookupTableExportV2", {table},
                      {.attrs = {{"Tkeys", key}, {"Tvalues", DType::i64}}});
  }

 private:
  static std::unique_ptr<OpRegistry> registry() {
    auto ops = std::make_unique<OpRegistry>();
    REQUIRE(register_tables(*ops).ok());
    return ops;
  }
  std::unique_ptr<OpRegistry> ops_;
  Bench bench_;
};

TEST_CASE("a key has the value that it was filled with, others the default") {
  Tables t;
  const Value table = t.make("HashTableV2").value();
  REQUIRE(t.run("InitializeTableV2", {table, names({"a", "b"}), ids({1, 2})}).ok());
  CHECK(t.find(table, names({"b", "x", "a"}), Tensor::scalar<int64_t>(-1)).value() ==
        ids({2, -1, 1}));
  CHECK(t.size(table) == 2);
  const auto all = t.entries(table).value();
  CHECK(all[0].tensor == names({"a", "b"}));
  CHECK(all[1].tensor == ids({1, 2}));
}

TEST_CASE("a default may be given for each key") {
  Tables t;
  const Value table = t.make("MutableHashTableV2").value();
  CHECK(t.find(table, names({"a", "b"}), ids({5, 6})).value() == ids({5, 6}));
}

TEST_CASE("the form with a reference is the same table") {
  Tables t;
  const Value table = t.make("HashTable").value();
  REQUIRE(t.run("InitializeTable", {table, names({"a"}), ids({1})}).ok());
  CHECK(t.find(table, names({"a"}), Tensor::scalar<int64_t>(0), "LookupTableFind").value() ==
        ids({1}));
}

TEST_CASE("a table that is filled once is not asked before, not filled otherwise, not changed") {
  Tables t;
  const Value table = t.make("HashTableV2").value();
  CHECK(t.find(table, names({"a"}), Tensor::scalar<int64_t>(0)).status().message() ==
        "Table not initialized.");
  CHECK(t.entries(table).status().code() == Code::aborted);
  CHECK(t.run("InitializeTableV2", {table, names({}), ids({})}).message() ==
        "keys and values cannot be empty: a table is filled with one entry or more");
  CHECK(t.run("LookupTableImportV2", {table, names({}), ids({})}).code() == Code::invalid_argument);
  CHECK(t.run("InitializeTableV2", {table, names({"a", "a"}), ids({1, 2})}).message() ==
        "HashTable has different value for same key. Key a has 1 and trying to add value 2");
  REQUIRE(t.run("InitializeTableV2", {table, names({"a", "a"}), ids({1, 1})}).ok());
  CHECK(t.run("InitializeTableV2", {table, names({"a"}), ids({1})}).ok());
  CHECK(t.run("InitializeTableV2", {table, names({"a", "b"}), ids({1, 2})}).message() ==
        "Table was already initialized with different data.");
  CHECK(t.run("LookupTableInsertV2", {table, names({"a"}), ids({1})}).code() ==
        Code::unimplemented);
  CHECK(t.run("LookupTableRemoveV2", {table, names({"a"})}).code() == Code::unimplemented);
}

TEST_CASE("a fixed table is filled by an import too, as TensorFlow's clients do it") {
  Tables t;
  const Value table = t.make("HashTableV2").value();
  REQUIRE(t.run("LookupTableImportV2", {table, names({"a", "b"}), ids({1, 2})}).ok());
  CHECK(t.find(table, names({"b", "c"}), Tensor::scalar<int64_t>(0)).value() == ids({2, 0}));
  CHECK(t.run("LookupTableImportV2", {table, names({"a", "b"}), ids({1, 2})}).ok());
  CHECK(t.run("LookupTableImportV2", {table, names({"a"}), ids({1})}).message() ==
        "Table was already initialized with different data.");
}

TEST_CASE("a changing table takes the last value, forgets removed keys, and can be replaced") {
  Tables t;
  const Value table = t.make("MutableHashTableV2").value();
  REQUIRE(
      t.run("LookupTableInsertV2", {table, names({"a", "b", "c", "a"}), ids({1, 2, 3, 4})}).ok());
  CHECK(t.size(table) == 3);
  REQUIRE(t.run("LookupTableRemoveV2", {table, names({"a", "not there"})}).ok());
  CHECK(t.find(table, names({"a", "b", "c"}), Tensor::scalar<int64_t>(0)).value() ==
        ids({0, 2, 3}));
  REQUIRE(t.run("LookupTableRemoveV2", {table, names({"b", "c"})}).ok());
  CHECK(t.size(table) == 0);
  REQUIRE(t.run("LookupTableImportV2", {table, names({"z"}), ids({9})}).ok());
  CHECK(t.entries(table).value()[0].tensor == names({"z"}));
}

TEST_CASE("many keys come and go, and each keeps its value") {
  Tables t;
  const Value table = t.make("MutableHashTableV2", {}, {}, DType::i64).value();
  std::vector<int64_t> keys, values;
  for (int64_t i = 0; i < 1000; ++i) {
    keys.push_back(i * 7);
    values.push_back(i);
  }
  const Tensor all = Tensor::vector<int64_t>(std::span<const int64_t>(keys));
  const Tensor expected = Tensor::vector<int64_t>(std::span<const int64_t>(values));
  REQUIRE(t.run("LookupTableInsertV2", {table, all, expected}).ok());
  CHECK(t.find(table, all, Tensor::scalar<int64_t>(-1)).value() == expected);
  for (int64_t i = 0; i < 1000; i += 3)
    REQUIRE(t.run("LookupTableRemoveV2", {table, ids({i * 7})}).ok());
  for (size_t i = 0; i < 1000; i += 3) values[i] = -1;
  CHECK(t.find(table, all, Tensor::scalar<int64_t>(-1)).value() ==
        Tensor::vector<int64_t>(std::span<const int64_t>(values)));
  CHECK(t.size(table) == 666);
}

TEST_CASE("values may be vectors, and so may the keys of a dense table") {
  Tables t;
  const Value table =
      t.make("MutableDenseHashTableV2", {{"value_shape", AttrValue(PartialShape{2})}},
             {ids({0, 0}), ids({-1, -1})}, DType::i64)
          .value();
  const Tensor keys = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  REQUIRE(t.run("LookupTableInsertV2", {table, keys, Tensor::of<int64_t>({2, 2}, {10, 20, 30, 40})})
              .ok());
  CHECK(t.find(table, Tensor::of<int64_t>({2, 2}, {3, 4, 5, 6}), ids({-7, -8})).value() ==
        Tensor::of<int64_t>({2, 2}, {30, 40, -7, -8}));
  CHECK(t.run("LookupTableInsertV2",
              {table, Tensor::of<int64_t>({1, 2}, {0, 0}), Tensor::of<int64_t>({1, 2}, {1, 1})})
            .message() == "Using the empty_key as a table key is not allowed");
  CHECK(t.find(table, Tensor::of<int64_t>({1, 2}, {-1, -1}), ids({0, 0})).status().message() ==
        "Using the deleted_key as a table key is not allowed");
  CHECK(t.find(table, ids({1, 2}), ids({0, 0})).status().message() ==
        "Expected key shape [2,2], got [2]");
  CHECK(t.find(table, ids({1, 2, 3}), ids({0, 0})).status().message() ==
        "Expected key shape [2] of the table at the end of the keys' shape, got [3]");
}

TEST_CASE("vectors of strings are keys, whatever they are made of") {
  Tables t;
  const Value table =
      t.make("MutableDenseHashTableV2", {}, {names({"", ""}), names({"-", "-"})}).value();
  const Tensor keys = Tensor::of<std::string>({2, 2}, {"ab", "c", "a", "bc"});
  REQUIRE(t.run("LookupTableInsertV2", {table, keys, ids({1, 2})}).ok());
  CHECK(t.find(table, keys, Tensor::scalar<int64_t>(0)).value() == ids({1, 2}));
  CHECK(t.entries(table).value()[0].tensor.shape() == Shape{131072, 2});
}

Tensor column(std::initializer_list<int64_t> numbers) {
  return Tensor::of<int64_t>({static_cast<int64_t>(numbers.size()), 1}, numbers);
}

TEST_CASE("a dense table is exported as TensorFlow's buckets, and takes such") {
  Tables t;
  const auto make = [&](const char* name) {
    return t
        .make("MutableDenseHashTableV2",
              {{"initial_num_buckets", AttrValue(8)}, {"shared_name", AttrValue(name)}},
              {Tensor::scalar<int64_t>(100), Tensor::scalar<int64_t>(200)}, DType::i64)
        .value();
  };
  const Value table = make("full");
  REQUIRE(t.run("LookupTableInsertV2", {table, ids({11, 12, 13, 14}), ids({1, 2, 3, 4})}).ok());
  // Its place is taken, and so are those one and three further.
  REQUIRE(t.run("LookupTableInsertV2", {table, ids({19}), ids({9})}).ok());
  const auto all = t.entries(table, DType::i64).value();
  CHECK(all[0].tensor == column({100, 19, 100, 11, 12, 13, 14, 100}));
  CHECK(all[1].tensor == column({0, 9, 0, 1, 2, 3, 4, 0}));

  const Value copy = make("copy");
  REQUIRE(t.run("LookupTableImportV2", {copy, all[0].tensor, all[1].tensor}).ok());
  CHECK(t.size(copy) == 5);
  CHECK(t.entries(copy, DType::i64).value()[0].tensor.shape() == Shape{8, 1});
  CHECK(t.find(copy, ids({11, 19, 14}), Tensor::scalar<int64_t>(0)).value() == ids({1, 9, 4}));
  // What was deleted keeps its bucket in TensorFlow's.
  REQUIRE(
      t.run("LookupTableImportV2", {copy, column({100, 200, 100, 11}), column({0, 5, 0, 1})}).ok());
  CHECK(t.size(copy) == 1);
  CHECK(t.find(copy, ids({11}), Tensor::scalar<int64_t>(0)).value() == ids({1}));
  CHECK(t.entries(copy, DType::i64).value()[0].tensor == column({100, 100, 100, 11}));
  // Entries alone are no buckets: they are put into some.
  REQUIRE(t.run("LookupTableImportV2", {copy, ids({11, 12, 13}), ids({1, 2, 3})}).ok());
  CHECK(t.entries(copy, DType::i64).value()[0].tensor.shape() == Shape{8, 1});
}

TEST_CASE("buckets become twice as many when they would be too full") {
  Tables t;
  const Value table =
      t.make("MutableDenseHashTableV2",
             {{"initial_num_buckets", AttrValue(4)}, {"value_shape", AttrValue(PartialShape{2})}},
             {Tensor::scalar<int64_t>(-1), Tensor::scalar<int64_t>(-2)}, DType::i64)
          .value();
  const auto shape = [&] { return t.entries(table, DType::i64).value()[1].tensor.shape(); };
  const Tensor pair = Tensor::of<int64_t>({1, 2}, {5, 6});
  CHECK(shape() == Shape{4, 2});
  for (int64_t key = 0; key < 3; ++key)
    REQUIRE(t.run("LookupTableInsertV2", {table, ids({key}), pair}).ok());
  CHECK(shape() == Shape{4, 2});
  // A key that is there counts as a new one.
  REQUIRE(t.run("LookupTableInsertV2", {table, ids({2}), pair}).ok());
  CHECK(shape() == Shape{8, 2});
  const auto all = t.entries(table, DType::i64).value();
  REQUIRE(t.run("LookupTableImportV2", {table, all[0].tensor, all[1].tensor}).ok());
  CHECK(t.find(table, ids({1}), ids({0, 0})).value() == pair);
  CHECK(t.make("MutableDenseHashTableV2",
               {{"initial_num_buckets", AttrValue(12)}, {"shared_name", AttrValue("odd")}},
               {Tensor::scalar<int64_t>(-1), Tensor::scalar<int64_t>(-2)}, DType::i64)
            .status()
            .message() == "Number of buckets must be at least 4 and a power of 2, got: 12");
}

TEST_CASE("types and shapes that don't fit are refused in words") {
  Tables t;
  const Value table = t.make("MutableHashTableV2").value();
  CHECK(t.find(table, ids({1}), Tensor::scalar<int64_t>(0)).status().message() ==
        "Key must be type string but got int64");
  CHECK(t.find(table, names({"a"}), Tensor::scalar(0.f)).status().message() ==
        "Value must be type int64 but got float");
  CHECK(t.find(table, names({"a"}), ids({1, 2})).status().message() ==
        "Expected shape [] or [1] for default value, got [2]");
  CHECK(t.run("LookupTableInsertV2", {table, names({"a"}), ids({1, 2})}).message() ==
        "Expected shape [1] for value, got [2]");
  CHECK(t.make("MutableHashTableV2", {}, {}, DType::i64).status().message() ==
        "Conflicting key/value dtypes int64->int64 with string-int64 for table t");
  CHECK(t.run("InitializeTableV2", {table, names({"a"}), ids({1})}).message() ==
        "Table 't' is not initializable");
  CHECK(t.make("MutableDenseHashTableV2", {{"shared_name", AttrValue("d")}},
               {names({"a"}), names({"a"})})
            .status()
            .message() == "Empty and deleted keys cannot be equal");
}

TEST_CASE("a table without a name is new each time, and ends with its step") {
  OpRegistry ops;
  REQUIRE(register_tables(ops).ok());
  ResourceStore resources;
  Tensor handle;
  const auto make = [&](Bench& bench) {
    bench.device().resources = &resources;
    return bench
        .run("AnonymousMutableHashTable", {},
             {.attrs = {{"key_dtype", DType::string}, {"value_dtype", DType::i64}}})
        .value()[0]
        .tensor;
  };
  {
    Bench step(ops);
    handle = make(step);
    CHECK(make(step).item<ResourceHandle>().name != handle.item<ResourceHandle>().name);
    REQUIRE(step.run("LookupTableInsertV2", {handle, names({"a"}), ids({1})}).ok());
    CHECK(step.run("LookupTableSizeV2", {handle}).value()[0].tensor == Tensor::scalar<int64_t>(1));
    CHECK(resources.size() == 2);
  }
  CHECK(resources.size() == 0);
  Bench later(ops);
  later.device().resources = &resources;
  CHECK(later.run("LookupTableSizeV2", {handle}).status().code() == Code::not_found);
}

}  // namespace
}  // namespace millrace
