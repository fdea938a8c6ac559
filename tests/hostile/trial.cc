#include "tests/hostile/trial.h"

#include <algorithm>
#include <utility>

#include "millrace/base/hash.h"
#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/ops/testing/eager_gradient.h"

namespace millrace::hostile {
namespace {

constexpr DType kTypes[] = {DType::f32,     DType::i64,  DType::i32, DType::string, DType::u8,
                            DType::boolean, DType::f64,  DType::c64, DType::f16,    DType::bf16,
                            DType::i8,      DType::c128, DType::u64, DType::qi8,    DType::variant};

// Gradients are made of ops that nobody tells of a cancellation.
constexpr int64_t kMostForGradient = 10'000;

DType pick_type(Draw& draw, const AttrDef& attr) {
  if (attr.allowed_types.empty()) return draw.one_in(2) ? DType::f32 : draw.pick(kTypes);
  return draw.pick(attr.allowed_types);
}

PartialShape pick_shape(Draw& draw) {
  if (draw.one_in(3)) return {};
  const Shape shape = draw.shape();
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  for (int64_t& dim : dims)
    if (draw.one_in(4)) dim = draw.one_in(8) ? draw.integer() : kUnknownDim;
  auto made = PartialShape::create(dims);
  return made.ok() ? *made : PartialShape();
}

bool is_data(std::string_view attr) {
  return attr == "output_types" || attr == "Toutput_types" || attr == "output_shapes";
}

int64_t pick_integer(Draw& draw, const AttrDef& attr) {
  if (draw.one_in(3)) return draw.integer();
  return std::max<int64_t>(attr.minimum.value_or(0), draw.below(6));
}

bool counts_inputs(const OpDef& op, const AttrDef& attr) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const ArgDef& arg) {
    return arg.number_attr == attr.name || arg.type_list_attr == attr.name;
  });
}

template <class T, class Make>
AttrValue list_of(int64_t length, Make make) {
  std::vector<T> items;
  for (int64_t i = 0; i < length; ++i) items.push_back(make());
  return AttrValue(AttrValue::ListValue(std::move(items)));
}

// The type that the op's name for its elements has, for what is made for it.
DType hint_of(const OpDef& op, const Attrs& attrs) {
  for (const char* name : {"dtype", "T", "element_dtype", "value_dtype", "elem_type", "Tout"}) {
    const AttrValue* given = attrs.find(name);
    if (given == nullptr && op.find_attr(name) != nullptr && op.find_attr(name)->default_value)
      given = &*op.find_attr(name)->default_value;
    if (given != nullptr && given->as_type() != nullptr && is_plain(*given->as_type()))
      return *given->as_type();
  }
  return DType::f32;
}

std::vector<DType> function_types(const Attrs& attrs) {
  for (const char* name : {"output_types", "Toutput_types", "Tout"}) {
    const AttrValue* given = attrs.find(name);
    if (given != nullptr && given->as_list_of<DType>() != nullptr)
      return *given->as_list_of<DType>();
  }
  return {DType::i64};
}

// Executors don't let an op see a reference without a value unless it says that it may.
bool may_refer(const OpDef& op, const Value& value) {
  if (!value.ref) return false;
  MutexLock lock(*value.ref->mutex);
  return op.allows_uninitialized_input || value.ref->tensor->has_value();
}

bool is_tensor_of_numbers(const Value& value) {
  if (value.ref || !value.tensor.has_value()) return false;
  return is_plain(value.tensor.dtype()) && value.tensor.num_elements() <= kMostForGradient;
}

}  // namespace

Subject::Subject(const OpRegistry& ops, const OpDef& op) : ops_(ops), op_(op) {
  for (const std::string& text : op.examples) {
    auto example = parse_example(op, text);
    if (example.ok()) examples_.push_back(*std::move(example));
  }
}

bool Subject::can_be(const OpDef& op) { return op.cpu != nullptr && !calls_functions(op.role); }

