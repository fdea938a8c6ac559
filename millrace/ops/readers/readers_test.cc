// Readers through their ops: keys and values, queues that end or wait, counts, and bad files.
#include <deque>

#include <doctest/doctest.h>

#include "millrace/base/runner.h"
#include "millrace/base/str_cat.h"
#include "millrace/io/records.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/readers/families.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

// Work that waits until the test does it: a disk that is slow.
class SlowDisk final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  void answer() {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
  }
  bool is_busy() const { return !tasks_.empty(); }

 private:
  std::deque<Task> tasks_;
};

class Shelf {
 public:
  explicit Shelf(const std::string& op = "TextLineReaderV2", Attrs attrs = {}) : bench_(*ops_) {
    bench_.device().files = &files_;
    reader_ = bench_.run(op, {}, {.name = "reader", .attrs = std::move(attrs)}).value()[0];
    queue_ = new_queue({DType::string});
  }
  static Attrs of(std::string name, int64_t value) {
    Attrs attrs;
    attrs.set(std::move(name), value);
    return attrs;
  }
  Value new_queue(std::vector<DType> types) {
    const std::string name = str_cat("q", ++queues_);
    return bench_
        .run("FIFOQueueV2", {},
             {.name = name,
              .attrs = {{"component_types", AttrValue(std::move(types))},
                        {"shared_name", AttrValue(name)}}})
        .value()[0];
  }
  void file(const std::string& name, std::string bytes) {
    files_.contents()[name] = std::move(bytes);
    enqueue(Tensor::scalar(name));
  }
  void enqueue(Tensor element) {
    REQUIRE(bench_.run("QueueEnqueueV2", {queue_, std::move(element)}, {.name = "put"}).ok());
  }
  void close_queue() { REQUIRE(bench_.run("QueueCloseV2", {queue_}, {.name = "close"}).ok()); }

  // "key=value", or the error.
  std::string read() { return read_from(queue_); }
  std::string read_from(const Value& queue) {
    return told(bench_.run("ReaderReadV2", {reader_, queue}, {.name = "read"}));
  }
  static std::string told(const Result<std::vector<Value>>& outputs) {
    if (!outputs.ok()) return std::string(outputs.status().message());
    return (*outputs)[0].tensor.item<std::string>() + "=" +
           (*outputs)[1].tensor.item<std::string>();
  }
  std::unique_ptr<Running> start_read() {
    return bench_.start("ReaderReadV2", {reader_, queue_}, {.name = "read"}).value();
  }
  Result<std::vector<Value>> read_up_to(Tensor count) {
    return bench_.run("ReaderReadUpToV2", {reader_, queue_, std::move(count)}, {.name = "read"});
  }
  int64_t ask(const std::string& op) {
    return bench_.run(op, {reader_}, {.name = "ask"}).value()[0].tensor.item<int64_t>();
  }
  std::string counts() {
    return str_cat(ask("ReaderNumRecordsProducedV2"), " of ", ask("ReaderNumWorkUnitsCompletedV2"));
  }
  Result<std::vector<Value>> use(const std::string& op, std::vector<Value> more = {}) {
    more.insert(more.begin(), reader_);
    return bench_.run(op, std::move(more), {.name = "use"});
  }
  Bench& bench() { return bench_; }
  const Value& queue() const { return queue_; }

 private:
  static std::unique_ptr<OpRegistry> registry() {
    auto ops = std::make_unique<OpRegistry>();
    REQUIRE(register_state(*ops).ok());
    REQUIRE(register_readers(*ops).ok());
    return ops;
  }
  const std::unique_ptr<OpRegistry> ops_ = registry();
  testing::MemoryFiles files_;
  Bench bench_;
  Value reader_, queue_;
  int queues_ = 0;
};

constexpr const char* kEnded =
    "FIFOQueue 'q1' is closed and has insufficient elements (requested 1, current size 0)";

TEST_CASE("lines come with file and number, over the ends of files, until the queue is closed") {
  Shelf s;
  s.file("a", "one\ntwo\r\n");
  s.file("empty", "");
  s.file("b", "three");
  s.close_queue();
  CHECK(s.read() == "a:1=one");
  CHECK(s.read() == "a:2=two");
  CHECK(s.counts() == "2 of 0");
  CHECK(s.read() == "b:1=three");
  CHECK(s.counts() == "3 of 2");
  CHECK(s.read() == kEnded);
  CHECK(s.counts() == "3 of 3");
}

TEST_CASE("headers are left out and counted; a file of less has no lines") {
  Shelf s("TextLineReaderV2", Shelf::of("skip_header_lines", 1));
  s.file("a", "head\none\n");
  s.file("short", "");
  s.file("b", "head\ntwo\n");
  CHECK(s.read() == "a:2=one");
  CHECK(s.read() == "b:2=two");
}

