#include "tests/hostile/surroundings.h"

#include <utility>

#include "millrace/tensor/resource_handle.h"

namespace millrace::hostile {
namespace {

// ---- Ops, run one after the other
// ---------------------------------------------------------------

Result<Value> first_of(Bench& bench, std::string_view op, std::vector<Value> inputs, Attrs attrs) {
  MR_ASSIGN(std::vector<Value> made,
            bench.run(op, std::move(inputs), {.name = "made", .attrs = std::move(attrs)}));
  if (made.empty()) return internal(op, " makes nothing");
  return std::move(made[0]);
}

// What may be refused: it is there with less in it then.
void then(Bench& bench, std::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
  (void)bench.run(op, std::move(inputs), {.name = "then", .attrs = std::move(attrs)});
}

Tensor value_of(Draw& draw, DType dtype) {
  static const Shape kShapes[] = {{}, {2}, {3}, {2, 3}, {0}, {4, 1, 2}};
  const Shape& shape = draw.pick(kShapes);
  auto made = draw.tensor(dtype, shape);
  return made.ok() ? *std::move(made) : Tensor::scalar(1.0f);
}

std::vector<PartialShape> unknown_shapes() { return {PartialShape()}; }

// ---- Resources
// ----------------------------------------------------------------------------------

Result<Value> variable(Bench& bench, Draw& draw, DType of) {
  MR_ASSIGN(Value handle,
            first_of(bench, "VarHandleOp", {}, {{"dtype", of}, {"shape", PartialShape()}}));
  if (!draw.one_in(8)) then(bench, "AssignVariableOp", {handle, value_of(draw, of)});
  return handle;
}

Result<Value> generator(Bench& bench, Draw& draw, DType) {
  MR_ASSIGN(Value handle,
            first_of(bench, "VarHandleOp", {}, {{"dtype", DType::i64}, {"shape", PartialShape()}}));
  const Tensor state =
      draw.one_in(4) ? value_of(draw, DType::i64) : Tensor::vector<int64_t>({1, 2, 3});
  then(bench, "AssignVariableOp", {handle, state});
  return handle;
}

template <class Name>
Result<Value> queue_of(Bench& bench, Draw& draw, DType of, const Name& name) {
  MR_ASSIGN(Value handle, first_of(bench, name, {}, {{"component_types", std::vector<DType>{of}}}));
  if (!draw.one_in(4) && !handle.ref) then(bench, "QueueEnqueueV2", {handle, value_of(draw, of)});
  return handle;
}
Result<Value> queue(Bench& bench, Draw& draw, DType of) {
  return queue_of(bench, draw, of, "FIFOQueueV2");
}
Result<Value> shuffled_queue(Bench& bench, Draw& draw, DType of) {
  return queue_of(bench, draw, of, "RandomShuffleQueueV2");
}

Result<Value> table(Bench& bench, Draw&, DType of) {
  MR_ASSIGN(Value handle, first_of(bench, "MutableHashTableV2", {},
                                   {{"key_dtype", DType::string}, {"value_dtype", of}}));
  return handle;
}
Result<Value> constant_table(Bench& bench, Draw&, DType) {
  MR_ASSIGN(Value handle, first_of(bench, "HashTableV2", {},
                                   {{"key_dtype", DType::string}, {"value_dtype", DType::i64}}));
  then(bench, "InitializeTableV2",
       {handle, Tensor::vector<std::string>({"a", "b"}), Tensor::vector<int64_t>({1, 2})});
  return handle;
}
Result<Value> dense_table(Bench& bench, Draw&, DType of) {
  return first_of(bench, "MutableDenseHashTableV2",
                  {Tensor::scalar<int64_t>(-1), Tensor::scalar<int64_t>(-2)},
                  {{"key_dtype", DType::i64}, {"value_dtype", of}});
}

Result<Value> tensor_array(Bench& bench, Draw& draw, DType of) {
  MR_ASSIGN(std::vector<Value> made,
            bench.run("TensorArrayV3", {Tensor::scalar<int32_t>(3)},
                      {.name = "made", .attrs = {{"dtype", of}, {"dynamic_size", true}}}));
  for (int32_t i = 0; i < 3 && !draw.one_in(4); ++i)
    then(bench, "TensorArrayWriteV3", {made[0], Tensor::scalar(i), value_of(draw, of), made[1]});
  return std::move(made[0]);
}

Result<Value> stack(Bench& bench, Draw& draw, DType of) {
  MR_ASSIGN(Value handle,
            first_of(bench, "StackV2", {Tensor::scalar<int32_t>(3)}, {{"elem_type", of}}));
  if (!draw.one_in(4)) then(bench, "StackPushV2", {handle, value_of(draw, of)});
  return handle;
}

Result<Value> accumulator(Bench& bench, Draw&, DType of) {
  return first_of(bench, "ResourceConditionalAccumulator", {},
                  {{"dtype", of}, {"shape", PartialShape()}});
}

Result<Value> barrier(Bench& bench, Draw&, DType of) {
  return first_of(bench, "Barrier", {},
                  {{"component_types", std::vector<DType>{of}},
                   {"shapes", std::vector<PartialShape>{PartialShape{2}}}});
}

Result<Value> reader(Bench& bench, Draw&, DType) {
  return first_of(bench, "TextLineReaderV2", {}, {});
}
Result<Value> record_reader(Bench& bench, Draw&, DType) {
  return first_of(bench, "FixedLengthRecordReaderV2", {}, {{"record_bytes", int64_t{2}}});
}

Result<Value> mutex(Bench& bench, Draw&, DType) { return first_of(bench, "MutexV2", {}, {}); }

Result<Value> numbers(Bench& bench, Draw&, DType) {
  return first_of(
      bench, "RangeDataset",
      {Tensor::scalar<int64_t>(0), Tensor::scalar<int64_t>(5), Tensor::scalar<int64_t>(1)},
      {{"output_types", std::vector<DType>{DType::i64}}, {"output_shapes", unknown_shapes()}});
}

Result<Value> iterator(Bench& bench, Draw& draw, DType) {
  MR_ASSIGN(Value handle, first_of(bench, "IteratorV2", {},
                                   {{"shared_name", "walk"},
                                    {"container", ""},
                                    {"output_types", std::vector<DType>{DType::i64}},
                                    {"output_shapes", unknown_shapes()}}));
  if (draw.one_in(4)) return handle;
  MR_ASSIGN(Value dataset, numbers(bench, draw, DType::i64));
  then(bench, "MakeIterator", {dataset, handle});
  return handle;
}

Result<Value> seeds(Bench& bench, Draw&, DType) {
  return first_of(bench, "AnonymousSeedGenerator",
                  {Tensor::scalar<int64_t>(1), Tensor::scalar<int64_t>(2), Tensor::scalar(true)},
                  {});
}
Result<Value> cache(Bench& bench, Draw&, DType) {
  return first_of(bench, "AnonymousMemoryCache", {}, {});
}

// ---- References to handles
// ----------------------------------------------------------------------

Result<Value> old_queue(Bench& bench, Draw& draw, DType of) {
  return queue_of(bench, draw, of, "FIFOQueue");
}
Result<Value> old_table(Bench& bench, Draw&, DType of) {
  return first_of(bench, "MutableHashTable", {},
                  {{"key_dtype", DType::string}, {"value_dtype", of}});
}
Result<Value> old_accumulator(Bench& bench, Draw&, DType of) {
  return first_of(bench, "ConditionalAccumulator", {}, {{"dtype", of}, {"shape", PartialShape()}});
}
Result<Value> sparse_accumulator(Bench& bench, Draw&, DType of) {
  return first_of(bench, "SparseConditionalAccumulator", {},
                  {{"dtype", of}, {"shape", PartialShape()}});
}
Result<Value> old_reader(Bench& bench, Draw&, DType) {
  return first_of(bench, "WholeFileReader", {}, {});
}
Result<Value> old_stack(Bench& bench, Draw&, DType of) {
  return first_of(bench, "Stack", {}, {{"elem_type", of}});
}

// ---- Variants
// -----------------------------------------------------------------------------------

Result<Value> list(Bench& bench, Draw& draw, DType of) {
  const Tensor rows = Tensor::zeros(of, {3, 2}).value();
  if (draw.one_in(3)) {
    return first_of(bench, "EmptyTensorList",
                    {Tensor::scalar<int32_t>(-1), Tensor::scalar<int32_t>(-1)},
                    {{"element_dtype", of}});
  }
  return first_of(bench, "TensorListFromTensor", {rows, Tensor::vector<int32_t>({2})},
                  {{"element_dtype", of}});
}
Result<Value> reserved_list(Bench& bench, Draw&, DType of) {
  return first_of(bench, "TensorListReserve",
                  {Tensor::scalar<int32_t>(-1), Tensor::scalar<int32_t>(3)},
                  {{"element_dtype", of}});
}
Result<Value> map(Bench& bench, Draw& draw, DType of) {
  MR_ASSIGN(Value empty, first_of(bench, "EmptyTensorMap", {}, {}));
  if (draw.one_in(3)) return empty;
  return first_of(bench, "TensorMapInsert", {empty, Tensor::scalar<int64_t>(1), value_of(draw, of)},
                  {});
}
Result<Value> optional(Bench& bench, Draw& draw, DType of) {
  if (draw.one_in(4)) return first_of(bench, "OptionalNone", {}, {});
  return first_of(bench, "OptionalFromValue", {value_of(draw, of)}, {});
}
Result<Value> slices(Bench& bench, Draw& draw, DType of) {
  return first_of(bench, "TensorSliceDataset", {value_of(draw, of)},
                  {{"output_shapes", unknown_shapes()}});
}
Result<Value> ragged(Bench& bench, Draw&, DType of) {
  return first_of(bench, "RaggedTensorToVariant",
                  {Tensor::vector<int64_t>({0, 1, 3}), Tensor::zeros(of, {3}).value()},
                  {{"batched_input", true}});
}
Result<Value> sparse(Bench& bench, Draw&, DType of) {
  return first_of(bench, "SerializeSparse",
                  {Tensor::of<int64_t>({1, 2}, {0, 1}), Tensor::zeros(of, {1}).value(),
                   Tensor::vector<int64_t>({2, 2})},
                  {{"out_type", DType::variant}});
}

constexpr Maker kResources[] = {
    {"Variable", "VarHandleOp", variable},
    {"Resource", "VarHandleOp", variable},
    {"Stateful", "VarHandleOp", generator},
    {"Rng", "VarHandleOp", generator},
    {"Queue", "FIFOQueueV2", queue},
    {"Queue", "RandomShuffleQueueV2", shuffled_queue},
    {"Table", "MutableHashTableV2", table},
    {"Table", "HashTableV2", constant_table},
    {"Table", "MutableDenseHashTableV2", dense_table},
    {"TensorArray", "TensorArrayV3", tensor_array},
    {"Stack", "StackV2", stack},
    {"Accumulator", "ResourceConditionalAccumulator", accumulator},
    {"Barrier", "Barrier", barrier},
    {"Reader", "TextLineReaderV2", reader},
    {"Reader", "FixedLengthRecordReaderV2", record_reader},
    {"Mutex", "MutexV2", mutex},
    {"Iterator", "IteratorV2", iterator},
    {"Seed", "AnonymousSeedGenerator", seeds},
    {"Shuffle", "AnonymousSeedGenerator", seeds},
    {"Cache", "AnonymousMemoryCache", cache},
};

constexpr Maker kReferences[] = {
    {"Queue", "FIFOQueue", old_queue},
    {"Table", "MutableHashTable", old_table},
    {"Accumulator", "ConditionalAccumulator", old_accumulator},
    {"Accumulator", "SparseConditionalAccumulator", sparse_accumulator},
    {"Barrier", "Barrier", barrier},
    {"Reader", "WholeFileReader", old_reader},
    {"Stack", "Stack", old_stack},
};

constexpr Maker kVariants[] = {
    {"List", "TensorListFromTensor", list},
    {"List", "TensorListReserve", reserved_list},
    {"Map", "EmptyTensorMap", map},
    {"Optional", "OptionalFromValue", optional},
    {"Dataset", "RangeDataset", numbers},
    {"Iterator", "RangeDataset", numbers},
    {"Dataset", "TensorSliceDataset", slices},
    {"Ragged", "RaggedTensorToVariant", ragged},
    {"Sparse", "SerializeSparse", sparse},
};

// ---- Functions
// ----------------------------------------------------------------------------------

class Echo final : public GraphFunction {
 public:
  explicit Echo(std::vector<DType> types) : types_(std::move(types)) {}
  const std::vector<DType>& argument_types() const override { return types_; }
  const std::vector<DType>& result_types() const override { return types_; }
  void run(std::shared_ptr<FunctionRun> run) override {
    run->results = std::exchange(run->arguments, {});
    if (run->results.size() != types_.size())
      return run->ended(invalid("the function takes ", types_.size(), " arguments"));
    run->ended({});
  }