Trial::Trial(const Subject& subject, uint64_t seed, int64_t number)
    : subject_(subject),
      op_(subject.op()),
      draw_(murmur64(str_cat(op_.name, " ", seed, " ", number))),
      surroundings_(subject.ops(), draw_) {
  const auto& examples = subject.examples();
  const Example* example = examples.empty() || draw_.one_in(12) ? nullptr : &draw_.pick(examples);
  attrs_ = draw_attrs(example);
  const auto types = resolve_args(op_, op_.inputs, attrs_);
  if (!types.ok()) {
    refusal_ = types.status().to_string();
    return;
  }
  if (types->size() > 64) {
    refusal_ = "too many inputs";
    return;
  }
  const DType hint = hint_of(op_, attrs_);
  surroundings_.set_function_types(function_types(attrs_));
  for (size_t slot = 0; slot < types->size(); ++slot) {
    const ArgType& type = (*types)[slot];
    inputs_.push_back(draw_input(example, slot, type, hint));
    const Value& input = inputs_.back();
    if (type.is_ref ? !may_refer(op_, input) : !input.tensor.has_value())
      refusal_ = str_cat("nothing is drawn for input ", slot);
  }
}

AttrValue Trial::drawn(const AttrDef& attr) {
  const std::string_view kind = attr.kind;
  if (kind == "int") {
    if (counts_inputs(op_, attr)) return draw_.below(5);
    return pick_integer(draw_, attr);
  }
  if (kind == "float") return static_cast<float>(draw_.real());
  if (kind == "bool") return draw_.one_in(2);
  if (kind == "string") {
    if (attr.allowed_strings.empty() || draw_.one_in(16)) return draw_.text();
    return draw_.pick(attr.allowed_strings);
  }
  if (kind == "type") return pick_type(draw_, attr);
  if (kind == "shape") return pick_shape(draw_);
  if (kind == "func") return FunctionRef{"f", {}};
  if (kind == "tensor") {
    auto made = draw_.tensor(draw_.pick(kTypes), draw_.shape());
    return made.ok() ? *std::move(made) : Tensor::scalar(1.0f);
  }
  const int64_t length = std::max<int64_t>(attr.minimum.value_or(0), draw_.below(6));
  if (is_data(attr.name) && !draw_.one_in(4)) {
    if (kind == "list(type)") return std::vector<DType>{DType::i64};
    return std::vector<PartialShape>{PartialShape()};
  }
  if (kind == "list(int)")
    return list_of<int64_t>(length, [&] { return pick_integer(draw_, attr); });
  if (kind == "list(float)")
    return list_of<float>(length, [&] { return static_cast<float>(draw_.real()); });
  if (kind == "list(bool)") return list_of<bool>(length, [&] { return draw_.one_in(2); });
  if (kind == "list(string)") return list_of<std::string>(length, [&] { return draw_.text(); });
  if (kind == "list(type)") return list_of<DType>(length, [&] { return pick_type(draw_, attr); });
  if (kind == "list(shape)")
    return list_of<PartialShape>(length, [&] { return pick_shape(draw_); });
  if (kind == "list(func)")
    return list_of<FunctionRef>(length, [] { return FunctionRef{"f", {}}; });
  return {};
}

Attrs Trial::draw_attrs(const Example* example) {
  Attrs attrs;
  if (example != nullptr) {
    attrs = example->attrs;
    // Types that the example leaves open are chosen first: what is found from inputs is f32.
    for (const AttrDef& attr : op_.attrs)
      if (attr.kind == "type" && attrs.find(attr.name) == nullptr && !draw_.one_in(3))
        attrs.set(attr.name, pick_type(draw_, attr));
    const std::vector<DType> untyped(example->inputs.size(), DType::f32);
    auto completed = complete_attrs(op_, untyped, attrs);
    if (completed.ok()) attrs = *std::move(completed);
  }
  for (const AttrDef& attr : op_.attrs) {
    const bool is_missing = attrs.find(attr.name) == nullptr && !attr.default_value;
    const int64_t rarely = counts_inputs(op_, attr) ? 16 : 5;
    if (is_missing || draw_.one_in(rarely)) {
      AttrValue value = drawn(attr);
      if (value.has_value()) attrs.set(attr.name, std::move(value));
    }
  }
  return attrs;
}

