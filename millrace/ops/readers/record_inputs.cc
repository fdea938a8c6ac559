// Part of families.h: register_record_inputs: RecordInput, records of files without a queue.
#include <atomic>
#include <utility>

#include "millrace/op/blocking.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/readers/families.h"
#include "millrace/ops/readers/record_source.h"
#include "millrace/ops/state/awaited.h"

namespace millrace {
namespace {

// The records of a batch are in memory before it is a tensor.
constexpr int64_t kLargestBatch = 1 << 20;

// A source, at which one step reads at a time; the others wait without a thread.
struct SharedRecords {
  explicit SharedRecords(RecordSourceSpec spec) : source(std::move(spec)) {}
  ~SharedRecords() { is_taken.close(cancelled("RecordInput was dropped")); }

  RecordSource source;  // touched by whose turn it is
  Awaited<bool> is_taken{Turns::in_order, false};
};

// Gives the turn to who waits next, when nobody knows of it any more: the disk may answer long
// after its step has ended.
class RecordTurn {
 public:
  explicit RecordTurn(std::shared_ptr<SharedRecords> records) : records_(std::move(records)) {}
  ~RecordTurn() {
    (void)records_->is_taken.change([](bool& is_taken) { return is_taken = false; });
  }
  RecordTurn(const RecordTurn&) = delete;
  RecordTurn& operator=(const RecordTurn&) = delete;

  RecordSource& source() { return records_->source; }
  std::vector<std::string> read;
  std::atomic<bool> is_abandoned{false};

 private:
  const std::shared_ptr<SharedRecords> records_;
};

class RecordInputKernel final : public Kernel {
 public:
  RecordInputKernel(RecordSourceSpec spec, int64_t batch)
      : records_(std::make_shared<SharedRecords>(std::move(spec))), batch_(batch) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& node) {
    RecordSourceSpec spec;
    MR_ASSIGN(spec.pattern, node.attrs.string("file_pattern"));
    MR_ASSIGN(spec.seed, node.attrs.integer("file_random_seed"));
    MR_ASSIGN(spec.shift, node.attrs.real("file_shuffle_shift_ratio"));
    MR_ASSIGN(spec.buffer, node.attrs.integer("file_buffer_size"));
    MR_ASSIGN(spec.open_files, node.attrs.integer("file_parallelism"));
    MR_ASSIGN(const int64_t batch, node.attrs.integer("batch_size"));
    MR_ASSIGN(const std::string packing, node.attrs.string("compression_type"));
    MR_ASSIGN(spec.packing, io::packing_of(packing));
    MR_TRY(spec.check());
    if (batch < 1 || batch > kLargestBatch)
      return invalid("batch_size must be from 1 to ", kLargestBatch, ", not ", batch);
    return std::unique_ptr<Kernel>(std::make_unique<RecordInputKernel>(std::move(spec), batch));
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    records_->is_taken.attempt(
        [](bool& is_taken) -> std::optional<Status> {
          if (is_taken) return std::nullopt;
          is_taken = true;
          return Status();
        },
        context.step().cancellation, cancelled("RecordInput was cancelled").as_consequence(),
        Done<void>([&context, records = records_, batch = batch_,
                    done = std::move(done)](Status status) mutable {
          if (!status.ok()) return done(std::move(status));
          read(context, std::make_shared<RecordTurn>(std::move(records)), batch, std::move(done));
        }));
  }

 private:
  static void read(KernelContext& context, std::shared_ptr<RecordTurn> turn, int64_t batch,
                   Done<void> done) {
    const Result<Files*> files = files_of(context);
    if (!files.ok()) return done(files.status());
    run_blocking(
        context,
        [turn, batch, files = *files]() -> Status {
          for (int64_t i = 0; i < batch && !turn->is_abandoned; ++i) {
            MR_ASSIGN(std::string record, turn->source().next(*files));
            turn->read.push_back(std::move(record));
          }
          return {};
        },
        Done<void>([&context, turn, done = std::move(done)](Status status) mutable {
          turn->is_abandoned = true;
          if (!status.ok()) return done(std::move(status));
          const std::vector<std::string> all = std::move(turn->read);
          turn.reset();
          context.set_output(0, Tensor::vector<std::string>(all));
          done({});
        }));
  }

  const std::shared_ptr<SharedRecords> records_;
  const int64_t batch_;
};

Status infer_records(InferContext& context) {
  MR_ASSIGN(const int64_t batch, context.attrs().integer("batch_size"));
  context.set_output(0, {batch < 1 ? kUnknownDim : batch});
  return {};
}

}  // namespace

Status register_record_inputs(OpRegistry& ops) {
  return ops.add({
      .name = "RecordInput",
      .doc = "Records of all files that a pattern stands for, epoch after epoch, drawn from a "
             "buffer: each comes once in an epoch, in another order each time.",
      .signature = "-> records: string | file_pattern: string, file_random_seed: int = 301, "
                   "file_shuffle_shift_ratio: float = 0, file_buffer_size: int = 10000, "
                   "file_parallelism: int = 16, batch_size: int = 32, "
                   "compression_type: string = ''",
      .infer = infer_records,
      .cpu = kernel_class<RecordInputKernel>(),
      .not_differentiable = "it has no inputs",
      .stateful = true,
      .foldable = false,
  });
}

}  // namespace millrace
