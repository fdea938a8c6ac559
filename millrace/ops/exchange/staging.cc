// Part of families.h: register_staging.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/exchange/staging_area.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// Every op on a staging area names it by its attributes, and whoever runs first makes it.
struct StagingNode {
  ResourceName name;
  StagingBounds bounds;

  static Result<StagingNode> read(const KernelSpec& node) {
    StagingNode made;
    MR_ASSIGN(made.name, resource_name_of(node));
    MR_ASSIGN(const int64_t capacity, node.attrs.integer("capacity"));
    MR_ASSIGN(const int64_t memory_limit, node.attrs.integer("memory_limit"));
    made.bounds = {static_cast<size_t>(capacity), static_cast<size_t>(memory_limit)};
    return made;
  }
};

// Runs start(context, area, done), which may wait; the area lives as long.
template <class Area, class Start>
class StagingKernel final : public Kernel {
 public:
  StagingKernel(StagingNode node, Start start) : node_(std::move(node)), start_(start) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto found = area_.get(*context.step().device->resources, node_.name,
                           [&](ResourceStore& resources, const ResourceName& name) {
                             return resources.find_or_create<Area>(
                                 name.container, name.name, [&]() -> Result<std::shared_ptr<Area>> {
                                   return std::make_shared<Area>(node_.bounds, name.name);
                                 });
                           });
    if (!found.ok()) return done(found.status());
    Area& area = **found;
    start_(context, area,
           Done<void>([kept = *std::move(found), done = std::move(done)](Status status) mutable {
             done(std::move(status));
           }));
  }

 private:
  const StagingNode node_;
  const Start start_;
  CachedResource<Area> area_;
};

template <class Area, class Start>
KernelFactory staging_kernel(Start start) {
  return [start](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(StagingNode node, StagingNode::read(spec));
    return std::unique_ptr<Kernel>(
        std::make_unique<StagingKernel<Area, Start>>(std::move(node), start));
  };
}

// --- between nodes and tuples ---

// The inputs from `first` on; they outlive the step.
Result<StagedTuple> staged_inputs(KernelContext& context, int first) {
  StagedTuple tuple;
  for (int i = first; i < context.num_inputs(); ++i) {
    MR_ASSIGN(Tensor kept, context.take_input(i).kept());
    tuple.push_back(std::move(kept));
  }
  return tuple;
}

Status staged_outputs(KernelContext& context, StagedTuple tuple, int first) {
  const auto wanted = static_cast<size_t>(context.num_outputs() - first);
  if (tuple.size() != wanted)
    return invalid("Mismatch stage/unstage: ", tuple.size(), " vs. ", wanted);
  for (size_t i = 0; i < tuple.size(); ++i) {
    const int slot = first + static_cast<int>(i);
    if (tuple[i].dtype() != context.output_dtype(slot)) {
      return invalid("Mismatch stage/unstage: component ", i, " is ", dtype_name(tuple[i].dtype()),
                     ", and '", context.node_name(), "' takes ",
                     dtype_name(context.output_dtype(slot)));
    }
    context.set_output(slot, std::move(tuple[i]));
  }
  return {};
}

Done<StagedTuple> give_tuple(KernelContext& context, Done<void> done) {
  return Done<StagedTuple>([&context, done = std::move(done)](Result<StagedTuple> tuple) mutable {
    done(tuple.ok() ? staged_outputs(context, *std::move(tuple), 0) : tuple.status());
  });
}

Done<StagedPieces> give_pieces(KernelContext& context, int first, Done<void> done) {
  return Done<StagedPieces>(
      [&context, first, done = std::move(done)](Result<StagedPieces> pieces) mutable {
        if (!pieces.ok()) return done(pieces.status());
        if (first == 1) context.set_output(0, Tensor::scalar(pieces->key));
        done(staged_outputs(context, std::move(pieces->tensors), first));
      });
}

// --- ops on areas ---

void put_tuple(KernelContext& context, StagingArea& area, Done<void> done) {
  auto tuple = staged_inputs(context, 0);
  if (!tuple.ok()) return done(tuple.status());
  area.put(*std::move(tuple), context.step().cancellation, std::move(done));
}