TEST_CASE("records come with the offset of each; damage is told, and stays") {
  Shelf s("TFRecordReaderV2");
  s.file("f", io::framed_record("one") + io::framed_record("two") + "cut");
  s.file("bad", io::framed_record("one").substr(0, 17));
  CHECK(s.read() == "f:0=one");
  CHECK(s.read() == "f:19=two");
  for (int i = 0; i < 2; ++i)
    CHECK(s.read() == "bad: truncated record at 0' failed with Read less bytes than requested");
}

TEST_CASE("a whole file, or the work itself, is done with its only record") {
  Shelf whole("WholeFileReaderV2");
  whole.file("a", std::string(600'000, 'x'));
  CHECK(whole.read() == "a=" + std::string(600'000, 'x'));
  CHECK(whole.counts() == "1 of 1");
  Shelf same("IdentityReaderV2");
  same.enqueue(Tensor::vector<std::string>({"w"}));
  CHECK(same.read() == "w=w");
}

Attrs lengths(int header, int record, int footer, int hop) {
  return {{"header_bytes", AttrValue(header)},
          {"record_bytes", AttrValue(record)},
          {"footer_bytes", AttrValue(footer)},
          {"hop_bytes", AttrValue(hop)}};
}

TEST_CASE("records of one length stand between header and footer, one hop after another") {
  const auto records = [](int hop) {
    Shelf s("FixedLengthRecordReaderV2", lengths(2, 3, 2, hop));
    s.file("f", "HHabcdefghiFF");
    s.close_queue();
    std::string all;
    for (std::string one = s.read(); one != kEnded; one = s.read()) all += one + " ";
    return all;
  };
  CHECK(records(0) == "f:0=abc f:1=def f:2=ghi ");
  CHECK(records(2) == "f:0=abc f:1=cde f:2=efg f:3=ghi ");
  CHECK(records(5) == "f:0=abc f:1=fgh ");
  CHECK(records(1'000'000) == "f:0=abc ");
}

TEST_CASE("a file shorter than its header ends with an error that names it") {
  Shelf s("FixedLengthRecordReaderV2", lengths(5, 3, 0, 0));
  s.file("f", "ab");
  CHECK(s.read() == "f: the header has 5 bytes, the file fewer");
  CHECK(s.counts() == "0 of 0");
}

TEST_CASE("settings that make no sense are refused") {
  Shelf s;
  const auto refused = [&](const std::string& op, Attrs attrs) {
    return std::string(
        s.bench().run(op, {}, {.name = "bad", .attrs = std::move(attrs)}).status().message());
  };
  const auto says = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refused("TextLineReaderV2", Shelf::of("skip_header_lines", -1)),
             "skip_header_lines must be >= 0 not -1"));
  CHECK(says(refused("FixedLengthRecordReaderV2", lengths(0, 0, 0, 0)),
             "record_bytes must be >= 1 not 0"));
  CHECK(says(refused("FixedLengthRecordReader", lengths(-1, 1, 0, 0)),
             "header_bytes must be >= 0 not -1"));
  Attrs packing;
  packing.set("compression_type", "LZ4");
  CHECK(says(refused("TFRecordReaderV2", packing), "'ZLIB' and 'GZIP' are there"));
  // The name of the first reader.
  CHECK(
      says(std::string(s.bench()
                           .run("IdentityReaderV2", {},
                                {.name = "other", .attrs = {{"shared_name", AttrValue("reader")}}})
                           .status()
                           .message()),
           "Shared reader 'reader' is a TextLineReader"));
}

TEST_CASE("several records at once end with their file") {
  Shelf s;
  s.file("a", "1\n2\n3\n");
  s.file("b", "4\n");
  const auto keys = [&](int64_t count) {
    return s.read_up_to(Tensor::scalar(count)).value()[0].tensor;
  };
  CHECK(keys(2) == Tensor::vector<std::string>({"a:1", "a:2"}));
  CHECK(keys(0).num_elements() == 0);
  CHECK(keys(int64_t{1} << 62) == Tensor::vector<std::string>({"a:3"}));
  CHECK(keys(2) == Tensor::vector<std::string>({"b:1"}));
  CHECK(s.read_up_to(Tensor::scalar(int64_t{-1})).status().code() == Code::invalid_argument);
  CHECK(s.read_up_to(Tensor::vector<int64_t>({1, 2})).status().code() == Code::invalid_argument);
}

TEST_CASE("what is no name of a file is refused, and the next file is read") {
  Shelf s;
  CHECK(s.bench()
            .run("QueueEnqueueV2", {s.queue(), Tensor::vector<std::string>({"a", "b"})}, {})
            .ok());
  CHECK(s.read() == "Expected to dequeue a one-element string tensor");
  s.enqueue(Tensor::scalar<std::string>("none"));
  CHECK(s.read() == "none; No such file or directory");
  s.file("a", "one");
  CHECK(s.read() == "a:1=one");
  const Value numbers = s.new_queue({DType::i32});
  REQUIRE(s.bench().run("QueueEnqueueV2", {numbers, Tensor::scalar<int32_t>(1)}, {}).ok());
  CHECK(s.read_from(numbers) == "Expected queue with single string component");
  s.bench().device().files = nullptr;
  s.enqueue(Tensor::scalar<std::string>("a"));
  CHECK(s.read().ends_with("has no files"));
}

TEST_CASE("a read waits for the queue, others for it, and each is answered in turn") {
  Shelf s;
  const auto first = s.start_read(), second = s.start_read();
  CHECK_FALSE(first->is_done());
  CHECK(s.counts() == "0 of 0");
  s.file("a", "one\ntwo");
  REQUIRE(first->is_done());
  REQUIRE(second->is_done());
  CHECK(Shelf::told(first->outputs()) == "a:1=one");
  CHECK(Shelf::told(second->outputs()) == "a:2=two");
}

TEST_CASE("a cancelled step ends its waits and leaves the reader to others") {
  Shelf s;
  const auto first = s.start_read(), second = s.start_read();
  s.bench().cancellation().cancel(cancelled("enough"));
  REQUIRE(first->is_done());
  REQUIRE(second->is_done());
  CHECK(first->status().code() == Code::cancelled);
  CHECK(second->status().code() == Code::cancelled);
  s.bench().step().cancellation = nullptr;
  s.file("a", "one");
  CHECK(s.read() == "a:1=one");
}

TEST_CASE("a file whose name was taken when the step was cancelled is read by the next") {
  Shelf s;
  SlowDisk disk;
  s.bench().step().blocking = &disk;
  const auto cut = s.start_read();
  s.file("a", "one");
  REQUIRE(disk.is_busy());
  s.bench().cancellation().cancel(cancelled("enough"));
  REQUIRE(cut->is_done());
  s.bench().step().cancellation = nullptr;
  disk.answer();  // too late: nothing is done
  s.bench().step().blocking = nullptr;
  CHECK(s.read() == "a:1=one");
}

TEST_CASE("nobody reads while the disk is at work for another") {
  Shelf s;
  SlowDisk disk;
  s.bench().step().blocking = &disk;
  s.file("a", "one\ntwo");
  const auto first = s.start_read(), second = s.start_read();
  disk.answer();
  REQUIRE(first->is_done());
  CHECK_FALSE(second->is_done());
  disk.answer();
  REQUIRE(second->is_done());
  CHECK(Shelf::told(second->outputs()) == "a:2=two");
}

TEST_CASE("a reset reader begins with the next file and counts anew") {
  Shelf s;
  s.file("a", "one\ntwo");
  s.file("b", "three");
  CHECK(s.read() == "a:1=one");
  REQUIRE(s.use("ReaderResetV2").ok());
  CHECK(s.counts() == "0 of 0");
  CHECK(s.read() == "b:1=three");
}

TEST_CASE("the state of a reader of whole files is TensorFlow's message, and can be put back") {
  Shelf s("IdentityReaderV2");
  s.enqueue(Tensor::scalar<std::string>("w"));
  CHECK(s.read() == "w=w");
  const Tensor state = s.use("ReaderSerializeStateV2").value()[0].tensor;
  CHECK(state.item<std::string>() == "\x08\x01\x10\x01\x18\x01\x22\x01w");
  REQUIRE(s.use("ReaderResetV2").ok());
  REQUIRE(s.use("ReaderRestoreStateV2", {state}).ok());
  CHECK(s.counts() == "1 of 1");
  const auto refused = [&](const std::string& bytes) {
    return s.use("ReaderRestoreStateV2", {Tensor::scalar(bytes)}).status().code();
  };
  CHECK(refused("\x08\x02\x10\x01") == Code::invalid_argument);
  CHECK(refused("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") == Code::invalid_argument);
  CHECK(refused("junk") == Code::invalid_argument);
  CHECK(s.counts() == "0 of 0");  // it has begun anew
  Shelf lines;
  CHECK(lines.use("ReaderSerializeStateV2").status().message() == "Reader SerializeState");
  CHECK(lines.use("ReaderRestoreStateV2", {Tensor::scalar<std::string>("")}).status().code() ==
        Code::unimplemented);
}

}  // namespace
}  // namespace millrace
