// The rules of a queue, written as transcripts: what is asked, and what is settled by it.
//
//   enqueue a: 1 2 3     dequeue b: 2     dequeue_up_to c: 2     close     close cancelling
//   cancel a             shut
//
// Each line of a transcript is followed by the attempts it settled: "a ok", "b -> 1 2", "c ERROR
// …".
#include "millrace/ops/state/queue_core.h"

#include <map>
#include <sstream>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

class Transcript {
 public:
  explicit Transcript(size_t capacity, std::unique_ptr<QueueOrder> order = fifo_order())
      : core_("FIFOQueue", "q", capacity, std::move(order)) {}

  // What the line settles, one attempt per line of the answer, in order.
  std::string operator()(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name;
    words >> verb >> name;
    if (!name.empty() && name.back() == ':') name.pop_back();
    const QueueCore::Ticket ticket = ticket_of(name);
    QueueCore::Completions completions;
    Status status;
    if (verb == "enqueue") {
      QueueBatch elements;
      for (int value; words >> value;) elements.push_back({Tensor::scalar<int64_t>(value)});
      core_.enqueue(ticket, std::move(elements), completions);
    } else if (verb.starts_with("dequeue")) {
      size_t count = 1;
      words >> count;
      core_.dequeue(ticket, count, verb == "dequeue" ? Shortfall::fail : Shortfall::take_fewer,
                    completions);
    } else if (verb == "close") {
      status = core_.close(name == "cancelling" ? PendingEnqueues::cancel : PendingEnqueues::keep,
                           completions);
    } else if (verb == "cancel") {
      core_.cancel(ticket, cancelled("given up"), completions);
    } else if (verb == "shut") {
      core_.shut(aborted("dropped"), completions);
    }
    return text(status, completions);
  }

  size_t size() const { return core_.size(); }

 private:
  QueueCore::Ticket ticket_of(const std::string& name) {
    const auto [found, is_new] = tickets_.emplace(name, tickets_.size() + 1);
    if (is_new) names_[found->second] = name;
    return found->second;
  }
  std::string text(const Status& status, const QueueCore::Completions& completions) {
    std::string all = status.ok() ? "" : status.to_string();
    for (const auto& completion : completions) {
      if (!all.empty()) all += "; ";
      all += names_[completion.ticket];
      if (!completion.status.ok()) {
        all += " " + completion.status.to_string();
      } else if (completion.elements.empty()) {
        all += " ok";
      } else {
        all += " ->";
        for (const QueueElement& element : completion.elements)
          str_append(&all, " ", element[0].item<int64_t>());
      }
    }
    return all;
  }

  QueueCore core_;
  std::map<std::string, QueueCore::Ticket> tickets_;
  std::map<QueueCore::Ticket, std::string> names_;
};

TEST_CASE("elements leave in the order in which they came") {
  Transcript queue(10);
  CHECK(queue("enqueue a: 1 2 3") == "a ok");
  CHECK(queue("dequeue b: 2") == "b -> 1 2");
  CHECK(queue("dequeue c: 1") == "c -> 3");
}

TEST_CASE("a full queue makes an enqueue wait until there is room") {
  Transcript queue(2);
  CHECK(queue("enqueue a: 1 2") == "a ok");
  CHECK(queue("enqueue b: 3") == "");
  CHECK(queue("dequeue c: 1") == "c -> 1; b ok");
}

TEST_CASE("an empty queue makes a dequeue wait until there is an element") {
  Transcript queue(2);
  CHECK(queue("dequeue a: 1") == "");
  CHECK(queue("enqueue b: 7") == "b ok; a -> 7");
}

TEST_CASE("an enqueue of no elements ends well, also when the queue is closed") {
  Transcript queue(2);
  CHECK(queue("enqueue a:") == "a ok");
  CHECK(queue("close") == "");
  CHECK(queue("enqueue b:") == "b ok");
}

TEST_CASE("a dequeue of no elements is answered at once, and once") {
  Transcript queue(2);
  CHECK(queue("dequeue a: 0") == "a ok");
  CHECK(queue("enqueue b: 1") == "b ok");
  CHECK(queue.size() == 1);
}

