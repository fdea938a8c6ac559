// Part of families.h: register_table_handles.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/tables/buckets.h"
#include "millrace/ops/tables/families.h"
#include "millrace/ops/tables/table.h"

namespace millrace {
namespace {

// Types whose elements are bytes or strings.
bool can_be_in_tables(DType dtype) {
  return dtype == DType::string || (dtype != DType::resource && dtype != DType::variant);
}

constexpr std::string_view kAnonymous = "Anonymous";

// What a table's node says; the keys that a dense one sets aside are inputs.
struct TableNode {
  using Kind = Table;
  TableSpec spec;
  bool is_named_by_node = false;

  static Result<TableNode> read(const KernelSpec& node) {
    std::string_view op = node.attrs.op().name;
    const bool is_anonymous = op.starts_with(kAnonymous);
    if (is_anonymous) op.remove_prefix(kAnonymous.size());
    TableNode made;
    TableSpec& spec = made.spec;
    MR_ASSIGN(spec.key, node.attrs.type("key_dtype"));
    MR_ASSIGN(spec.value, node.attrs.type("value_dtype"));
    if (!is_anonymous) {
      MR_ASSIGN(made.is_named_by_node, node.attrs.boolean("use_node_name_sharing"));
    }
    if (!can_be_in_tables(spec.key) || !can_be_in_tables(spec.value)) {
      return unimplemented(op, " '", node.node_name, "' is from ", dtype_name(spec.key), " to ",
                           dtype_name(spec.value), "; tables hold numbers, bools and strings");
    }
    if (op.starts_with("HashTable")) return made;
    spec.kind = op.starts_with("MutableDense") ? TableSpec::Kind::dense : TableSpec::Kind::changing;
    if (spec.kind == TableSpec::Kind::changing && op.find("OfTensors") == std::string_view::npos)
      return made;
    MR_TRY(made.read_value_shape(node));
    if (spec.kind == TableSpec::Kind::dense) MR_TRY(made.read_buckets(node));
    return made;
  }

  Result<std::shared_ptr<Table>> make(const std::string& name, KernelContext& context) const {
    TableSpec own = spec;
    if (own.kind == TableSpec::Kind::dense) MR_TRY(read_keys(context, own));
    return std::make_shared<Table>(std::move(own), name);
  }
  Status check(const Table& found) const {
    TableSpec own = spec;
    // Known only when the kernel runs, and then of the one that was made first.
    if (own.kind == TableSpec::Kind::dense) own.key_shape = found.spec().key_shape;
    return found.check_same(own);
  }
  bool shares_node_name() const { return is_named_by_node; }

 private:
  Status read_value_shape(const KernelSpec& node) {
    MR_ASSIGN(const PartialShape shape, node.attrs.shape("value_shape"));
    const bool is_dense = spec.kind == TableSpec::Kind::dense;
    if (!shape.to_shape() || shape.rank() > 1 || (!is_dense && shape.rank() != 1)) {
      return invalid(is_dense ? "Empty value must be a scalar or a vector, got shape "
                              : "Default value must be a vector, got shape ",
                     shape.to_string());
    }
    spec.value_shape = *shape.to_shape();
    return {};
  }
  // Of a dense table: how it is exported.
  Status read_buckets(const KernelSpec& node) {
    MR_ASSIGN(spec.most_full, node.attrs.real("max_load_factor"));
    MR_ASSIGN(spec.buckets, node.attrs.integer("initial_num_buckets"));
    if (!(spec.most_full > 0 && spec.most_full < 1))
      return invalid("max_load_factor must be between 0 and 1, got: ", spec.most_full);
    if (can_be_buckets(spec.buckets)) return {};
    return invalid("Number of buckets must be at least 4 and a power of 2, got: ", spec.buckets);
  }
  static Status read_keys(KernelContext& context, TableSpec& spec) {
    MR_ASSIGN(spec.empty_key, context.input(0).kept());
    spec.key_shape = spec.empty_key->shape();
    if (spec.key_shape.rank() > 1) {
      return invalid("Empty key must be a scalar or a vector, got shape ",
                     spec.key_shape.to_string());
    }
    if (context.num_inputs() < 2) return {};
    MR_ASSIGN(spec.deleted_key, context.input(1).kept());
    if (spec.deleted_key->shape() != spec.key_shape) {
      return invalid("Empty and deleted keys must have same shape, got shapes: ",
                     spec.key_shape.to_string(), " and ", spec.deleted_key->shape().to_string());
    }
    if (*spec.deleted_key == *spec.empty_key)
      return invalid("Empty and deleted keys cannot be equal");
    return {};
  }
};

// What ends with the step: a table that only a handle of this step names.
class TableOfStep final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "table of a step";
  TableOfStep(ResourceStore& resources, std::string name)
      : resources_(resources), name_(std::move(name)) {}
  ~TableOfStep() override { (void)resources_.remove<Table>("", name_); }
  std::string description() const override { return str_cat("the end of table '", name_, "'"); }

