#include "millrace/master/plan_cache.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

// Keeps what it is asked to prepare until the test says how it went.
struct Workshop {
  PlanCache cache{[this](const StepRequestNames& names, Done<PlanCache::Prepared> done) {
    orders.emplace_back(names, std::move(done));
  }};
  // After the cache, which answers for orders that are dropped.
  std::vector<std::pair<StepRequestNames, Done<PlanCache::Prepared>>> orders;

  void deliver(size_t index) {
    auto step = std::make_shared<PreparedStep>();
    step->feeds = orders[index].first.feeds;
    step->fetches = orders[index].first.fetches;
    step->targets = orders[index].first.targets;
    orders[index].second(PlanCache::Prepared(std::move(step)));
  }
  // What the cache answered, once it has.
  struct Answer {
    bool is_there = false;
    Result<PlanCache::Ordered> step = internal("no answer yet");
  };
  std::shared_ptr<Answer> get(StepRequestNames names) {
    auto answer = std::make_shared<Answer>();
    cache.get(names, Done<PlanCache::Ordered>([answer](Result<PlanCache::Ordered> step) {
                answer->is_there = true;
                answer->step = std::move(step);
              }));
    return answer;
  }
};

TEST_CASE("a step is prepared once, whoever asks meanwhile and in whatever order") {
  Workshop shop;
  const auto first = shop.get({{"b:0", "a:0"}, {"y:0", "x:0", "y:0"}, {}});
  const auto second = shop.get({{"a:0", "b:0"}, {"x:0", "y:0"}, {}});
  CHECK(!first->is_there);
  REQUIRE(shop.orders.size() == 1);
  CHECK(shop.orders[0].first.feeds == std::vector<std::string>{"a:0", "b:0"});
  shop.deliver(0);
  REQUIRE(first->step.ok());
  REQUIRE(second->step.ok());
  CHECK((*first->step)->step == (*second->step)->step);
  CHECK((*first->step)->feed_at == std::vector<uint32_t>{1, 0});
  CHECK((*first->step)->fetch_of == std::vector<uint32_t>{1, 0, 1});
  CHECK(!(*first->step)->fetches_in_order);
  CHECK((*second->step)->fetches_in_order);

  const auto third = shop.get({{"b:0", "a:0"}, {"x:0", "y:0"}, {}});
  CHECK(third->is_there);
  CHECK(shop.orders.size() == 1);
  CHECK(shop.cache.num_prepared() == 1);
}

TEST_CASE("a failure is told to all who wait, and is not kept") {
  Workshop shop;
  const auto first = shop.get({{}, {"x:0"}, {}});
  const auto second = shop.get({{}, {"x:0"}, {}});
  shop.orders[0].second(Status(Code::unavailable, "worker gone"));
  CHECK(first->step.status().code() == Code::unavailable);
  CHECK(second->step.status().code() == Code::unavailable);
  const auto third = shop.get({{}, {"x:0"}, {}});
  CHECK(!third->is_there);
  CHECK(shop.orders.size() == 2);
}

TEST_CASE("an order that is dropped is answered, too") {
  Workshop shop;
  const auto answer = shop.get({{}, {"x:0"}, {}});
  shop.orders.clear();
  CHECK(answer->step.status().code() == Code::internal);
}

TEST_CASE("nothing to do, a feed given twice and a feed that is fetched are refused") {
  Workshop shop;
  CHECK(shop.get({{"a:0"}, {}, {}})->step.status().message() ==
        "Must specify at least one target to fetch or execute.");
  CHECK(shop.get({{"a:0", "a:0"}, {"x:0"}, {}})->step.status().code() == Code::invalid_argument);
  CHECK(shop.get({{"a:0"}, {"a:0"}, {}})->step.status().message() ==
        "a:0 is both fed and fetched.");
  CHECK(shop.orders.empty());
}

TEST_CASE("keys of different lists differ, however the names are cut") {
  const auto key = [](const StepRequestNames& names) { return cache_key(names); };
  CHECK(key({{"ab", "c"}, {}, {}}) != key({{"a", "bc"}, {}, {}}));
  CHECK(key({{"a"}, {"b"}, {}}) != key({{"a", "b"}, {}, {}}));
  CHECK(key({{"a"}, {}, {"b"}}) != key({{"a"}, {"b"}, {}}));
}

}  // namespace
}  // namespace millrace
