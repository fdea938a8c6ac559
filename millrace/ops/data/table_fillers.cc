// Part of families.h: register_table_fillers: a table's keys and values from a dataset.
#include <algorithm>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/data/dataset.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/iterator.h"
#include "millrace/ops/data/iterator_node.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/tables/table.h"

namespace millrace::data {
namespace {

// Elements of tensors, gathered into a vector that grows.
class Gathered {
 public:
  explicit Gathered(DType dtype) : dtype_(dtype) {}
  Status append(const Tensor& from) {
    const int64_t needed = count_ + from.num_elements();
    if (needed > room()) {
      MR_ASSIGN(Tensor larger, Tensor::allocate(dtype_, {std::max(needed, 2 * room() + 64)}));
      if (count_ > 0) copy_elements(dtype_, all_.data(), larger.mutable_data(), count_);
      all_ = std::move(larger);
    }
    MR_ASSIGN(Tensor target, all_.rows(count_, needed));
    copy_elements(dtype_, from.data(), target.mutable_data(), from.num_elements());
    count_ = needed;
    return {};
  }
  Result<Tensor> take() {
    if (!all_.has_value()) return Tensor::allocate(dtype_, {0});
    return std::exchange(all_, {}).rows(0, count_);
  }

 private:
  int64_t room() const { return all_.has_value() ? all_.num_elements() : 0; }
  const DType dtype_;
  Tensor all_;
  int64_t count_ = 0;
};

// One element: all keys, and all values.
class GatheringEntries final : public DatasetIterator {
 public:
  GatheringEntries(IteratorPtr input, const std::vector<DType>& types)
      : input_(std::move(input)), keys_(types[0]), values_(types[1]) {}
  Result<Next> next(Pull& pull, Element* result) override {
    if (is_over_) return Next::end;
    for (;;) {
      Element element;
      MR_ASSIGN(const Next next, input_->next(pull, &element));
      if (next == Next::pending) return next;
      if (next == Next::end) break;
      if (element[0].num_elements() != element[1].num_elements()) {
        return invalid("an element of the dataset has keys of shape ",
                       element[0].shape().to_string(), " and values of shape ",
                       element[1].shape().to_string(), "; each key has one value");
      }
      MR_TRY(keys_.append(element[0]));
      MR_TRY(values_.append(element[1]));
      if (!pull.go_on()) return Next::pending;
    }
    is_over_ = true;
    MR_ASSIGN(Tensor keys, keys_.take());
    MR_ASSIGN(Tensor values, values_.take());
    *result = {std::move(keys), std::move(values)};
    return Next::element;
  }

 private:
  const IteratorPtr input_;
  Gathered keys_, values_;
  bool is_over_ = false;
};

class EntriesDataset final : public DerivedDataset {
 public:
  explicit EntriesDataset(DatasetPtr input)
      : DerivedDataset({input->components().types, {}}, input) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<GatheringEntries>(std::move(input), components().types));
  }
};

// Errors: INVALID_ARGUMENT for what can't fill the table.
Result<DatasetPtr> entries_of(const Tensor& input, const Table& table) {
  MR_ASSIGN(DatasetPtr dataset, dataset_in(input));
  const std::vector<DType>& types = dataset->components().types;
  if (types.size() != 2) {
    return invalid("a table is filled with keys and values: elements of two components, not ",
                   types.size());
  }
  if (types[0] != table.spec().key || types[1] != table.spec().value) {
    return invalid("elements are of ", dtype_name(types[0]), " and ", dtype_name(types[1]),
                   ", and the table is from ", dtype_name(table.spec().key), " to ",
                   dtype_name(table.spec().value));
  }
  if (dataset->cardinality() == kInfinite)
    return invalid("a table can't be filled with a dataset that has no end");
  return DatasetPtr(std::make_shared<EntriesDataset>(std::move(dataset)));
}

class FillTableKernel final : public Kernel {
 public:
  explicit FillTableKernel(const KernelSpec& spec) : name_(spec.node_name) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto table = table_.find(context);
    if (!table.ok()) return done(table.status());
    auto entries = entries_of(context.input(1), **table);
    if (!entries.ok()) return done(entries.status());
    auto walk = std::make_shared<Iterator>(Dataset::Components(), name_);
    const Status begun = walk->begin(*std::move(entries), machine_of(context));
    if (!begun.ok()) return done(begun);
    Iterator& walked = *walk;
    walked.next(context.step().cancellation,
                Done<Element>([table = *std::move(table), walk = std::move(walk),
                               done = std::move(done)](Result<Element> all) mutable {
                  if (!all.ok()) return done(all.status());
                  done(table->fill((*all)[0], (*all)[1]));
                }));
  }

 private:
  const std::string name_;
  ResourceInput<Table> table_;
};

}  // namespace

Status register_table_fillers(OpRegistry& ops) {
  OpDef op = stateful_op("InitializeTableFromDataset",
                         "Fills a table, once, with the elements of a dataset: keys and values.",
                         "table_handle: resource, dataset: variant ->", infer::no_outputs,
                         kernel_class<FillTableKernel>());
  op.not_differentiable = "it gives nothing";
  return ops.add(std::move(op));
}

}  // namespace millrace::data
