#include "millrace/op/resource.h"

#include <thread>

#include <doctest/doctest.h>

namespace millrace {
namespace {

class Box final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "Box";
  std::string description() const override { return "Box"; }
  void close(const Status& why) override { closed = why.message(); }
  std::string closed;
};

class Crate final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "Crate";
  std::string description() const override { return "Crate"; }
};

TEST_CASE("a resource is found by container and name, and no container means localhost") {
  ResourceStore resources;
  auto box = std::make_shared<Box>();
  REQUIRE(resources.add("", "b", box).ok());
  CHECK(resources.find<Box>("localhost", "b").value() == box);
  CHECK(resources.find<Box>("other", "b").status().message() ==
        "Resource other/b/Box does not exist.");
  CHECK(resources.add("localhost", "b", box).code() == Code::already_exists);
}

TEST_CASE("a store that was told so has its default container under another name") {
  ResourceStore resources("worker");
  auto box = std::make_shared<Box>();
  REQUIRE(resources.add("", "b", box).ok());
  CHECK(resources.find<Box>("worker", "b").value() == box);
  CHECK(resources.find<Box>("localhost", "b").status().code() == Code::not_found);
  resources.clear("localhost", cancelled("reset"));
  CHECK(resources.size() == 1);
  resources.clear("", cancelled("reset"));
  CHECK(resources.size() == 0);
}

TEST_CASE("things of two types may have one name") {
  ResourceStore resources;
  REQUIRE(resources.add("", "x", std::make_shared<Box>()).ok());
  REQUIRE(resources.add("", "x", std::make_shared<Crate>()).ok());
  const auto entries = resources.list();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].type == "Box");
  CHECK(entries[1].type == "Crate");
}

TEST_CASE("dropping a resource closes it with the reason and moves the generation") {
  ResourceStore resources;
  auto box = std::make_shared<Box>();
  REQUIRE(resources.add("c", "b", box).ok());
  const uint64_t before = resources.generation();
  resources.clear("other", cancelled("reset"));
  CHECK(box->closed.empty());
  resources.clear("c", cancelled("reset"));
  CHECK(box->closed == "reset");
  CHECK(resources.generation() > before);
  CHECK(resources.size() == 0);
}

TEST_CASE("removing one that is not there says so") {
  ResourceStore resources;
  CHECK(resources.remove<Box>("", "b").code() == Code::not_found);
  auto box = std::make_shared<Box>();
  REQUIRE(resources.add("", "b", box).ok());
  CHECK(resources.remove<Box>("", "b").ok());
  CHECK(box->closed == "resource 'b' in container 'localhost' was destroyed");
}

TEST_CASE("one whose type is known by its name alone is removed as well") {
  ResourceStore resources;
  auto box = std::make_shared<Box>();
  REQUIRE(resources.add("", "x", box).ok());
  REQUIRE(resources.add("", "x", std::make_shared<Crate>()).ok());
  CHECK(resources.remove("", "x", "Barrel").message() ==
        "Resource localhost/x/Barrel does not exist.");
  const uint64_t before = resources.generation();
  CHECK(resources.remove("localhost", "x", "Box").ok());
  CHECK(box->closed == "resource 'x' in container 'localhost' was destroyed");
  CHECK(resources.generation() > before);
  CHECK(resources.find<Crate>("", "x").ok());
  CHECK(resources.size() == 1);
}

TEST_CASE("of two threads that make one resource both get the same") {
  ResourceStore resources;
  std::shared_ptr<Box> first, second;
  const auto make = [&](std::shared_ptr<Box>& out) {
    out = resources
              .find_or_create<Box>(
                  "", "b", []() -> Result<std::shared_ptr<Box>> { return std::make_shared<Box>(); })
              .value();
  };
  std::thread other([&] { make(first); });
  make(second);
  other.join();
  CHECK(first == second);
}

TEST_CASE("a maker that fails makes nothing") {
  ResourceStore resources;
  CHECK_FALSE(resources
                  .find_or_create<Box>(
                      "", "b", []() -> Result<std::shared_ptr<Box>> { return internal("no"); })
                  .ok());
  CHECK(resources.size() == 0);
}

}  // namespace
}  // namespace millrace
