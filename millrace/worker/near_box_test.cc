#include "millrace/worker/near_box.h"

#include <cstring>
#include <random>
#include <thread>

#include <doctest/doctest.h>

namespace millrace {
namespace {

// Both ends, as two processes have them.
struct Box {
  Box() : memory(SharedMemory::create(kNearBoxBytes, 5).value()), giver(memory) {
    taker =
        std::make_unique<NearTaker>(SharedMemory::open(memory->address(), kNearBoxBytes).value());
  }
  std::optional<Tensor> take(const NearName& name) {
    std::optional<Tensor> taken;
    if (taker->take(name, [&](const Tensor& piece) { taken = piece.kept().value(); })) return taken;
    CHECK_FALSE(taken.has_value());
    return std::nullopt;
  }
  std::shared_ptr<SharedMemory> memory;
  NearGiver giver;
  std::unique_ptr<NearTaker> taker;
};

Tensor some(int32_t value, int64_t count = 3) {
  Tensor made = Tensor::allocate(DType::i32, {count}).value();
  for (int32_t& each : made.mutable_flat<int32_t>()) each = value;
  return made;
}

TEST_CASE("what is put in the box is found there, turn after turn") {
  Box box;
  box.taker->open(0);
  for (int round = 0; round < 100; ++round) {
    for (const int64_t count : {1, 1000, 0}) {
      const NearName name{.key = static_cast<uint64_t>(count + 7), .round = round};
      REQUIRE(box.giver.give(name, some(round, count)));
      CHECK(box.take(name) == some(round, count));
    }
  }
}

TEST_CASE("before the taker has opened the box everything goes the usual way") {
  Box box;
  CHECK_FALSE(box.giver.give({.key = 1, .round = 5}, some(1)));
  box.taker->open(6);
  CHECK_FALSE(box.giver.give({.key = 1, .round = 5}, some(1)));
  CHECK_FALSE(box.take({.key = 1, .round = 5}).has_value());
  CHECK(box.giver.give({.key = 1, .round = 6}, some(2)));
  CHECK(box.take({.key = 1, .round = 6}) == some(2));
}

TEST_CASE("what was asked for the usual way is given the usual way, and the next one is not") {
  Box box;
  box.taker->open(0);
  CHECK_FALSE(box.take({.key = 1, .round = 3}).has_value());
  CHECK_FALSE(box.giver.give({.key = 1, .round = 3}, some(3)));
  CHECK_FALSE(box.giver.give({.key = 1, .round = 2}, some(2)));
  CHECK(box.giver.give({.key = 1, .round = 3, .wave = 1}, some(4)));
  CHECK(box.take({.key = 1, .round = 3, .wave = 1}) == some(4));
}

TEST_CASE("nothing is laid on what nobody has taken, unless its round is over") {
  Box box;
  box.taker->open(0);
  REQUIRE(box.giver.give({.key = 1, .round = 0}, some(10)));
  CHECK_FALSE(box.giver.give({.key = 1, .round = 1}, some(11)));
  CHECK(box.take({.key = 1, .round = 0}) == some(10));
  REQUIRE(box.giver.give({.key = 1, .round = 2}, some(12)));
  box.taker->past(3);
  REQUIRE(box.giver.give({.key = 1, .round = 3}, some(13)));
  CHECK(box.take({.key = 1, .round = 3}) == some(13));
}

TEST_CASE("nothing is laid on what is being read") {
  Box box;
  box.taker->open(0);
  REQUIRE(box.giver.give({.key = 1, .round = 0}, some(1)));
  bool was_read = false;
  REQUIRE(box.taker->take({.key = 1, .round = 0}, [&](const Tensor& piece) {
    CHECK_FALSE(box.giver.give({.key = 1, .round = 1}, some(2)));
    CHECK_FALSE(piece.is_sole_owner());
    was_read = piece == some(1);
  }));
  CHECK(was_read);
  CHECK(box.giver.give({.key = 1, .round = 2}, some(3)));
}

TEST_CASE(
    "what is too large, or no plain values, or more than there is room for goes on as usual") {
  Box box;
  box.taker->open(0);
  const auto most = static_cast<int64_t>(kMostNearBytes / sizeof(int32_t));
  CHECK_FALSE(box.giver.give({.key = 1, .round = 0}, some(1, most + 1)));
  CHECK_FALSE(box.giver.give({.key = 2, .round = 0}, Tensor::vector<std::string>({"text"})));
  int put = 0;
  for (uint64_t key = 10; key < 3000; ++key)
    put += box.giver.give({.key = key * 977, .round = 0}, some(1, most)) ? 1 : 0;
  CHECK(put > 200);
  CHECK(put <= static_cast<int>(kNearBoxBytes / kMostNearBytes));
  // What has a place keeps it.
  CHECK(box.take({.key = 10 * 977, .round = 0}) == some(1, most));
  CHECK(box.giver.give({.key = 10 * 977, .round = 1}, some(2, most)));
}

TEST_CASE("of a giver and a taker who come at the same time both know which way a piece goes") {
  Box box;
  box.taker->open(0);
  constexpr int kRounds = 20'000;
  std::vector<bool> put(kRounds), found(kRounds);
  std::atomic<int> at_giver{0}, at_taker{0};
  const auto meet = [](std::atomic<int>& mine, const std::atomic<int>& other) {
    const int here = mine.fetch_add(1) + 1;
    while (other.load() < here) std::this_thread::yield();
  };
  std::thread giver([&] {
    std::mt19937 random(1);
    for (int round = 0; round < kRounds; ++round) {
      meet(at_giver, at_taker);
      for (unsigned i = random() % 200; i > 0; --i) pause_a_moment();
      put[static_cast<size_t>(round)] = box.giver.give({.key = 1, .round = round}, some(round));
    }
  });
  std::mt19937 random(2);
  for (int round = 0; round < kRounds; ++round) {
    meet(at_taker, at_giver);
    for (unsigned i = random() % 200; i > 0; --i) pause_a_moment();
    const auto piece = box.take({.key = 1, .round = round});
    found[static_cast<size_t>(round)] = piece.has_value();
    if (piece) CHECK(*piece == some(round));
  }
  giver.join();
  CHECK(put == found);
}

TEST_CASE("a process that writes nonsense into the box gives nonsense, and nothing else") {
  Box box;
  box.taker->open(0);
  std::mt19937_64 random(3);
  const NearName name{.key = 1, .round = 0};
  REQUIRE(box.giver.give(name, some(1)));
  for (int round = 1; round < 2000; ++round) {
    // The head of the box and its entries.
    char* const bytes = box.memory->data();
    for (int i = 0; i < 40; ++i) {
      const uint64_t value = random() >> (random() % 64);
      std::memcpy(bytes + 8 * (random() % 9000), &value, sizeof(value));
    }
    const NearName next{.key = 1, .round = round};
    (void)box.giver.give(next, some(round));
    (void)box.taker->take(next, [](const Tensor& piece) {
      if (piece.dtype() == DType::invalid) return;
      CHECK(piece.num_bytes() <= kMostNearBytes);
      CHECK(piece.kept().ok());
    });
  }
}

}  // namespace
}  // namespace millrace
