// Candidate samplers: TensorFlow's numbers for its seeds, and what is refused.
#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/sampling/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& sampling_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_sampling(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor classes() { return Tensor::of<int64_t>({2, 2}, {0, 1, 3, 4}); }
Tensor numbers(std::initializer_list<int64_t> values) { return Tensor::vector<int64_t>(values); }

Attrs sampling(int range, Attrs more = {}) {
  Attrs attrs{{"num_true", AttrValue(2)},
              {"num_sampled", AttrValue(4)},
              {"unique", AttrValue(true)},
              {"seed", AttrValue(7)},
              {"seed2", AttrValue(11)}};
  if (range > 0) attrs.set("range_max", range);
  for (const auto& [name, value] : more) attrs.set(name, value);
  return attrs;
}

void check_near(const Tensor& got, std::initializer_list<float> expected) {
  REQUIRE(got.num_elements() == static_cast<int64_t>(expected.size()));
  const float* element = got.flat<float>().data();
  for (const float value : expected) CHECK(*element++ == doctest::Approx(value).epsilon(1e-5));
}

std::string problem(std::string_view op, Tensor given, Attrs attrs) {
  return run_op(sampling_ops(), op, {std::move(given)}, std::move(attrs)).status().message();
}

// A node, run again and again.
class Sampler {
 public:
  Sampler(std::string_view op, Attrs attrs)
      : op_(op), kernel_(make(op, attrs, inputs_, outputs_)), attrs_(std::move(attrs)) {}

  std::vector<Value> run() {
    std::vector<Value> in{Value(classes())}, out(3);
    Bench bench(sampling_ops());
    KernelContext context(bench.step(), "node", in, out, outputs_);
    const Status status = kernel_->run(context);
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    return out;
  }

 private:
  static std::unique_ptr<Kernel> make(std::string_view name, const Attrs& attrs,
                                      std::vector<ArgType>& inputs, std::vector<ArgType>& outputs) {
    const OpDef& op = *sampling_ops().find(name);
    inputs = *resolve_args(op, op.inputs, attrs);
    outputs = *resolve_args(op, op.outputs, attrs);
    return op.cpu({"node", {op, attrs}, inputs, outputs, ""}).value();
  }

  const std::string op_;
  std::vector<ArgType> inputs_, outputs_;
  std::unique_ptr<Kernel> kernel_;
  const Attrs attrs_;
};

TEST_CASE("the same seeds draw TensorFlow's numbers, and others in the next run") {
  Sampler log("LogUniformCandidateSampler", sampling(50));
  auto drawn = log.run();
  CHECK(drawn[0].tensor == numbers({1, 7, 16, 4}));
  check_near(drawn[1].tensor, {0.70516574f, 0.41249552f, 0.22701266f, 0.18548284f});
  check_near(drawn[2].tensor, {0.41249552f, 0.11982529f, 0.05814949f, 0.18548284f});
  CHECK(log.run()[0].tensor == numbers({14, 0, 7, 4}));
  Sampler uniform("UniformCandidateSampler", sampling(13));
  CHECK(uniform.run()[0].tensor == numbers({1, 6, 12, 2}));
  drawn = uniform.run();
  CHECK(drawn[0].tensor == numbers({9, 8, 7, 10}));
  // One of the draws was a repetition.
  check_near(drawn[2].tensor, {0.3298231f, 0.3298231f, 0.3298231f, 0.3298231f});
}

TEST_CASE("classes that were true become more likely to be drawn") {
  Sampler learned("LearnedUnigramCandidateSampler", sampling(9));
  auto drawn = learned.run();
  CHECK(drawn[0].tensor == numbers({2, 8, 6, 0}));
  check_near(drawn[2].tensor, {0.44444445f, 0.44444445f, 0.44444445f, 0.44444445f});
  drawn = learned.run();
  CHECK(drawn[0].tensor == numbers({0, 4, 1, 8}));
  check_near(drawn[2].tensor, {0.63297474f, 0.63297474f, 0.63297474f, 0.38137516f});
}

