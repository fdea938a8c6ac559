// A small part of what the program hostile_ops does, the same each time.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "tests/hostile/hunt.h"
#include "tests/hostile/trial.h"
#include <doctest/doctest.h>

#include "millrace/op/infer.h"
#include "millrace/ops/all.h"

namespace millrace::hostile {
namespace {

const OpRegistry& every_op() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_all_ops(*made).ok());
    return made;
  }();
  return *ops;
}

TEST_CASE("hostile input ends no kernel, hangs none, and makes none give what can't be right") {
  HuntOptions options{
      .cases = 150, .ended_after = std::chrono::minutes(2), .voice = HuntOptions::Voice::hushed};
  for (const OpDef* op : every_op().all())
    if (Subject::can_be(*op)) options.subjects.push_back(op);
  for (const Fault& fault : hunt(every_op(), options))
    FAIL_CHECK(fault.command, ": ", fault.what, "\n", fault.text);
}

TEST_CASE("the same seed and number make the same case, and others make others") {
  const Subject subject(every_op(), *every_op().find("Add"));
  std::vector<std::string> texts;
  for (const uint64_t seed : {1, 2})
    for (int64_t number = 0; number < 20; ++number)
      texts.push_back(Trial(subject, seed, number).text());
  CHECK(Trial(subject, 2, 3).text() == texts[23]);
  std::sort(texts.begin(), texts.end());
  CHECK(std::unique(texts.begin(), texts.end()) - texts.begin() > 25);
}

TEST_CASE("everything that ops may need can be made") {
  for (const auto& makers : {resource_makers(), reference_makers(), variant_makers()}) {
    for (const Maker& maker : makers) {
      CAPTURE(maker.name);
      for (uint64_t seed = 0; seed < 8; ++seed) {
        Draw draw(seed);
        Surroundings surroundings(every_op(), draw);
        const auto made = maker.make(surroundings.bench(), draw, DType::f32);
        CHECK_MESSAGE(made.ok(), made.status().to_string());
      }
    }
  }
}

Status aborting(KernelContext&) { std::abort(); }
Status sleeping(KernelContext&) {
  while (true) std::this_thread::yield();
}
Status wanting(KernelContext& context) {
  std::vector<std::string> much(size_t{1} << 40);
  context.set_output(0, Tensor::scalar(static_cast<float>(much.size())));
  return {};
}
Status giving_nothing(KernelContext&) { return {}; }
Status giving_rows(KernelContext& context) {
  context.set_output(0, Tensor::vector<float>({1, 2}));
  return {};
}
class Waiting final : public Kernel {
 public:
  explicit Waiting(const KernelSpec&) {}
  bool is_async() const override { return true; }
  void start(KernelContext&, Done<void> done) override { new Done<void>(std::move(done)); }
};

TEST_CASE("what is wrong with a kernel is seen, and the next one is tried") {
  OpRegistry ops;
  const auto add = [&](std::string name, KernelFactory make) {
    REQUIRE(ops.add({.name = std::move(name),
                     .doc = "It is wrong.",
                     .signature = "-> y: float",
                     .infer = infer::scalar,
                     .cpu = std::move(make)})
                .ok());
  };
  add("Aborts", kernel(aborting));
  add("Asks", kernel(wanting));
  add("Hangs", kernel(sleeping));
  add("Omits", kernel(giving_nothing));
  add("Widens", kernel(giving_rows));
  add("Works", kernel([](KernelContext&) -> Result<Tensor> { return Tensor::scalar(1.0f); }));
  add("Zaps", kernel_class<Waiting>());
  HuntOptions options{.cases = 2,
                      .most_faults = 1,
                      .ended_after = std::chrono::seconds(3),
                      .voice = HuntOptions::Voice::hushed};
  options.subjects = ops.all();
  std::string seen;
  for (const Fault& fault : hunt(ops, options)) {
    // A sanitizer that is asked for so much ends the process by itself.
    const bool is_ended = fault.op == "Asks" && (fault.what == "killed by signal 6 (Aborted)" ||
                                                 fault.what.starts_with("ended with code "));
    seen += fault.op + ": " + (is_ended ? "ended" : fault.what) + "\n";
  }
  CHECK(seen ==
        "Aborts: killed by signal 6 (Aborted)\n"
        "Asks: ended\n"
        "Hangs: still at work after 3000 ms\n"
        "Omits: output 0 has no value\n"
        "Widens: the shape rule says that output 0 is [], and it is [2] (nothing known)\n"
        "Zaps: it waits, and does not answer when its step is cancelled\n");
}

}  // namespace
}  // namespace millrace::hostile
