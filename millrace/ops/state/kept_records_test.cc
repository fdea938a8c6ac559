// Records of kept state: as bytes and back, and what is refused.
#include "millrace/ops/state/kept_records.h"

#include <doctest/doctest.h>

#include "millrace/base/random.h"
#include "millrace/ops/state/kept_replay.h"

namespace millrace {
namespace {

const KeptName kNamed{1, "job", "names"};

QueueSpec two_components() {
  return {.op = "FIFOQueueV2",
          .types = {DType::string, DType::i32},
          .shapes = {PartialShape::scalar(), PartialShape::unknown()},
          .capacity = -1};
}

QueueElement element(std::string text, int32_t number) {
  return {Tensor::scalar(std::move(text)), Tensor::vector<int32_t>({number, -1})};
}

const KeptName kOfDevice{1, "", ""};

KeptLoans some_loans() {
  return {.incarnation = 7,
          .book = {.next = 4, .open = {{2, 1}, {3, 2}}, .dead = {1}},
          .elements = {5, 6},
          .dead = {4}};
}

AppliedBook::Part some_applied() {
  return {.queue = 7,
          .horizon = 4,
          .open = {2, 3},
          .elements = {{.number = 2, .settled = 1, .applied = {{1, "add"}}}}};
}

std::string kept_hex(const KeptRecord& record) {
  std::string text;
  for (const char byte : encode_kept(record)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// What is read back is written as it was.
template <class Record>
Record and_back(const Record& record) {
  const std::string bytes = encode_kept(record);
  const Result<KeptRecord> read = decode_kept(bytes);
  REQUIRE_MESSAGE(read.ok(), read.status().to_string());
  CHECK(encode_kept(*read) == bytes);
  return std::get<Record>(*read);
}

TEST_CASE("records are read as they were written") {
  for (const Tensor& value :
       {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::scalar<int64_t>(-7),
        Tensor::vector<std::string>({"", "two", std::string("\0", 1)}),
        Tensor::allocate(DType::f64, {0, 3}).value(), Tensor::vector<bool>({true, false})}) {
    const KeptVariable read =
        and_back(KeptVariable{kNamed, value.dtype(), PartialShape::unknown(), value});
    CHECK(read.name == kNamed);
    CHECK(read.value == value);
    CHECK_FALSE(read.shape.has_rank());
  }
  CHECK_FALSE(and_back(KeptVariable{kNamed, DType::f32, {2}, {}}).value.has_value());
  const KeptQueue queue = and_back(KeptQueue{kNamed, two_components(), true, 19});
  CHECK(queue.spec.types == two_components().types);
  CHECK(queue.spec.shapes == two_components().shapes);
  CHECK(queue.spec.capacity == -1);
  CHECK(queue.is_closed);
  CHECK(queue.next_number == 19);
  CHECK(and_back(KeptIn{kNamed, 18, element("a", 3)}).element == element("a", 3));
  CHECK(and_back(KeptOut{kNamed, {1, 300, ~uint64_t{0}}}).numbers ==
        std::vector<uint64_t>{1, 300, ~uint64_t{0}});
  CHECK(and_back(KeptDropped{kNamed, KeptKind::queue}).kind == KeptKind::queue);
  CHECK(and_back(KeptLent{kNamed, some_loans()}).loans == some_loans());
  CHECK(and_back(KeptApplied{kOfDevice, some_applied()}).part == some_applied());
  const UpdateName update{7, 2, 300, "put"};
  CHECK(and_back(KeptMade{kOfDevice, update}).update == update);
  CHECK(and_back(KeptIdentity{{}, ~uint64_t{0}}).identity == ~uint64_t{0});
  CHECK(and_back(KeptReign{{}, 7, ~uint64_t{0}}) == KeptReign{{}, 7, ~uint64_t{0}});
}

TEST_CASE("the bytes of records are these") {
  CHECK(kept_hex(KeptVariable{
            {0, "ps", "n"}, DType::i64, PartialShape::scalar(), Tensor::scalar<int64_t>(3)}) ==
        "0a1b120270731a016e20092a00320e080912001a080300000000000000");
  CHECK(kept_hex(KeptQueue{
            kNamed, {.op = "FIFOQueueV2", .types = {DType::string}, .capacity = 5}, true, 2}) ==
        "1223080112036a6f621a056e616d6573220b4649464f517565756556322807380558016002");
  CHECK(kept_hex(KeptIn{kNamed, 1, {Tensor::scalar(std::string("a"))}}) ==
        "1a19080112036a6f621a056e616d657320012a0708071200220161");
  CHECK(kept_hex(KeptOut{kNamed, {1, 300}}) == "2213080112036a6f621a056e616d6573200120ac02");
  CHECK(kept_hex(KeptDropped{kNamed, KeptKind::queue}) == "2a10080112036a6f621a056e616d65732002");
  CHECK(kept_hex(KeptLent{kNamed, some_loans()}) ==
        "3226080112036a6f621a056e616d6573200728043206080210011805320608031002180638014004");
  CHECK(kept_hex(KeptApplied{kOfDevice, some_applied()}) ==
        "3a1d080112001a0020072804300230033a0d080210011a0708011203616464");
  CHECK(kept_hex(KeptMade{kOfDevice, {7, 2, 0, "put"}}) == "420f080112001a00200728023a03707574");
  CHECK(kept_hex(KeptIdentity{{}, 5}) == "4a0612001a002005");
  CHECK(kept_hex(KeptReign{{}, 7, 300}) == "520912001a00200728ac02");
}

Status replayed(std::initializer_list<KeptRecord> records) {
  KeptReplay replay;
  for (const KeptRecord& record : records) MR_TRY(replay.apply(encode_kept(record)));
  return replay.check();
}

TEST_CASE("records that can't follow each other are refused") {
  const KeptQueue queue{kNamed, two_components(), false, 1};
  const KeptIn in{kNamed, 1, element("a", 1)};
  CHECK(replayed({queue, in, KeptOut{kNamed, {1}}, KeptIn{kNamed, 2, element("b", 1)}}).ok());
  CHECK(replayed({in}).code() == Code::data_loss);
  CHECK(replayed({queue, in, in}).message() ==
        "the record of 'names' in container 'job' puts element 1 in twice");
  CHECK(replayed({queue, in, KeptOut{kNamed, {1}}, KeptOut{kNamed, {1}}}).message() ==
        "the record of 'names' in container 'job' takes element 1, which is not there");
  CHECK(replayed({queue, KeptIn{kNamed, 1, {Tensor::scalar(1)}}}).code() == Code::data_loss);
  CHECK(replayed({KeptDropped{kNamed, KeptKind::queue}}).code() == Code::data_loss);
  CHECK(replayed({KeptVariable{kNamed, DType::f32, {}, Tensor::scalar(1)}}).code() ==
        Code::data_loss);
  KeptLoans loans{.incarnation = 7, .book = {.next = 2, .open = {{1, 1}}}, .elements = {1}};
  CHECK(replayed({queue, in, KeptLent{kNamed, loans}}).ok());
  CHECK(replayed({KeptLent{kNamed, loans}}).code() == Code::data_loss);
  CHECK(replayed({queue, in, KeptLent{kNamed, loans}, KeptOut{kNamed, {1}}}).message() ==
        "the record of 'names' in container 'job' has lent element 1, which is not there");
  loans.book.next = 1;
  CHECK(replayed({queue, in, KeptLent{kNamed, loans}}).code() == Code::data_loss);
  CHECK(replayed({KeptApplied{kOfDevice, {.queue = 7, .open = {3, 2}}}}).code() == Code::data_loss);
  CHECK(replayed({KeptMade{kOfDevice, {0, 1, 0, "put"}}}).code() == Code::data_loss);
  CHECK(replayed({KeptDropped{kOfDevice, KeptKind::applied}}).code() == Code::data_loss);
}

TEST_CASE("any bytes are a record or data loss, and ask for no more memory than they have") {
  SeededRandom random(8);
  const std::vector<std::string> whole = {
      encode_kept(
          KeptVariable{kNamed, DType::f32, {2, 2}, Tensor::of<float>({2, 2}, {1, 2, 3, 4})}),
      encode_kept(KeptQueue{kNamed, two_components(), false, 3}),
      encode_kept(KeptIn{kNamed, 3, element("text", 4)}),
      encode_kept(KeptOut{kNamed, {3, 4}}),
      encode_kept(KeptDropped{kNamed, KeptKind::variable}),
      encode_kept(KeptLent{kNamed, some_loans()}),
      encode_kept(KeptApplied{kOfDevice, some_applied()}),
      encode_kept(KeptMade{kOfDevice, {7, 2, 3, "put"}})};
  for (const std::string& bytes : whole) {
    for (size_t size = 0; size < bytes.size(); ++size)
      CHECK(decode_kept(bytes.substr(0, size)).status().code() == Code::data_loss);
    CHECK(decode_kept(bytes + bytes).status().code() == Code::data_loss);
    for (int run = 0; run < 5'000; ++run) {
      std::string changed = bytes;
      for (uint64_t times = random.next() % 3 + 1; times > 0; --times)
        changed[random.next() % changed.size()] = static_cast<char>(random.next());
      const Result<KeptRecord> read = decode_kept(changed);
      if (!read.ok()) CHECK(read.status().code() == Code::data_loss);
    }
  }
}

}  // namespace
}  // namespace millrace