 private:
  const std::vector<DType> types_;
};

class Echoes final : public FunctionSpace {
 public:
  explicit Echoes(std::vector<DType> types) : types_(std::move(types)) {}
  Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef&) override {
    return std::shared_ptr<GraphFunction>(std::make_shared<Echo>(types_));
  }

 private:
  const std::vector<DType> types_;
};

}  // namespace

std::span<const Maker> resource_makers() { return kResources; }
std::span<const Maker> reference_makers() { return kReferences; }
std::span<const Maker> variant_makers() { return kVariants; }

Surroundings::Surroundings(const OpRegistry& ops, Draw& draw) : draw_(draw), bench_(ops) {
  bench_.device().files = &files_;
  files_.contents()["a"] = "1,2,3\n4,5,6\n";
  set_function_types({DType::i64});
}

void Surroundings::set_function_types(std::vector<DType> types) {
  bench_.set_functions(std::make_shared<Echoes>(std::move(types)));
}

Value Surroundings::made_for(std::string_view op, DType of, std::span<const Maker> makers) {
  std::vector<const Maker*> fitting;
  for (const Maker& maker : makers)
    if (op.find(maker.serves) != std::string_view::npos) fitting.push_back(&maker);
  const bool is_fitting = !fitting.empty() && !draw_.one_in(10);
  const Maker& maker = is_fitting ? *draw_.pick(fitting) : draw_.pick(makers);
  auto made = maker.make(bench_, draw_, of);
  return made.ok() ? *std::move(made) : Value();
}