TEST_CASE("a batch may be larger than the capacity") {
  Transcript queue(2);
  CHECK(queue("dequeue a: 5") == "");
  CHECK(queue("enqueue b: 1 2 3 4 5 6") == "b ok; a -> 1 2 3 4 5");
  CHECK(queue.size() == 1);
}

TEST_CASE("who came first is served first, even if the second wants less") {
  Transcript queue(10);
  CHECK(queue("dequeue a: 3") == "");
  CHECK(queue("dequeue b: 1") == "");
  CHECK(queue("enqueue c: 1 2") == "c ok");
  CHECK(queue("enqueue d: 3 4") == "d ok; a -> 1 2 3; b -> 4");
}

TEST_CASE("a closed queue gives what it has and then says that it is exhausted") {
  Transcript queue(10);
  CHECK(queue("enqueue a: 1 2") == "a ok");
  CHECK(queue("close") == "");
  CHECK(queue("dequeue b: 1") == "b -> 1");
  CHECK(queue("dequeue c: 2") ==
        "c OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 2, "
        "current size 1)");
  CHECK(queue("dequeue d: 1") == "d -> 2");
  CHECK(queue("enqueue e: 3") == "e CANCELLED: FIFOQueue 'q' is closed.");
}

TEST_CASE("closing fails the dequeues that can't be satisfied any more and loses nothing") {
  Transcript queue(10);
  CHECK(queue("dequeue a: 3") == "");
  CHECK(queue("enqueue b: 1 2") == "b ok");
  CHECK(queue("close") ==
        "a OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 3, "
        "current size 2)");
  CHECK(queue("dequeue c: 2") == "c -> 1 2");
}

TEST_CASE("up to: a closed queue gives what is left, and fails only when nothing is") {
  Transcript queue(10);
  CHECK(queue("dequeue_up_to a: 3") == "");
  CHECK(queue("enqueue b: 1 2") == "b ok");
  CHECK(queue("close") == "a -> 1 2");
  CHECK(queue("dequeue_up_to c: 3") ==
        "c OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 3, "
        "current size 0)");
}

TEST_CASE("enqueues that wait when the queue is closed still go in") {
  Transcript queue(1);
  CHECK(queue("enqueue a: 1") == "a ok");
  CHECK(queue("enqueue b: 2") == "");
  CHECK(queue("close") == "");
  CHECK(queue("dequeue c: 2") == "b ok; c -> 1 2");
}

TEST_CASE("closing with cancelling ends the waiting enqueues") {
  Transcript queue(1);
  CHECK(queue("enqueue a: 1") == "a ok");
  CHECK(queue("enqueue b: 2") == "");
  CHECK(queue("close cancelling") == "b CANCELLED: Enqueue operation was cancelled");
  CHECK(queue("close") == "CANCELLED: Queue 'q' is already closed.");
  // What was cancelled is gone: there is room now, and nobody who wants it.
  CHECK(queue("dequeue c: 1") == "c -> 1");
  CHECK(queue.size() == 0);
}

TEST_CASE("a cancelled dequeue gives back what it took, in order") {
  Transcript queue(10);
  CHECK(queue("dequeue a: 3") == "");
  CHECK(queue("enqueue b: 1 2") == "b ok");
  CHECK(queue("dequeue c: 2") == "");
  CHECK(queue("cancel a") == "a CANCELLED: given up; c -> 1 2");
}

TEST_CASE("a cancelled dequeue gives back what it took, whatever the order of the queue") {
  Transcript queue(10, shuffled_order(0, 1, 2));
  CHECK(queue("dequeue a: 3") == "");
  CHECK(queue("enqueue b: 7 7") == "b ok");
  CHECK(queue.size() == 0);
  CHECK(queue("cancel a") == "a CANCELLED: given up");
  CHECK(queue.size() == 2);
}