void take_tuple(KernelContext& context, StagingArea& area, Done<void> done) {
  area.take(context.step().cancellation, give_tuple(context, std::move(done)));
}

Result<size_t> peek_index(KernelContext& context) {
  if (!context.input(0).shape().is_scalar()) return invalid("index must be scalar");
  MR_ASSIGN(const int64_t index, read_integer(context.input(0), "index"));
  if (index < 0) return invalid("index must be at least 0, not ", index);
  return static_cast<size_t>(index);
}

void peek_tuple(KernelContext& context, StagingArea& area, Done<void> done) {
  const auto index = peek_index(context);
  if (!index.ok()) return done(index.status());
  area.peek(*index, context.step().cancellation, give_tuple(context, std::move(done)));
}

template <class Area>
void staging_size(KernelContext& context, Area& area, Done<void> done) {
  context.set_output(0, Tensor::scalar<int32_t>(area.size()));
  done({});
}

template <class Area>
void clear_staging(KernelContext&, Area& area, Done<void> done) {
  area.clear();
  done({});
}

// --- ops on maps ---

Result<StagedPieces> asked_pieces(KernelContext& context, int indices_slot) {
  StagedPieces asked;
  if (indices_slot > 0) {
    if (context.input(0).num_elements() != 1) {
      return invalid("key must be an int64 scalar, got tensor with shape: ",
                     context.input(0).shape().to_string());
    }
    MR_ASSIGN(asked.key, read_integer(context.input(0), "key"));
  }
  MR_ASSIGN(asked.indices, read_elements(context.input(indices_slot), "indices"));
  return asked;
}

void put_pieces(KernelContext& context, StagingMap& map, size_t width, Done<void> done) {
  auto pieces = asked_pieces(context, 1);
  if (!pieces.ok()) return done(pieces.status());
  auto tensors = staged_inputs(context, 2);
  if (!tensors.ok()) return done(tensors.status());
  if (tensors->size() != pieces->indices.size()) {
    return done(invalid("'", context.node_name(), "' has ", pieces->indices.size(), " indices for ",
                        tensors->size(), " values; give one for each"));
  }
  pieces->tensors = *std::move(tensors);
  map.put(*std::move(pieces), width, context.step().cancellation, std::move(done));
}

template <class Map>
Result<std::unique_ptr<Kernel>> make_put_pieces(const KernelSpec& spec) {
  MR_ASSIGN(const std::vector<DType> types, spec.attrs.types("dtypes"));
  return staging_kernel<Map>(
      [width = types.size()](KernelContext& context, Map& map, Done<void> done) {
        put_pieces(context, map, width, std::move(done));
      })(spec);
}

void take_pieces(KernelContext& context, StagingMap& map, Done<void> done) {
  auto asked = asked_pieces(context, 1);
  if (!asked.ok()) return done(asked.status());
  map.take(asked->key, std::move(asked->indices), context.step().cancellation,
           give_pieces(context, 0, std::move(done)));
}

void peek_pieces(KernelContext& context, StagingMap& map, Done<void> done) {
  auto asked = asked_pieces(context, 1);
  if (!asked.ok()) return done(asked.status());
  map.peek(asked->key, std::move(asked->indices), context.step().cancellation,
           give_pieces(context, 0, std::move(done)));
}

void take_any_pieces(KernelContext& context, StagingMap& map, Done<void> done) {
  auto asked = asked_pieces(context, 0);
  if (!asked.ok()) return done(asked.status());
  map.take_any(std::move(asked->indices), context.step().cancellation,
               give_pieces(context, 1, std::move(done)));
}

void incomplete_pieces(KernelContext& context, StagingMap& map, Done<void> done) {
  context.set_output(0, Tensor::scalar<int32_t>(map.incomplete_size()));
  done({});
}

// --- the list ---

// The attributes that all have, with those that say what tuples are made of.
std::string staging_attrs(std::string_view types) {
  return str_cat("capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, ", types,
                 ", container: string = '', shared_name: string = ''");
}
constexpr std::string_view kTuple = "dtypes: list(type) >= 1", kAnyTuple = "dtypes: list(type)";

Status infer_taken_key(InferContext& context) {
  context.set_output(0, PartialShape::scalar());
  return {};
}

