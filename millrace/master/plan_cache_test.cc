#include "millrace/master/plan_cache.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

// Keeps what it is asked to prepare until the test says how it went.
struct Workshop {
  explicit Workshop(size_t most = 100) : most(most) {}
  const size_t most;
  PlanCache cache{most, [this](const StepRequestNames& names, Done<PlanCache::Prepared> done) {
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
    cache.get(std::move(names), Done<PlanCache::Ordered>([answer](Result<PlanCache::Ordered> step) {
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

// Fetches it, made ready if it has to be; says whether it had to.
bool was_prepared(Workshop& shop, const std::string& fetch) {
  const size_t before = shop.orders.size();
  const auto answer = shop.get({{}, {fetch}, {}});
  if (!answer->is_there) shop.deliver(before);
  REQUIRE(answer->step.ok());
  return shop.orders.size() > before;
}

TEST_CASE("of all steps only so many are kept, and the least recently used one goes first") {
  Workshop shop(2);
  CHECK(was_prepared(shop, "x:0"));
  CHECK(was_prepared(shop, "y:0"));
  CHECK_FALSE(was_prepared(shop, "x:0"));
  CHECK(was_prepared(shop, "z:0"));
  CHECK_FALSE(was_prepared(shop, "x:0"));
  CHECK(was_prepared(shop, "y:0"));
  CHECK(was_prepared(shop, "z:0"));
  CHECK(shop.cache.num_prepared() == 2);
}

TEST_CASE("a step that somebody still runs is not prepared twice, though it is not kept") {
  Workshop shop(1);
  const auto running = shop.get({{}, {"x:0"}, {}});
  shop.deliver(0);
  CHECK(was_prepared(shop, "y:0"));
  CHECK_FALSE(was_prepared(shop, "x:0"));
}

TEST_CASE("what goes takes with it what nobody else has") {
  Workshop shop(1);
  std::weak_ptr<const PreparedStep> first;
  {
    const auto answer = shop.get({{}, {"x:0"}, {}});
    shop.deliver(0);
    first = (*answer->step)->step;
  }
  CHECK_FALSE(first.expired());
  CHECK(was_prepared(shop, "y:0"));
  CHECK(first.expired());
}

TEST_CASE("a request finds the step of its names, in its order, and no other") {
  Workshop shop;
  const auto made = shop.get({{"a:0"}, {"x:0", "y:0"}, {"t"}});
  shop.deliver(0);
  RunStepRequest request;
  request.feeds = {{"a:0", Tensor::scalar(1.0f)}};
  request.fetches = {"x:0", "y:0"};
  request.targets = {"t"};
  CHECK(shop.cache.find(hash_of(request), request) == *made->step);
  std::swap(request.fetches[0], request.fetches[1]);
  CHECK(shop.cache.find(hash_of(request), request) == nullptr);
  request.fetches = {"x:0"};
  CHECK(shop.cache.find(hash_of(request), request) == nullptr);
}

TEST_CASE("names are compared, too, so that a hash may be the same by chance") {
  Workshop shop;
  const auto made = shop.get({{}, {"x:0"}, {}});
  shop.deliver(0);
  RunStepRequest other;
  other.fetches = {"y:0"};
  CHECK(shop.cache.find(hash_of((*made->step)->names), other) == nullptr);
}

TEST_CASE("different lists have different hashes, however the names are cut") {
  const auto hash = [](const StepRequestNames& names) { return hash_of(names); };
  CHECK(hash({{"ab", "c"}, {}, {}}) != hash({{"a", "bc"}, {}, {}}));
  CHECK(hash({{"a"}, {"b"}, {}}) != hash({{"a", "b"}, {}, {}}));
  CHECK(hash({{"a"}, {}, {"b"}}) != hash({{"a"}, {"b"}, {}}));
}

}  // namespace
}  // namespace millrace