Value Trial::draw_input(const Example* example, size_t slot, const ArgType& type, DType hint) {
  if (type.is_ref) return surroundings_.reference(op_.name, type.dtype);
  if (type.dtype == DType::resource) return surroundings_.resource(op_.name, hint);
  if (type.dtype == DType::variant) return surroundings_.variant(op_.name, hint);
  const auto fresh = [&](const Shape& shape) -> Value {
    auto made = draw_.tensor(type.dtype, shape);
    return made.ok() ? Value(*std::move(made)) : Value();
  };
  if (example != nullptr && slot < example->inputs.size()) {
    const ExampleValue& given = example->inputs[slot];
    auto like = given.as(type.dtype);
    const int64_t what = draw_.below(16);
    if (like.ok() && what < 8) return *std::move(like);
    if (like.ok() && what < 11) {
      draw_.spoil(*like);
      return *std::move(like);
    }
    if (what < 13) return fresh(given.shape);
    if (what < 15) return fresh(draw_.changed(given.shape));
    return fresh(draw_.shape());
  }
  // Sizes, axes and the like are scalars or short vectors.
  switch (draw_.below(4)) {
    case 0:
      return fresh({});
    case 1:
      return fresh({draw_.below(5)});
    default:
      return fresh(draw_.shape());
  }
}

std::string Trial::text() const {
  std::string text = op_.name + "(";
  for (size_t slot = 0; slot < inputs_.size(); ++slot) {
    if (slot > 0) text += ", ";
    if (inputs_[slot].ref) {
      str_append(&text, "a reference: ");
      MutexLock lock(*inputs_[slot].ref->mutex);
      text += inputs_[slot].ref->tensor->has_value() ? inputs_[slot].ref->tensor->to_string()
                                                     : "no value";
    } else {
      text += inputs_[slot].tensor.has_value() ? inputs_[slot].tensor.to_string() : "no value";
    }
  }
  text += ")";
  for (const auto& [name, value] : attrs_) str_append(&text, " ", name, "=", value.to_string());
  return text;
}

// Whatever the kernel would say: graphs are built of such shapes, and a rule may refuse them.
void Trial::ask_rule() {
  std::vector<DType> types;
  for (const Value& input : inputs_)
    types.push_back(input.ref ? DType::invalid : input.tensor.dtype());
  const auto attrs = complete_attrs(op_, types, attrs_);
  if (!op_.infer || !attrs.ok() || !check_attrs(op_, *attrs).ok()) return;
  const auto outputs = resolve_args(op_, op_.outputs, *attrs);
  if (!outputs.ok()) return;
  std::vector<PartialShape> shapes;
  for (const Value& input : inputs_) {
    const Shape given = input.ref ? draw_.shape() : input.tensor.shape();
    shapes.push_back(draw_.wide(draw_.one_in(4) ? draw_.shape() : given));
  }
  InferContext context({op_, *attrs}, shapes, {}, static_cast<int>(outputs->size()));
  (void)op_.infer(context);
}

std::string Trial::run() {
  if (!refusal_.empty()) return {};
  ask_rule();
  Bench& bench = surroundings_.bench();
  std::vector<Value> kept = inputs_;
  if (draw_.one_in(2)) {
    // Nobody else has them: kernels may use their memory again.
    kept.clear();
    for (const Value& input : inputs_) {
      if (input.ref || !input.tensor.has_value()) {
        kept.push_back(input);
        continue;
      }
      auto clone = input.tensor.clone();
      if (!clone.ok()) return {};
      kept.emplace_back(*std::move(clone));
    }
  }
  auto started = bench.start(op_.name, std::move(kept), {.name = "subject", .attrs = attrs_});
  if (!started.ok()) return {};
  Running& running = **started;
  if (!running.is_done()) bench.cancellation().cancel(cancelled("it waits"));
  if (!running.is_done()) {
    (void)started->release();  // it may still be at work
    return "it waits, and does not answer when its step is cancelled";
  }
  auto outputs = running.outputs();
  if (!outputs.ok()) return {};
  return check(inputs_, running, *outputs);
}

