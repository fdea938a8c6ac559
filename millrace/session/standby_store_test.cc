#include "millrace/session/standby_store.h"

#include <doctest/doctest.h>

#include "millrace/io/testing/failing_disk.h"
#include "millrace/ops/state/kept_replay.h"

namespace millrace {
namespace {

using testing::FailingDisk;

// The records of a variable of this value.
std::string value_records(int32_t value) {
  std::string records;
  io::put_record(
      &records,
      encode_kept(KeptVariable{
          {0, "job", "total"}, DType::i32, PartialShape::scalar(), Tensor::scalar(value)}));
  return records;
}

int32_t value_in(FailingDisk& disk) {
  KeptReplay replay;
  REQUIRE(io::read_journal(disk, "state", [&](std::string_view record) {
            return replay.apply(record);
          }).ok());
  return replay.variables().at({0, "job", "total"}).value.flat<int32_t>()[0];
}

std::unique_ptr<StandbyStore> opened(FailingDisk& disk, Random& random) {
  auto store = StandbyStore::open(disk, random, "state");
  REQUIRE_MESSAGE(store.ok(), store.status().to_string());
  return *std::move(store);
}

TEST_CASE("a store that follows has what it was sent in its next life, and is the same store") {
  FailingDisk disk;
  SeededRandom random(3);
  uint64_t identity = 0;
  {
    const auto store = opened(disk, random);
    identity = store->identity();
    CHECK(identity != 0);
    CHECK(store->kept() == KeptStream{});
    CHECK(StandbyStore::open(disk, random, "state").status().code() == Code::failed_precondition);
    REQUIRE(store->put_all(value_records(10), {5, 1}).ok());
    REQUIRE(store->put_group(value_records(11), {5, 2}).ok());
    REQUIRE(store->put_group({}, {5, 3}).ok());
    CHECK(store->kept() == KeptStream{5, 3});
  }
  {
    const auto next = opened(disk, random);
    CHECK(next->identity() == identity);
    // The group without changes is not on the disk.
    CHECK(next->kept() == KeptStream{5, 2});
    CHECK(value_in(disk) == 11);
    // What is behind the end of an earlier life is in a file of this one.
    REQUIRE(next->put_group(value_records(12), {5, 3}).ok());
  }
  CHECK(opened(disk, random)->kept() == KeptStream{5, 3});
  CHECK(value_in(disk) == 12);
}

// What a life that ends with its first error has said of the owner's groups: group n makes it 9 +
// n.
KeptStream said_before_the_end(FailingDisk& disk, Random& random) {
  KeptStream said;
  const auto store = StandbyStore::open(disk, random, "state");
  if (!store.ok()) return said;
  for (uint64_t group = 1; group <= 5; ++group) {
    const std::string records = value_records(static_cast<int32_t>(9 + group));
    const KeptStream then{5, group};
    // The third one is all of the state once more, as for a side that was behind.
    const bool is_all = group == 1 || group == 3;
    const Status put =
        is_all ? (*store)->put_all(records, then) : (*store)->put_group(records, then);
    if (!put.ok()) break;
    said = then;
  }
  return said;
}

TEST_CASE("what a store has said it has, it has, wherever its disk or its machine ends") {
  FailingDisk whole;
  SeededRandom random(3);
  REQUIRE(said_before_the_end(whole, random) == KeptStream{5, 5});
  REQUIRE(whole.changes() > 20);
  for (int until = 0; until < whole.changes(); ++until) {
    for (const bool is_power_lost : {false, true}) {
      CAPTURE(until);
      CAPTURE(is_power_lost);
      FailingDisk disk;
      disk.break_after(until, 3);
      const KeptStream said = said_before_the_end(disk, random);
      FailingDisk left = is_power_lost ? disk.after_power_loss(random) : disk.after_kill();
      const KeptStream found = opened(left, random)->kept();
      CHECK(found.last >= said.last);
      if (found == KeptStream{}) continue;
      CHECK(found.since == 5);
      CHECK(value_in(left) == static_cast<int32_t>(9 + found.last));
    }
  }
}

TEST_CASE("a store whose name is damaged is not taken for a new one") {
  FailingDisk disk;
  SeededRandom random(3);
  (void)opened(disk, random);
  disk.bytes("state/store") = "12x";
  CHECK(StandbyStore::open(disk, random, "state").status() ==
        error(Code::data_loss, "'state/store' does not say which store this is"));
}

}  // namespace
}  // namespace millrace