TEST_CASE("weights say how likely classes are, and reserved ones never come") {
  const Attrs attrs = sampling(6, {{"unigrams", AttrValue(std::vector<float>{1, 2, 3, 4, 0.5f})},
                                   {"num_reserved_ids", AttrValue(1)},
                                   {"distortion", AttrValue(0.75f)}});
  Sampler fixed("FixedUnigramCandidateSampler", attrs);
  auto drawn = fixed.run();
  CHECK(drawn[0].tensor == numbers({2, 3, 4, 1}));
  check_near(drawn[1].tensor, {0, 0.6379722f, 0.9209980f, 0.9628216f});
  drawn = fixed.run();
  CHECK(drawn[0].tensor == numbers({3, 2, 1, 4}));
  Attrs too_many = attrs;
  too_many.set("num_sampled", 6);
  CHECK(problem("FixedUnigramCandidateSampler", classes(), too_many) ==
        "Sampler's range is too small: 6 different numbers out of 5");
}

TEST_CASE("weights come from a file, and a file that is none is named") {
  testing::MemoryFiles files;
  Bench bench(sampling_ops());
  bench.device().files = &files;
  const auto draw = [&] {
    return bench.run("FixedUnigramCandidateSampler", {classes()},
                     {.attrs = sampling(5, {{"vocab_file", "/words"}})});
  };
  CHECK(draw().status().message() == "/words; No such file or directory");
  files.contents()["/words"] = "a,1\nb,2\nc,3\nd,4\ne,0.5\n";
  CHECK(draw().ok());
  files.contents()["/words"] = "a,1\nb,many\nc,3\nd,4\ne,0.5\n";
  CHECK(draw().status().message() == "Wrong vocabulary format at line: b,many");
}

TEST_CASE("all classes, instead of some, are expected once each") {
  const Tensor four = Tensor::of<int64_t>({2, 2}, {0, 1, 3, 2});
  const auto all = run_op(sampling_ops(), "AllCandidateSampler", {four}, sampling(0)).value();
  CHECK(all[0] == numbers({0, 1, 2, 3}));
  check_near(all[1], {1, 1, 1, 1});
}

TEST_CASE("what cannot be drawn, and classes that are none, are refused") {
  CHECK(problem("UniformCandidateSampler", classes(), sampling(3)) ==
        "Sampler's range is too small: 4 different numbers out of 3");
  CHECK(problem("UniformCandidateSampler", numbers({1}), sampling(9)) ==
        "true_classes must be a matrix");
  CHECK(problem("UniformCandidateSampler", Tensor::of<int64_t>({1, 1}, {1}), sampling(9)) ==
        "true_classes must have num_true columns, expected: 1 was: 2");
  CHECK(problem("LearnedUnigramCandidateSampler", Tensor::of<int64_t>({1, 2}, {1, 9}),
                sampling(9)) == "class 9 is not in [0, 9)");
  for (const char* op : {"UniformCandidateSampler", "LogUniformCandidateSampler"})
    CHECK(problem(op, classes(), sampling(4)) == "class 4 is not in [0, 4)");
  CHECK(problem("AllCandidateSampler", classes(), sampling(0)) == "class 4 is not in [0, 4)");
  CHECK(problem("FixedUnigramCandidateSampler", classes(),
                sampling(9, {{"unigrams", AttrValue(std::vector<float>{1, 2})}})) ==
        "range_max is 9, but 0 reserved ids and 2 weights were given");
  // Fewer than none are none.
  CHECK(problem("FixedUnigramCandidateSampler", classes(),
                sampling(9, {{"num_reserved_ids", AttrValue(INT64_MIN)},
                             {"unigrams", AttrValue(std::vector<float>{1, 2})}})) ==
        "range_max is 9, but 0 reserved ids and 2 weights were given");
}

}  // namespace
}  // namespace millrace