std::string Trial::check(const std::vector<Value>& inputs, const Running& running,
                         const std::vector<Value>& outputs) {
  const auto completed = [&] {
    std::vector<DType> types;
    for (const Value& input : inputs)
      types.push_back(input.ref ? DType::invalid : input.tensor.dtype());
    return complete_attrs(op_, types, attrs_);
  }();
  if (completed.ok()) attrs_ = *completed;
  const auto types = resolve_args(op_, op_.outputs, attrs_);
  if (!types.ok()) return {};
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    const Value& output = outputs[slot];
    if (running.output_is_dead(static_cast<int>(slot)) || output.ref) continue;
    if (!output.tensor.has_value()) {
      if (op_.allows_uninitialized_input || op_.role != Role::ordinary) continue;
      return str_cat("output ", slot, " has no value");
    }
    if (output.tensor.dtype() != (*types)[slot].dtype)
      return str_cat("output ", slot, " is ", dtype_name(output.tensor.dtype()), ", not ",
                     dtype_name((*types)[slot].dtype));
  }
  std::string complaint = check_rule(inputs, outputs);
  if (!complaint.empty()) return complaint;
  if (draw_.one_in(3)) try_gradient(inputs, outputs);
  if (!outputs.empty() && outputs[0].tensor.dtype() == DType::variant &&
      op_.name.find("Dataset") != std::string::npos)
    walk_along(outputs[0].tensor);
  return {};
}

std::string Trial::check_rule(const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
  // What a placeholder says of its shape is a promise of who feeds it, and not checked there
  // either.
  if (!op_.infer || op_.name == "PlaceholderWithDefault") return {};
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> constants;
  const int64_t known = draw_.below(3);
  for (const Value& input : inputs) {
    const bool has_shape = !input.ref && input.tensor.has_value() && known > 0;
    shapes.push_back(has_shape ? PartialShape(input.tensor.shape()) : PartialShape());
    constants.push_back(has_shape && known > 1 ? &input.tensor : nullptr);
  }
  InferContext context({op_, attrs_}, shapes, constants, static_cast<int>(outputs.size()));
  if (!op_.infer(context).ok()) return {};
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    const Value& output = outputs[slot];
    if (output.ref || !output.tensor.has_value()) continue;
    if (context.output(static_cast<int>(slot)).allows(output.tensor.shape())) continue;
    return str_cat("the shape rule says that output ", slot, " is ",
                   context.output(static_cast<int>(slot)).to_string(), ", and it is ",
                   output.tensor.shape().to_string(),
                   known == 2   ? " (values known)"
                   : known == 1 ? " (shapes known)"
                                : " (nothing known)");
  }
  return {};
}

void Trial::try_gradient(const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
  if (op_.grad == nullptr) return;
  std::vector<Tensor> in, out;
  for (const Value& input : inputs) {
    if (!is_tensor_of_numbers(input)) return;
    in.push_back(input.tensor);
  }
  for (const Value& output : outputs) {
    if (!is_tensor_of_numbers(output)) return;
    out.push_back(output.tensor);
  }
  const Told told = draw_.one_in(2) ? Told::everything : Told::nothing;
  (void)eager_gradient(subject_.ops(), op_.name, attrs_, in, out, out, told);
}

void Trial::walk_along(const Tensor& dataset) {
  Bench& bench = surroundings_.bench();
  Attrs attrs;
  for (const char* name : {"output_types", "output_shapes"}) {
    const AttrValue* given = attrs_.find(name);
    if (given == nullptr) return;
    attrs.set(name, *given);
  }
  auto iterator = bench.run("AnonymousIteratorV3", {}, {.name = "walk", .attrs = attrs});
  if (!iterator.ok()) return;
  if (!bench.run("MakeIterator", {dataset, (*iterator)[0]}, {.name = "begin"}).ok()) return;
  for (int i = 0; i < 4; ++i) {
    if (bench.cancellation().cancelled()) return;
    if (!bench.run("IteratorGetNext", {(*iterator)[0]}, {.name = "next", .attrs = attrs}).ok())
      return;
  }
}

}  // namespace millrace::hostile
