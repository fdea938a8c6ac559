// Part of families.h: register_checks.
#include <atomic>
#include <cmath>
#include <cstdio>

#include "millrace/op/blocking.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/flow/families.h"
#include "millrace/ops/loops/forward.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/string_format.h"

namespace millrace {
namespace {

// "[1 2] [text]": the inputs from `begin` on.
std::string all_values(const KernelContext& context, int begin, int64_t summarize) {
  std::string text;
  for (int slot = begin; slot < context.num_inputs(); ++slot) {
    if (slot > begin) text += " ";
    str_append(&text, "[", summary(context.input(slot), summarize), "]");
  }
  return text;
}

Status assert_true(KernelContext& context, int64_t summarize) {
  const Tensor& condition = context.input(0);
  if (!condition.shape().is_scalar())
    return invalid("In[0] should be a scalar: ", condition.shape().to_string());
  if (condition.item<bool>()) return {};
  return invalid("assertion failed: ", all_values(context, 1, summarize));
}

// Who reads the stream may stop doing so: no thread of the pool waits for that.
void print(KernelContext& context, std::FILE* file, std::string line, Done<void> done) {
  run_blocking(
      context,
      [file, line = std::move(line)]() -> Status {
        // One call, so that lines of several threads stay whole.
        std::fwrite(line.data(), 1, line.size(), file);
        std::fflush(file);
        return {};
      },
      std::move(done));
}

class PrintKernel final : public Kernel {
 public:
  PrintKernel(std::string message, int64_t first_n, int64_t summarize)
      : message_(std::move(message)), first_n_(first_n), summarize_(summarize) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    const bool prints = first_n_ < 0 || printed_.fetch_add(1, std::memory_order_relaxed) < first_n_;
    std::string line = prints ? str_cat(message_, all_values(context, 1, summarize_), "\n") : "";
    forward(context, 0, 0);
    if (!prints) return done(Status());
    print(context, stderr, std::move(line), std::move(done));
  }

 private:
  const std::string message_;
  const int64_t first_n_, summarize_;
  std::atomic<int64_t> printed_{0};
};

// Adds to a file, which others may print to at the same time.
void print_to_file(KernelContext& context, std::string path, std::string line, Done<void> done) {
  const Result<Files*> files = files_of(context);
  if (!files.ok()) return done(files.status());
  run_blocking(
      context,
      [files = *files, path = std::move(path), line = std::move(line)]() -> Status {
        MR_ASSIGN(const std::unique_ptr<WritableFile> file, files->append_to(path));
        MR_TRY(file->append(line));
        return file->flush();
      },
      std::move(done));
}

constexpr std::string_view kFileStream = "file://";

class PrintTextKernel final : public Kernel {
 public:
  PrintTextKernel(std::FILE* file, std::string path, std::string end)
      : file_(file), path_(std::move(path)), end_(std::move(end)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(const std::string stream, spec.attrs.string("output_stream"));
    MR_ASSIGN(std::string end, spec.attrs.string("end"));
    const bool is_log = stream.starts_with("log(");
    if (stream.starts_with(kFileStream)) {
      return std::unique_ptr<Kernel>(std::make_unique<PrintTextKernel>(
          nullptr, stream.substr(kFileStream.size()), std::move(end)));
    }
    if (stream != "stdout" && stream != "stderr" && !is_log) {
      return invalid(
          "Unknown output stream '", stream,
          "'; valid ones are stdout, stderr, log(info), log(warning), log(error) and file://PATH");
    }
    std::FILE* const file = stream == "stdout" ? stdout : stderr;
    return std::unique_ptr<Kernel>(
        std::make_unique<PrintTextKernel>(file, "", is_log ? "\n" : std::move(end)));
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    if (!context.input(0).shape().is_scalar()) {
      return done(invalid("Input is expected to be scalar, but got ",
                          context.input(0).shape().to_string()));
    }
    std::string line = context.input(0).item<std::string>() + end_;
    if (file_ == nullptr) return print_to_file(context, path_, std::move(line), std::move(done));
    print(context, file_, std::move(line), std::move(done));
  }

