// Loops: graphs with Enter, Exit and NextIteration.
#include <latch>
#include <thread>

#include "millrace/base/hash.h"
#include "millrace/engine/testing/test_lab.h"

namespace millrace::testing {
namespace {

// i from `first` while i < `limit`, by one. "i" is the value inside, "out" the one after the loop.
std::string counting(const std::string& prefix, const std::string& first, const std::string& limit,
                     int parallel_iterations = 10) {
  const std::string frame =
      str_cat("frame_name=\"", prefix, "frame\", parallel_iterations=", parallel_iterations);
  std::string text = str_cat(
      "$e = Enter(", first, ", ", frame, ") $lim = Enter(", limit, ", is_constant=true, ", frame,
      ") ", "$one_ = Const(1) $one = Enter($one_, is_constant=true, ", frame, ") ",
      "$m = Merge($e, $n) $less = Less($m, $lim) $cond = LoopCond($less) $s = Switch($m, $cond) ",
      "$i = Identity($s:1) $next = Add($i, $one) $n = NextIteration($next, T=int32) ",
      "$out = Exit($s:0) ");
  for (size_t at; (at = text.find('$')) != std::string::npos;) text.replace(at, 1, prefix);
  return text;
}

TEST_CASE("a loop runs until its condition is false and its Exit gives the last value") {
  Lab lab;
  const auto outcome =
      lab.run("zero = Const(0) ten = Const(10) " + counting("a_", "zero", "ten"), {"a_out"});
  CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
  CHECK(outcome.value("a_out") == number(10));
}

TEST_CASE("a loop whose condition is false at once does not run its body") {
  Lab lab;
  const auto outcome = lab.run(
      "c = Const(3) two = Const(2) " + counting("a_", "c", "two") + " l = Log(a_i)", {"a_out"});
  CHECK(outcome.value("a_out") == number(3));
  CHECK(lab.log().empty());
}

TEST_CASE("many iterations run in bounded state, one after the other or a few at once") {
  Lab lab;
  for (int parallel : {1, 2, 10}) {
    const auto outcome = lab.run(
        "zero = Const(0) lim = Const(20000) " + counting("a_", "zero", "lim", parallel), {"a_out"});
    CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
    CHECK(outcome.value("a_out") == number(20000));
  }
}

TEST_CASE("a step with a loop may be run again, at once and by several threads") {
  Lab lab;
  const auto graph =
      lab.compile("zero = Const(0) lim = Const(50) " + counting("a_", "zero", "lim"), {"a_out"})
          .value();
  CHECK(graph->has_frames());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        if (lab.start(graph)->wait().value("a_out") == number(50)) ++right;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == 150);
}

// An outer loop over i; in it an inner loop that adds 1 to a sum, i times.
std::string nested() {
  return "zero = Const(0) five = Const(5) " + counting("o_", "zero", "five") +
         // The sum is a second variable of the outer loop.
         "te = Enter(zero, frame_name=\"o_frame\") tm = Merge(te, tn) ts = Switch(tm, o_cond) "
         "tout = Exit(ts:0) tb = Identity(ts:1) "
         // The inner loop counts from the sum to the sum + i.
         "lim = Add(tb, o_i) " +
         "ie = Enter(tb, frame_name=\"inner\") ilim = Enter(lim, is_constant=true, "
         "frame_name=\"inner\") "
         "ione = Enter(o_one, is_constant=true, frame_name=\"inner\") "
         "im = Merge(ie, inx) iless = Less(im, ilim) icond = LoopCond(iless) is = Switch(im, "
         "icond) "
         "ib = Identity(is:1) inext = Add(ib, ione) inx = NextIteration(inext, T=int32) "
         "iout = Exit(is:0) tn = NextIteration(iout, T=int32)";
}

TEST_CASE("an inner loop runs anew in each iteration of the outer one") {
  Lab lab;
  const auto outcome = lab.run(nested(), {"tout", "o_out"});
  CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
  CHECK(outcome.value("tout") == number(0 + 1 + 2 + 3 + 4));
  CHECK(outcome.value("o_out") == number(5));
}

TEST_CASE("a loop on the branch that is not taken is dead, and so is what comes after it") {
  Lab lab;
  for (const char* taken : {"true", "false"}) {
    const auto outcome = lab.run(
        str_cat("p = Const(", taken, ") zero = Const(0) ten = Const(10) s = Switch(zero, p) ",
                "l = Switch(ten, p) ") +
            counting("a_", "s:1", "l:1") + "m = Merge(a_out, s:0) y = Log(a_out)",
        {"m", "y"});
    CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
    const bool runs = std::string_view(taken) == "true";
    CHECK(outcome.value("m") == number(runs ? 10 : 0));
    CHECK(outcome.is_dead("y") == !runs);
  }
}

TEST_CASE("iterations overlap up to parallel_iterations, and values stay in theirs") {
  // Each iteration waits; the counter runs ahead as far as it may.
  Lab lab;
  auto step = lab.start(
      lab.compile("zero = Const(0) four = Const(4) " + counting("a_", "zero", "four", 2) +
                      "se = Enter(zero, frame_name=\"a_frame\") sm = Merge(se, sn) "
                      "ss = Switch(sm, a_cond) sb = Identity(ss:1) w = Wait() ^sb "
                      "sum = Add(sb, w) sn = NextIteration(sum, T=int32) sout = Exit(ss:0)",
                  {"sout"})
          .value());
  std::thread other([&] {
    for (int i = 1; i <= 4; ++i) lab.answer("w", i);
  });
  const auto outcome = step->wait();
  other.join();
  CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
  CHECK(outcome.value("sout") == number(10));
}

TEST_CASE("an error inside a loop ends it") {
  Lab lab;
  const auto outcome = lab.run("zero = Const(0) many = Const(1000000000) " +
                               counting("a_", "zero", "many") + "f = Fail() ^a_i");
  CHECK(outcome.status == invalid("no\n\t [[{{node f}}]]"));
}

TEST_CASE("an endless loop ends when its step is cancelled") {
  Lab lab;
  const auto graph = lab.compile("zero = Const(0) many = Const(2147483647) " +
                                 counting("a_", "zero", "many") + "l = Log(a_i)")
                         .value();
  Cancellation cancellation;
  CallerThread caller;
  Status status;
  std::thread runner([&] {
    run_step(graph,
             {.context = {.device = &lab.device, .cancellation = &cancellation}, .runner = &caller},
             Done<void>([&](Status s) {
               status = std::move(s);
               caller.finish();
             }));
    caller.wait();
  });
  while (lab.log().empty()) std::this_thread::yield();
  cancellation.cancel(cancelled("enough"));
  runner.join();
  CHECK(status == cancelled("enough"));
}

TEST_CASE("endless loops leave a pool's only thread to each other and to whoever comes") {
  Lab lab;
  const auto graph = lab.compile("zero = Const(0) many = Const(2147483647) " +
                                 counting("a_", "zero", "many") + "l = Log(a_i)")
                         .value();
  ThreadPool pool(1);
  Cancellation cancellation;
  constexpr int kSteps = 3;
  std::latch ended(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    pool.post([&] {
      run_step(graph,
               {.context = {.device = &lab.device, .cancellation = &cancellation}, .runner = &pool},
               Done<void>([&](const Status& status) {
                 CHECK(status == cancelled("enough"));
                 ended.count_down();
               }));
    });
  }
  // On the pool, as a master does it.
  pool.post([&] { cancellation.cancel(cancelled("enough")); });
  ended.wait();
}

// Says in which frame and iteration its nodes run.
TEST_CASE("frames have TensorFlow's ids, equal on every task of a loop") {
  Lab lab;
  std::vector<std::pair<uint64_t, int64_t>> seen;
  REQUIRE(lab.ops
              .add({.name = "Where",
                    .doc = {},
                    .signature = "x: int32 -> y: int32",
                    .cpu = kernel([&](KernelContext& c) -> Status {
                      seen.emplace_back(c.where().frame, c.where().iteration);
                      c.set_output(0, c.input(0));
                      return {};
                    })})
              .ok());
  std::string text = "zero = Const(0) two = Const(2) here = Where(zero) " +
                     counting("a_", "zero", "two") + "w = Where(a_i)";
  const std::string from = "frame_name=\"a_frame\"", to = "frame_name=\"while/while_context\"";
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  const auto outcome = lab.run(text);
  CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
  const uint64_t frame = 18186195969791715286u;
  CHECK(seen == std::vector<std::pair<uint64_t, int64_t>>{{0, 0}, {frame, 0}, {frame, 1}});
}

TEST_CASE("an Exit outside of a loop and inputs from two frames are refused when compiled") {
  Lab lab;
  CHECK(lab.compile("c = Const(1) x = Exit(c)").status().code() == Code::invalid_argument);
  CHECK(lab.compile("c = Const(1) e = Enter(c, frame_name=\"f\") x = Add(c, e)").status().code() ==
        Code::invalid_argument);
  CHECK(lab.compile("c = Const(1) e = Enter(c, frame_name=\"f\", parallel_iterations=0)")
            .status()
            .code() == Code::invalid_argument);
}

TEST_CASE("a node that never gets its inputs is an error, not a wait for ever") {
  Lab lab;
  const auto outcome = lab.run("m = Merge(n, T=int32, N=1) n = NextIteration(m, T=int32)");
  CHECK_MESSAGE(outcome.status.code() == Code::internal, outcome.status.to_string());
  CHECK(outcome.status.message().find("2 of 2 nodes still waited for inputs") != std::string::npos);
}

}  // namespace
}  // namespace millrace::testing
