// Part of families.h: register_lookups.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/blocking.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/made_once.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/tables/families.h"
#include "millrace/ops/tables/table.h"
#include "millrace/ops/tables/text_table.h"

namespace millrace {
namespace {

Status fill(KernelContext& context, Table& table) {
  const Tensor& keys = context.input(1);
  const Tensor& values = context.input(2);
  if (keys.shape().rank() != 1)
    return invalid("Keys must be a vector, but received shape", keys.shape().to_string());
  if (values.shape().rank() != 1)
    return invalid("Values must be a vector, but received shape", values.shape().to_string());
  if (keys.num_elements() != values.num_elements()) {
    return invalid("Number of keys and values must match: ", keys.num_elements(), " keys, ",
                   values.num_elements(), " values");
  }
  MR_TRY(check_not_empty(keys));
  return table.fill(keys, values);
}

class FillFromFileKernel final : public Kernel {
 public:
  explicit FillFromFileKernel(TextTable text) : text_(std::move(text)) {}

  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    TextTable text;
    MR_ASSIGN(text.key_index, spec.attrs.integer("key_index"));
    MR_ASSIGN(text.value_index, spec.attrs.integer("value_index"));
    MR_ASSIGN(text.most_lines, spec.attrs.integer("vocab_size"));
    MR_ASSIGN(text.offset, spec.attrs.integer("offset"));
    MR_ASSIGN(const std::string delimiter, spec.attrs.string("delimiter"));
    if (delimiter.size() != 1) return invalid("delimiter should be only 1 char");
    text.delimiter = delimiter[0];
    return std::unique_ptr<Kernel>(std::make_unique<FillFromFileKernel>(std::move(text)));
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto table = input_.find(context);
    if (!table.ok()) return done(table.status());
    const Tensor& file = context.input(1);
    if (file.num_elements() != 1) {
      return done(
          invalid("filename should be a single string, but got ", file.shape().to_string()));
    }
    const Result<Files*> files = files_of(context);
    if (!files.ok()) return done(files.status());
    TextTable text = text_;
    text.file = file.item<std::string>();
    text.key = (*table)->spec().key;
    text.value = (*table)->spec().value;
    run_blocking(
        context,
        [table = *std::move(table), text = std::move(text), files = *files]() -> Status {
          MR_ASSIGN(const auto entries, text.read(*files));
          return table->fill(entries.first, entries.second);
        },
        std::move(done));
  }

 private:
  const TextTable text_;
  ResourceInput<Table> input_;
};

Status find(KernelContext& context, Table& table) {
  CancelProbe probe(context);
  return context.set_output(0, table.find(context.input(1), context.input(2), probe));
}

Status insert(KernelContext& context, Table& table) {
  return table.insert(context.input(1), context.input(2));
}
Status remove(KernelContext& context, Table& table) { return table.remove(context.input(1)); }
Status replace(KernelContext& context, Table& table) {
  return table.replace(context.input(1), context.input(2));
}
Status size(KernelContext& context, Table& table) {
  context.set_output(0, Tensor::scalar(table.size()));
  return {};
}

Status give_entries(KernelContext& context, Table& table) {
  if (context.output_dtype(0) != table.spec().key ||
      context.output_dtype(1) != table.spec().value) {
    return invalid("'", context.node_name(), "' asks for ", dtype_name(context.output_dtype(0)),
                   " and ", dtype_name(context.output_dtype(1)), ", but the table is from ",
                   dtype_name(table.spec().key), " to ", dtype_name(table.spec().value));
  }
  MR_ASSIGN(auto entries, table.exported());
  context.set_output(0, std::move(entries.first));
  context.set_output(1, std::move(entries.second));
  return {};
}

struct Lookup {
  std::string name, doc;
  std::string inputs, outputs, attrs;  // of the signature, after the handle
  KernelFactory cpu;
  InferFn infer;
  bool has_v1 = true;
};

// V2 takes a resource handle, V1 a reference to strings.
Status add_lookup(OpRegistry& ops, const Lookup& lookup) {
  for (const bool v2 : {true, false}) {
    if (!v2 && !lookup.has_v1) continue;
    const std::string attrs = lookup.attrs.empty() ? "" : " | " + lookup.attrs;
    OpDef op = stateful_op(lookup.name + (v2 ? "V2" : ""), lookup.doc,
                           str_cat("table_handle: ", v2 ? "resource" : "ref(string)", lookup.inputs,
                                   " -> ", lookup.outputs, attrs),
                           lookup.infer, lookup.cpu);
    op.not_differentiable = "what it gives is looked up, not computed";
    MR_TRY(ops.add(std::move(op)));
  }
  return {};
}

}  // namespace

Status register_lookups(OpRegistry& ops) {
  const std::string in_out = "Tin: type, Tout: type";
  const std::vector<Lookup> lookups = {
      {"InitializeTable", "Fills a table with keys and their values, once.",
       ", keys: Tkey, values: Tval", "", "Tkey: type, Tval: type", resource_kernel<Table>(fill),
       infer::no_outputs},
      {"InitializeTableFromTextFile",
       "Fills a table from the lines of a text file: keys and values are columns, whole lines "
       "(-2), or their numbers (-1).",
       ", filename: string", "",
       "key_index: int >= -2, value_index: int >= -2, vocab_size: int >= -1 = -1, "
       "delimiter: string = '\t', offset: int = 0",
       kernel_class<FillFromFileKernel>(), infer::no_outputs},
      {"LookupTableFind", "The values of keys; default_value where the table has no such key.",
       ", keys: Tin, default_value: Tout", "values: Tout", in_out, resource_kernel<Table>(find),
       infer::unknown},
      {"LookupTableInsert", "Puts values under keys, in the place of what is there.",
       ", keys: Tin, values: Tout", "", in_out, made_once(resource_kernel<Table>(insert)),
       infer::no_outputs},
      {"LookupTableRemove", "Takes keys out of a table; those it does not have are let be.",
       ", keys: Tin", "", "Tin: type", made_once(resource_kernel<Table>(remove)), infer::no_outputs,
       false},
      {"LookupTableImport",
       "Replaces all that a table has by these keys and values; one that is filled once is filled.",
       ", keys: Tin, values: Tout", "", in_out, made_once(resource_kernel<Table>(replace)),
       infer::no_outputs},
      {"LookupTableExport", "All keys and values of a table; of a dense one all buckets.", "",
       "keys: Tkeys, values: Tvalues", "Tkeys: type, Tvalues: type",
       resource_kernel<Table>(give_entries), infer::unknown},
      {"LookupTableSize", "How many keys a table has.", "", "size: int64", "",
       resource_kernel<Table>(size), infer::scalar},
  };
  for (const Lookup& lookup : lookups) MR_TRY(add_lookup(ops, lookup));
  return {};
}

}  // namespace millrace