TEST_CASE("an element that is dropped does not come back with a dequeue that gives up") {
  QueueCore core("FIFOQueue", "q", 10, fifo_order());
  QueueCore::Completions completions;
  QueueElement element = {Tensor::scalar<int64_t>(1)};
  element.lent_as = 3;
  core.enqueue(1, {element}, completions);
  core.dequeue(2, 2, Shortfall::fail, completions);
  core.drop(3, completions);
  core.cancel(2, cancelled("given up"), completions);
  CHECK(core.size() == 0);
}

TEST_CASE("a cancelled enqueue lets those behind it go on") {
  Transcript queue(2);
  CHECK(queue("enqueue a: 1") == "a ok");
  CHECK(queue("enqueue b: 2 3") == "");
  CHECK(queue("enqueue c: 4") == "");
  CHECK(queue("cancel b") == "b CANCELLED: given up");
  CHECK(queue("dequeue d: 1") == "d -> 1; c ok");
}

TEST_CASE("cancelling what has ended settles nothing") {
  Transcript queue(2);
  CHECK(queue("enqueue a: 1") == "a ok");
  CHECK(queue("cancel a") == "");
}

TEST_CASE("dropping a queue ends whoever waits on it") {
  Transcript queue(1);
  CHECK(queue("dequeue a: 1") == "");
  CHECK(queue("shut") == "a ABORTED: dropped");
  CHECK(queue("enqueue b: 1") == "b CANCELLED: FIFOQueue 'q' is closed.");
  CHECK(queue("cancel a") == "");  // answered once
}

TEST_CASE("who waits for room in a queue that is dropped is answered once") {
  Transcript queue(1);
  CHECK(queue("enqueue a: 1") == "a ok");
  CHECK(queue("enqueue b: 2") == "");
  CHECK(queue("shut") == "b ABORTED: dropped");
  CHECK(queue("cancel b") == "");
}

TEST_CASE("a priority queue gives the least first, and equals in order of arrival") {
  Transcript queue(10, priority_order());
  CHECK(queue("enqueue a: 3 1 2") == "a ok");
  CHECK(queue("dequeue b: 3") == "b -> 1 2 3");
}

TEST_CASE("what leaves a priority queue together is the least of all that is there by then") {
  Transcript t(10, priority_order());
  CHECK(t("enqueue a: 5 6") == "a ok");
  CHECK(t("dequeue b: 4") == "");
  CHECK(t("enqueue c: 7") == "c ok");
  CHECK(t("enqueue d: 1 2") == "d ok; b -> 1 2 5 6");
  CHECK(t("dequeue_up_to e: 2") == "");
  CHECK(t("close") ==
        "e OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 2, "
        "current size 1)");
}

TEST_CASE("a priority queue makes room for the batch that is waited for") {
  Transcript t(2, priority_order());
  CHECK(t("enqueue a: 5 6 7") == "");
  CHECK(t("dequeue b: 4") == "a ok");
  CHECK(t("enqueue c: 1 2") == "b -> 1 5 6 7; c ok");
  CHECK(t.size() == 1);
}

TEST_CASE("a shuffling queue gives in an order that its seed decides") {
  const auto order_of = [](uint64_t seed) {
    Transcript queue(10, shuffled_order(0, seed, 2));
    CHECK(queue("enqueue a: 1 2 3 4 5 6 7 8") == "a ok");
    return queue("dequeue b: 8");
  };
  CHECK(order_of(1) == order_of(1));
  CHECK(order_of(1) != order_of(3));
  CHECK(order_of(1) != "b -> 1 2 3 4 5 6 7 8");
  CHECK(order_of(1) != "b -> 8 7 6 5 4 3 2 1");
}

TEST_CASE("a shuffling queue keeps its reserve until it is closed") {
  Transcript queue(10, shuffled_order(2, 1, 2));
  CHECK(queue("enqueue a: 5 5 5") == "a ok");
  CHECK(queue("dequeue b: 1") == "b -> 5");
  CHECK(queue("dequeue c: 1") == "");
  CHECK(queue("close") == "c -> 5");
  CHECK(queue("dequeue d: 1") == "d -> 5");
}

}  // namespace
}  // namespace millrace