Value Surroundings::resource(std::string_view op, DType of) {
  switch (draw_.below(24)) {
    case 0:
      return Tensor::allocate(DType::resource, draw_.shape()).value();
    case 1:
      return Tensor::scalar(ResourceHandle{"d", "c", "n", 9, "t", {}});
    default:
      break;
  }
  Value made = made_for(op, of, resource_makers());
  if (made.tensor.has_value() && made.tensor.dtype() == DType::resource) return made;
  return Tensor::allocate(DType::resource, {}).value();
}

Value Surroundings::reference(std::string_view op, DType dtype) {
  if (dtype == DType::string && !draw_.one_in(6)) {
    Value made = made_for(op, draw_.one_in(2) ? DType::f32 : DType::i64, reference_makers());
    if (made.ref) return made;
  }
  auto made = first_of(bench_, "VariableV2", {}, {{"dtype", dtype}, {"shape", PartialShape()}});
  if (!made.ok()) return {};
  if (!draw_.one_in(8)) {
    auto given = draw_.tensor(dtype, draw_.shape());
    if (given.ok()) then(bench_, "Assign", {*made, *given}, {{"validate_shape", false}});
  }
  return *std::move(made);
}

Value Surroundings::variant(std::string_view op, DType of) {
  switch (draw_.below(24)) {
    case 0:
      return Tensor::allocate(DType::variant, draw_.shape()).value();
    case 1:
      return Tensor::scalar(Variant{draw_.text(), draw_.text(), {Tensor::scalar(1)}});
    default:
      break;
  }
  Value made = made_for(op, of, variant_makers());
  if (!made.tensor.has_value() || made.tensor.dtype() != DType::variant)
    return Tensor::allocate(DType::variant, {}).value();
  if (draw_.one_in(10)) {
    auto many = made.tensor.reshaped(Shape{made.tensor.num_elements()});
    if (many.ok()) return *many;
  }
  return made;
}

}  // namespace millrace::hostile
