// FileKernel: a kernel whose work waits for files.
//
// The work sees the device's files and its inputs, and gives its outputs. It runs where blocking is
// allowed (op/blocking.h) and may end after its step: so it has handles of its own on the inputs
// and nothing of the step.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/op/bind.h"
#include "millrace/op/kernel.h"

namespace millrace {

struct FileWorkplace {
  Files& files;
  Random& random;
  Runner* others = nullptr;  // where more of it may wait for files meanwhile; null: nowhere
};

using FileWork =
    std::function<Result<std::vector<Tensor>>(const FileWorkplace&, const std::vector<Tensor>&)>;

class FileKernel final : public Kernel {
 public:
  explicit FileKernel(FileWork work) : work_(std::move(work)) {}
  bool is_async() const override { return true; }
  // Errors: FAILED_PRECONDITION on a device without files; what the work says.
  void start(KernelContext& context, Done<void> done) override;

 private:
  const FileWork work_;
};

// .cpu = file_kernel(restore, types("dtypes")): Result<std::vector<Tensor>>(const FileWorkplace&,
// const std::vector<Tensor>& inputs, values of what is bound...).
template <class Work, Bound... B>
KernelFactory file_kernel(Work work, B... bound) {
  return [work, bound...](const KernelSpec& spec) {
    return internal_bind::read_then(
        spec,
        [&](auto&&... values) -> Result<std::unique_ptr<Kernel>> {
          return std::unique_ptr<Kernel>(std::make_unique<FileKernel>(
              [work, ... values = std::move(values)](const FileWorkplace& at,
                                                     const std::vector<Tensor>& inputs) {
                return work(at, inputs, values...);
              }));
        },
        bound...);
  };
}

// The only text of an input. Errors: INVALID_ARGUMENT naming `what` if it has more or none.
Result<std::string> scalar_text(const Tensor& tensor, std::string_view what);

}  // namespace millrace