Status add_staging_op(OpRegistry& ops, std::string name, std::string doc, std::string arguments,
                      std::string_view types, InferFn infer, KernelFactory cpu) {
  OpDef op =
      stateful_op(std::move(name), std::move(doc), str_cat(arguments, " | ", staging_attrs(types)),
                  std::move(infer), std::move(cpu), Cost::cheap);
  op.not_differentiable = "what it gives depends on what came when, not on its inputs alone";
  return ops.add(std::move(op));
}

Status add_staging_area(OpRegistry& ops) {
  MR_TRY(add_staging_op(ops, "Stage", "Puts a tuple into a staging area; waits until it has room.",
                        "values: dtypes ->", kTuple, infer::no_outputs,
                        staging_kernel<StagingArea>(put_tuple)));
  MR_TRY(add_staging_op(ops, "Unstage", "Takes the oldest tuple of a staging area; waits for one.",
                        "-> values: dtypes", kTuple, infer::unknown,
                        staging_kernel<StagingArea>(take_tuple)));
  MR_TRY(add_staging_op(ops, "StagePeek",
                        "The tuple at an index, oldest first, which stays; waits for it.",
                        "index: int32 -> values: dtypes", kTuple, infer::unknown,
                        staging_kernel<StagingArea>(peek_tuple)));
  MR_TRY(add_staging_op(ops, "StageSize", "How many tuples are staged.", "-> size: int32",
                        kAnyTuple, infer::scalar,
                        staging_kernel<StagingArea>(staging_size<StagingArea>)));
  return add_staging_op(ops, "StageClear", "Drops all tuples.", "->", kAnyTuple, infer::no_outputs,
                        staging_kernel<StagingArea>(clear_staging<StagingArea>));
}

template <class Map>
Status add_staging_map(OpRegistry& ops, const std::string& prefix) {
  const auto add = [&](const std::string& suffix, std::string doc, std::string arguments,
                       std::string_view types, InferFn infer, KernelFactory cpu) {
    return add_staging_op(ops, prefix + suffix, std::move(doc), std::move(arguments), types,
                          std::move(infer), std::move(cpu));
  };
  MR_TRY(add("Stage",
             "Puts components of the tuple of a key into a map; the tuple can be taken once all "
             "are there. Waits until the map has room.",
             "key: int64, indices: int32, values: fake_dtypes ->",
             "dtypes: list(type), fake_dtypes: list(type) >= 1", infer::no_outputs,
             make_put_pieces<Map>));
  MR_TRY(add("Unstage", "Takes components of the tuple of a key; waits for it.",
             "key: int64, indices: int32 -> values: dtypes", kTuple, infer::unknown,
             staging_kernel<Map>(take_pieces)));
  MR_TRY(add("UnstageNoKey",
             prefix == "Map" ? "Takes components of any tuple, with its key; waits for one."
                             : "Takes components of the tuple of the least key; waits for one.",
             "indices: int32 -> key: int64, values: dtypes", kTuple, infer_taken_key,
             staging_kernel<Map>(take_any_pieces)));
  MR_TRY(add("Peek", "Components of the tuple of a key, which stay; waits for it.",
             "key: int64, indices: int32 -> values: dtypes", kTuple, infer::unknown,
             staging_kernel<Map>(peek_pieces)));
  MR_TRY(add("Size", "How many tuples of the map are whole.", "-> size: int32", kAnyTuple,
             infer::scalar, staging_kernel<Map>(staging_size<Map>)));
  MR_TRY(add("IncompleteSize", "How many tuples of the map lack a component.", "-> size: int32",
             kAnyTuple, infer::scalar, staging_kernel<Map>(incomplete_pieces)));
  return add("Clear", "Drops all tuples, whole or not.", "->", kAnyTuple, infer::no_outputs,
             staging_kernel<Map>(clear_staging<Map>));
}

}  // namespace

Status register_staging(OpRegistry& ops) {
  MR_TRY(add_staging_area(ops));
  MR_TRY(add_staging_map<StagingMap>(ops, "Map"));
  return add_staging_map<OrderedStagingMap>(ops, "OrderedMap");
}

}  // namespace millrace
