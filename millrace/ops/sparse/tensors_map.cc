// Part of families.h: register_sparse_tensors_maps.
//
// A map keeps sparse tensors between the step that made them and the one that takes them, under
// numbers that queues can carry. What is taken is gone.
#include "absl/container/flat_hash_map.h"

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/resource.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/pieces.h"
#include "millrace/ops/state/bound_name.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// Thread-safe.
class SparseTensorsMap final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "sparse tensors";
  explicit SparseTensorsMap(std::string name) : name_(std::move(name)) {}

  std::string description() const override {
    MutexLock lock(mutex_);
    return str_cat("SparseTensorsMap of ", pieces_.size());
  }
  // The numbers of the pieces, in their order. As in TensorFlow, those without elements are counted
  // behind the others.
  std::vector<int64_t> add(std::vector<SparsePiece> pieces) {
    std::vector<int64_t> handles(pieces.size());
    MutexLock lock(mutex_);
    for (const bool are_empty : {false, true}) {
      for (size_t i = 0; i < pieces.size(); ++i) {
        if ((pieces[i].values.num_elements() == 0) == are_empty) handles[i] = next_++;
      }
    }
    for (size_t i = 0; i < pieces.size(); ++i) pieces_.emplace(handles[i], std::move(pieces[i]));
    return handles;
  }
  // All of them, or none if one is not there.
  Result<std::vector<SparsePiece>> take(std::span<const int64_t> handles) {
    std::vector<SparsePiece> taken;
    taken.reserve(handles.size());
    MutexLock lock(mutex_);
    for (size_t i = 0; i < handles.size(); ++i) {
      const auto found = pieces_.find(handles[i]);
      if (found == pieces_.end()) {
        for (size_t before = 0; before < i; ++before)
          pieces_.emplace(handles[before], std::move(taken[before]));
        return invalid("Unable to find SparseTensor: ", handles[i], " in map: ", name_);
      }
      taken.push_back(std::move(found->second));
      pieces_.erase(found);
    }
    return taken;
  }

 private:
  const std::string name_;  // constant after construction
  mutable Mutex mutex_;
  absl::flat_hash_map<int64_t, SparsePiece> pieces_ MR_GUARDED_BY(mutex_);
  int64_t next_ MR_GUARDED_BY(mutex_) = 0;
};

class TensorsMapKernel : public Kernel {
 public:
  explicit TensorsMapKernel(ResourceName name) : name_(std::move(name)) {}

 protected:
  Result<std::shared_ptr<SparseTensorsMap>> map(KernelContext& context) {
    return found_.get(*context.step().device->resources, name_,
                      [](ResourceStore& store, const ResourceName& name) {
                        return store.find_or_create<SparseTensorsMap>(
                            name.container, name.name, [&] {
                              return Result<std::shared_ptr<SparseTensorsMap>>(
                                  std::make_shared<SparseTensorsMap>(name.name));
                            });
                      });
  }

 private:
  const ResourceName name_;
  CachedResource<SparseTensorsMap> found_;
};

// What is put in outlives the step, and so must its memory.
Status keep_pieces(std::vector<SparsePiece>& pieces) {
  for (SparsePiece& piece : pieces) {
    MR_ASSIGN(piece.indices, piece.indices.kept());
    MR_ASSIGN(piece.values, piece.values.kept());
  }
  return {};
}

class AddOneKernel final : public TensorsMapKernel {
 public:
  using TensorsMapKernel::TensorsMapKernel;
  Status run(KernelContext& context) override {
    MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::anywhere));
    MR_TRY(Shape::create(in.dims).status());
    MR_ASSIGN(const auto map, this->map(context));
    std::vector<SparsePiece> pieces = {{in.indices, in.values, in.dims}};
    MR_TRY(keep_pieces(pieces));
    context.set_output(0, Tensor::scalar(map->add(std::move(pieces)).front()));
    return {};
  }
};

