#include "millrace/ops/files/file_kernel.h"

#include <memory>

#include "millrace/op/blocking.h"

namespace millrace {

void FileKernel::start(KernelContext& context, Done<void> done) {
  const Result<Files*> files = files_of(context);
  if (!files.ok()) return done(files.status());
  Random* const random = context.step().device->random;
  if (random == nullptr) {
    return done(
        failed_precondition("device ", context.step().device->name, " has no random numbers"));
  }
  std::vector<Tensor> inputs;
  for (int slot = 0; slot < context.num_inputs(); ++slot) inputs.push_back(context.input(slot));
  auto made = std::make_shared<std::vector<Tensor>>();
  run_blocking(
      context,
      // The kernel may be gone before its work: a step ends without it.
      [work = work_, files = *files, random, others = context.step().blocking,
       inputs = std::move(inputs), made]() -> Status {
        MR_ASSIGN(*made, work({*files, *random, others}, inputs));
        return {};
      },
      Done<void>([&context, made, done = std::move(done)](Status status) mutable {
        if (status.ok()) {
          for (size_t slot = 0; slot < made->size(); ++slot)
            context.set_output(static_cast<int>(slot), std::move((*made)[slot]));
        }
        done(std::move(status));
      }));
}

Result<std::string> scalar_text(const Tensor& tensor, std::string_view what) {
  if (tensor.num_elements() == 1) return tensor.item<std::string>();
  return invalid("Input ", what, " should be a scalar tensor, got ", tensor.shape().to_string(),
                 " instead.");
}

}  // namespace millrace