 private:
  std::FILE* const file_;  // null: the file at path_
  const std::string path_;
  const std::string end_;
};

// --- CheckNumerics ---

struct Found {
  bool nan = false, infinity = false, below = false;  // below: -Inf
};
using FindLoop = Found (*)(const Tensor& tensor);

template <class T>
Found find_abnormal(const Tensor& tensor) {
  Found found;
  for (const T& value : tensor.flat<T>()) {
    const auto x = static_cast<cpu::Math<T>>(value);
    found.nan |= std::isnan(x);
    found.infinity |= std::isinf(x) && x > 0;
    found.below |= std::isinf(x) && x < 0;
  }
  return found;
}

Status check_numerics(KernelContext& context, FindLoop find, const std::string& message) {
  const Found found = find(context.input(0));
  const bool is_infinite = found.infinity || found.below;
  if (!found.nan && !is_infinite) return forward_first(context);
  const std::string_view what = found.nan && is_infinite ? "Inf and NaN"
                                : found.nan              ? "NaN"
                                                         : "Inf";
  return invalid(message, " : Tensor had ", what, " values");
}

// The same with the infinities told apart.
Status check_numerics_v2(KernelContext& context, FindLoop find, const std::string& message) {
  const Found found = find(context.input(0));
  std::vector<std::string_view> what;
  if (found.below) what.push_back("-Inf");
  if (found.infinity) what.push_back("+Inf");
  if (found.nan) what.push_back("NaN");
  if (what.empty()) return forward_first(context);
  std::string told(what[0]);
  for (size_t i = 1; i < what.size(); ++i) {
    const bool is_last = i + 1 == what.size();
    str_append(&told, what.size() > 2 ? "," : "", is_last ? " and " : " ", what[i]);
  }
  return invalid(message, " : Tensor had ", told, " values");
}

// What arrives is checked, too.
Status check_gradient_by(GradContext& g, std::string_view op) {
  const std::string message = "Not a number (NaN) or infinity (Inf) values detected in gradient.";
  g.set_input_grad(0, g.add(op, {g.grad()}, {{"message", message}}));
  return {};
}
Status check_gradient(GradContext& g) { return check_gradient_by(g, "CheckNumerics"); }
Status check_gradient_v2(GradContext& g) { return check_gradient_by(g, "CheckNumericsV2"); }

}  // namespace

Status register_checks(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Assert",
      .doc = "Fails with the values of data if condition is false.",
      .signature = "condition: bool, data: T -> | T: list(type) >= 1, summarize: int = 3",
      .infer = infer::no_outputs,
      .cpu = kernel_with(assert_true, integer("summarize")),
      .not_differentiable = "it gives nothing",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
      .examples = {"true, [1 2] -> | T = {float}"},
  }));
  MR_TRY(ops.add({
      .name = "Print",
      .doc =
          "Its input, unchanged; writes message and the values of data to standard error, in the "
          "first first_n runs.",
      .signature = "input: T, data: U -> output: T | T: type, U: list(type) >= 0, "
                   "message: string = '', first_n: int = -1, summarize: int = 3",
      .infer = infer::same_as_input,
      .cpu = kernel_from<PrintKernel>(text("message"), integer("first_n"), integer("summarize")),
      .grad = [](GradContext& g) -> Status {
        g.set_input_grad(0, g.grad());
        return {};
      },
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
      .examples = {"[1 2], [3 4] -> [1 2] | U = {float}, first_n = 0"},
  }));
  MR_TRY(ops.add({
      .name = "PrintV2",
      .doc = "Writes a string and end to a stream of this process, or adds them to the file of "
             "file://PATH.",
      .signature = "input: string -> | output_stream: string = 'stderr', end: string = '\n'",
      .infer = infer::no_outputs,
      .cpu = kernel_class<PrintTextKernel>(),
      .not_differentiable = "it gives nothing",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "CheckNumericsV2",
      .doc =
          "Its input, unchanged; fails with message, and which they are, if elements are infinite "
          "or not numbers.",
      .signature = "tensor: T -> output: T | T: floating, message: string",
      .infer = infer::same_as_input,
      .cpu = kernel_with(check_numerics_v2, cpu::loop_of_input<cpu::Floating>([]<class T>() {
                           return &find_abnormal<T>;
                         }),
                         text("message")),
      .grad = check_gradient_v2,
      .stateful = true,
      .foldable = false,
      .examples = {"[1 -2] -> [1 -2] | message = 'm'"},
  }));
  return ops.add({
      .name = "CheckNumerics",
      .doc = "Its input, unchanged; fails with message if an element is infinite or not a number.",
      .signature = "tensor: T -> output: T | T: floating, message: string",
      .infer = infer::same_as_input,
      .cpu = kernel_with(check_numerics, cpu::loop_of_input<cpu::Floating>([]<class T>() {
                           return &find_abnormal<T>;
                         }),
                         text("message")),
      .grad = check_gradient,
      .stateful = true,
      .foldable = false,
      .examples = {"[1 -2] -> [1 -2] | message = 'm'"},
  });
}

}  // namespace millrace