class AddManyKernel final : public TensorsMapKernel {
 public:
  using TensorsMapKernel::TensorsMapKernel;
  Status run(KernelContext& context) override {
    MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::anywhere));
    MR_TRY(Shape::create(in.dims).status());
    MR_ASSIGN(const auto map, this->map(context));
    MR_ASSIGN(std::vector<SparsePiece> pieces, cut_by_rows(in));
    MR_TRY(keep_pieces(pieces));
    context.set_output(0, Tensor::vector<int64_t>(map->add(std::move(pieces))));
    return {};
  }
};

class TakeManyKernel final : public TensorsMapKernel {
 public:
  using TensorsMapKernel::TensorsMapKernel;
  Status run(KernelContext& context) override {
    const Tensor& handles = context.input(0);
    if (handles.shape().rank() != 1) {
      return invalid("sparse_handles should be a vector but received shape ",
                     handles.shape().to_string());
    }
    const int64_t number = handles.num_elements();
    if (number == 0) {
      return invalid("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    MR_ASSIGN(const auto map, this->map(context));
    MR_ASSIGN(const std::vector<SparsePiece> pieces, map->take(handles.flat<int64_t>()));
    const DType dtype = context.output_dtype(1);
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].values.dtype() == dtype) continue;
      return invalid("Requested SparseTensor of type ", dtype_name(dtype), " but SparseTensor[", i,
                     "].values.dtype() == ", dtype_name(pieces[i].values.dtype()));
    }
    for (size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i].dims.size() == pieces[0].dims.size()) continue;
      // Counted with the axis along which they are stacked.
      return invalid("Inconsistent rank across SparseTensors: rank prior to SparseTensor[", i,
                     "] was: ", pieces[0].dims.size() + 1, " but rank of SparseTensor[", i,
                     "] is: ", pieces[i].dims.size() + 1);
    }
    MR_ASSIGN(SparsePiece made, stack_pieces(pieces, std::array<int64_t, 1>{number}));
    set_piece(context, std::move(made));
    return {};
  }
};

Status infer_add_one(InferContext& context) {
  MR_TRY(infer_sparse(context));
  context.set_output(0, PartialShape::scalar());
  return {};
}

Status infer_add_many(InferContext& context) {
  MR_TRY(infer_sparse(context));
  context.set_output(0, PartialShape::of_rank(1));
  return {};
}

Status infer_take_many(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  return set_sparse(context, kUnknownDim, kUnknownDim);
}

Status add_map_op(OpRegistry& ops, OpDef op) {
  op.not_differentiable = "what a map keeps is not followed";
  return ops.add(std::move(op));
}

}  // namespace

Status register_sparse_tensors_maps(OpRegistry& ops) {
  const std::string input = "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> ";
  const std::string named = "container: string = '', shared_name: string = ''";
  MR_TRY(add_map_op(
      ops, stateful_op("AddSparseToTensorsMap",
                       "Keeps a sparse tensor in a map, under a number that is given out.",
                       str_cat(input, "sparse_handle: int64 | T: type, ", named), infer_add_one,
                       kernel_from<AddOneKernel>(BoundName()))));
  MR_TRY(add_map_op(
      ops,
      stateful_op("AddManySparseToTensorsMap",
                  "Keeps the rows of a sparse tensor along its first axis in a map, each under "
                  "a number that is given out. Its places must be in order.",
                  str_cat(input, "sparse_handles: int64 | T: type, ", named), infer_add_many,
                  kernel_from<AddManyKernel>(BoundName()))));
  return add_map_op(
      ops, stateful_op(
               "TakeManySparseFromTensorsMap",
               "Takes sparse tensors out of a map and stacks them under a new first axis; of each "
               "other size it is the largest.",
               str_cat("sparse_handles: int64 -> sparse_indices: int64, sparse_values: dtype, "
                       "sparse_shape: int64 | dtype: type, ",
                       named),
               infer_take_many, kernel_from<TakeManyKernel>(BoundName())));
}

}  // namespace millrace
