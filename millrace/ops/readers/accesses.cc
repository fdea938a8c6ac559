// Part of families.h: register_reader_accesses.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/ops/readers/families.h"
#include "millrace/ops/readers/reading.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

class ReadKernel final : public Kernel {
 public:
  enum class What : uint8_t { one, up_to };

  explicit ReadKernel(What what) : what_(what) {}
  static KernelFactory of(What what) {
    return [what](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
      return std::unique_ptr<Kernel>(std::make_unique<ReadKernel>(what));
    };
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto reader = reader_.find(context);
    if (!reader.ok()) return done(reader.status());
    auto queue = queue_.find(context, 1);
    if (!queue.ok()) return done(queue.status());
    const auto wanted = records_wanted(context);
    if (!wanted.ok()) return done(wanted.status());
    Done<ReadRecords> deliver(
        [&context, what = what_, done = std::move(done)](Result<ReadRecords> records) mutable {
          if (!records.ok()) return done(records.status());
          if (what == What::one) {
            context.set_output(0, Tensor::scalar(std::move(records->keys[0])));
            context.set_output(1, Tensor::scalar(std::move(records->values[0])));
          } else {
            context.set_output(0, Tensor::vector<std::string>(records->keys));
            context.set_output(1, Tensor::vector<std::string>(records->values));
          }
          done({});
        });
    if (*wanted == 0) return deliver(ReadRecords());
    std::make_shared<Reading>(context, *std::move(reader), *std::move(queue), *wanted,
                              std::move(deliver))
        ->start();
  }

 private:
  Result<size_t> records_wanted(KernelContext& context) const {
    if (what_ == What::one) return size_t{1};
    const Tensor& count = context.input(2);
    if (!count.shape().is_scalar())
      return invalid("num_records must be a scalar, but has shape ", count.shape().to_string());
    const int64_t wanted = count.item<int64_t>();
    if (wanted < 0) return invalid("num_records must be >= 0 not ", wanted);
    return static_cast<size_t>(wanted);
  }

  const What what_;
  ResourceInput<Reader> reader_;
  ResourceInput<Queue> queue_;
};

// A kernel that has a turn at the reader: use(context, reader) -> Status.
template <class Use>
class TurnKernel final : public Kernel {
 public:
  explicit TurnKernel(Use use) : use_(std::move(use)) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto found = input_.find(context);
    if (!found.ok()) return done(found.status());
    Reader& reader = **found;
    reader.wait_for_turn(context.step().cancellation,
                         Done<void>([&context, use = use_, found = *std::move(found),
                                     done = std::move(done)](Status status) mutable {
                           if (status.ok()) {
                             const ReaderTurn turn(found);
                             status = use(context, *found);
                           }
                           done(std::move(status));
                         }));
  }

 private:
  const Use use_;
  ResourceInput<Reader> input_;
};

template <class Use>
KernelFactory in_turn(Use use) {
  return [use](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<TurnKernel<Use>>(use));
  };
}

Status count_produced(KernelContext& context, Reader& reader) {
  context.set_output(0, Tensor::scalar(reader.counts().produced));
  return {};
}

Status count_completed(KernelContext& context, Reader& reader) {
  context.set_output(0, Tensor::scalar(reader.counts().finished));
  return {};
}

Status save_reader(KernelContext& context, Reader& reader) {
  MR_ASSIGN(std::string state, reader.saved());
  context.set_output(0, Tensor::scalar(std::move(state)));
  return {};
}

Status restore_reader(KernelContext& context, Reader& reader) {
  const Tensor& state = context.input(1);
  if (!state.shape().is_scalar())
    return invalid("Reader state must be scalar, but had shape: ", state.shape().to_string());
  return reader.restore(state.item<std::string>());
}

Status reset_reader(KernelContext&, Reader& reader) {
  reader.reset();
  return {};
}

Status infer_keys_and_values(InferContext& context) {
  context.set_output(0, PartialShape::of_rank(1));
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

struct ReaderAccess {
  std::string name, doc;
  bool has_queue;
  std::string inputs, outputs;  // of the signature, after the handles
  KernelFactory cpu;
  InferFn infer;
};

// V2 takes resource handles, V1 references to strings.
Status add_reader_access(OpRegistry& ops, const ReaderAccess& access) {
  for (const bool v2 : {true, false}) {
    const std::string handle = v2 ? "resource" : "ref(string)";
    const std::string queue = access.has_queue ? ", queue_handle: " + handle : "";
    OpDef op = stateful_op(
        access.name + (v2 ? "V2" : ""), access.doc,
        str_cat("reader_handle: ", handle, queue, access.inputs, " -> ", access.outputs),
        access.infer, access.cpu, Cost::cheap);
    op.not_differentiable = "what a reader gives comes from files";
    MR_TRY(ops.add(std::move(op)));
  }
  return {};
}

}  // namespace

Status register_reader_accesses(OpRegistry& ops) {
  const std::vector<ReaderAccess> accesses = {
      {"ReaderRead",
       "The next record; waits for the name of a file if it is done with the last. The queue "
       "closed "
       "and empty: OUT_OF_RANGE.",
       true, "", "key: string, value: string", ReadKernel::of(ReadKernel::What::one),
       infer::scalar},
      {"ReaderReadUpTo", "The next records of one file, up to num_records; fewer at its end.", true,
       ", num_records: int64", "keys: string, values: string",
       ReadKernel::of(ReadKernel::What::up_to), infer_keys_and_values},
      {"ReaderNumRecordsProduced", "How many records it has given.", false, "",
       "records_produced: int64", resource_kernel<Reader>(count_produced), infer::scalar},
      {"ReaderNumWorkUnitsCompleted", "How many files it is done with.", false, "",
       "units_completed: int64", resource_kernel<Reader>(count_completed), infer::scalar},
      {"ReaderReset", "Makes it as new; waits until nobody reads.", false, "", "",
       in_turn(reset_reader), infer::no_outputs},
      {"ReaderSerializeState",
       "What ReaderRestoreState takes; of readers that give each file whole.", false, "",
       "state: string", in_turn(save_reader), infer::scalar},
      {"ReaderRestoreState", "Puts a reader where it was when its state was taken.", false,
       ", state: string", "", in_turn(restore_reader), infer::no_outputs},
  };
  for (const ReaderAccess& access : accesses) MR_TRY(add_reader_access(ops, access));
  return {};
}

}  // namespace millrace