 private:
  ResourceStore& resources_;  // the device's, which outlives the step
  const std::string name_;
};

// A new table each time, without a name that others could find it by.
Status make_anonymous(KernelContext& context, const TableNode& node) {
  ResourceStore& resources = *context.step().device->resources;
  const std::string name = resources.private_name("anonymous_table");
  MR_ASSIGN(std::shared_ptr<Table> table, node.make(name, context));
  MR_TRY(resources.add<Table>("", name, std::move(table)));
  MR_TRY(context.step().step_resources->add<TableOfStep>(
      "", name, std::make_shared<TableOfStep>(resources, name)));
  context.set_output(0, Tensor::scalar(make_handle(context, {"", name}, Table::kTypeName)));
  return {};
}

struct BoundTableNode {
  Result<TableNode> read(const KernelSpec& spec) const { return TableNode::read(spec); }
};

struct TableKind {
  std::string name, doc, attrs;
  bool is_dense = false;
};

Status add_table(OpRegistry& ops, const TableKind& kind) {
  const std::string named =
      "container: string = '', shared_name: string = '', use_node_name_sharing: bool = false, "
      "key_dtype: type, value_dtype: type";
  for (const bool v2 : {true, false}) {
    // The form of before TensorFlow 1.0 has no way to say which keys were deleted.
    const std::string keys = !kind.is_dense ? ""
                             : v2           ? "empty_key: key_dtype, deleted_key: key_dtype "
                                            : "empty_key: key_dtype ";
    OpDef op = stateful_op(kind.name + (v2 ? "V2" : ""), kind.doc,
                           str_cat(keys, "-> table_handle: ", v2 ? "resource" : "ref(string)",
                                   " | ", named, kind.attrs),
                           v2 ? InferFn(infer::scalar) : InferFn(infer_handle_strings),
                           kernel_class<ResourceHandleKernel<TableNode>>(), Cost::cheap);
    op.not_differentiable = "its result is a handle";
    MR_TRY(ops.add(std::move(op)));
  }
  OpDef op = stateful_op(
      str_cat(kAnonymous, kind.name), str_cat(kind.doc, " It ends with the step that made it."),
      str_cat(kind.is_dense ? "empty_key: key_dtype, deleted_key: key_dtype " : "",
              "-> table_handle: resource | key_dtype: type, value_dtype: type", kind.attrs),
      infer::scalar, kernel_with(make_anonymous, BoundTableNode()), Cost::cheap);
  op.not_differentiable = "its result is a handle";
  return ops.add(std::move(op));
}

}  // namespace

Status register_table_handles(OpRegistry& ops) {
  MR_TRY(add_table(
      ops,
      {"HashTable", "A table from keys to values that is filled once and then looked up.", ""}));
  MR_TRY(add_table(ops, {"MutableHashTable", "A table from keys to values that may change.", ""}));
  MR_TRY(add_table(ops, {"MutableHashTableOfTensors",
                         "A table from keys to vectors of one size that may change.",
                         ", value_shape: shape = []"}));
  return add_table(ops, {"MutableDenseHashTable",
                         "A table that may change, with two keys set aside; keys may be vectors.",
                         ", value_shape: shape = [], initial_num_buckets: int = 131072, "
                         "max_load_factor: float = 0.8",
                         true});
}

}  // namespace millrace
