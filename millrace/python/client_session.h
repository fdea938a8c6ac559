// ClientSession: what Python holds of a session, and ReadyStep: a step of it that is run again
// and again, with its feeds' types and its fetches known.
//
// Conversions happen with the GIL, everything that may wait without it. On the main thread a wait
// looks after signals, so that Ctrl-C ends it with KeyboardInterrupt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "millrace/python/graph_core.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/session/session.h"

namespace millrace::python {

// One thing that is fed: "x:0", and what values it takes.
struct FeedSpec {
  std::string name;
  DType dtype = DType::invalid;
  PartialShape shape;
};

// A value for a feed. Lists, other dtypes and so on go through `convert`, the Python function
// (value, dtype number) -> array.
// Throws ValueError if the shape does not fit, and what `convert` throws.
Tensor feed_value(const FeedSpec& spec, pybind11::handle value, const pybind11::object& convert,
                  Lending lending);

class ReadyStep {
 public:
  ReadyStep(std::shared_ptr<OpLibrary> library, Callable callable, std::vector<FeedSpec> feeds,
            pybind11::object convert)
      : library_(std::move(library)),
        callable_(std::move(callable)),
        feeds_(std::move(feeds)),
        convert_(std::move(convert)) {}
  ReadyStep(ReadyStep&&) = default;
  ~ReadyStep();

  // Runs the step. Returns the fetched values, one per fetch.
  pybind11::list run(const pybind11::sequence& values) const;
  // The same for a step with one fetch: the value itself.
  pybind11::object run_single(const pybind11::sequence& values) const;

 private:
  // Large arrays are lent to the step: it has ended when this returns.
  std::vector<Tensor> run_tensors(const pybind11::sequence& values) const;

  std::shared_ptr<OpLibrary> library_;
  std::optional<Callable> callable_;
  std::vector<FeedSpec> feeds_;
  pybind11::object convert_;
};

// The session of one front-end graph.
class ClientSession {
 public:
  // `retry` left out: as the runtime says.
  // Throws ValueError for a target of another form, or a number of retries that can't be.
  ClientSession(const SessionTarget& target, SessionOptions options,
                std::optional<RetryTerms> retry, std::shared_ptr<GraphCore> core);
  ~ClientSession();

  // Gives the session the nodes that were made since the last time.
  void send_new_nodes();
  // How many nodes it was given.
  size_t num_sent() const { return num_sent_; }

  ReadyStep prepare(std::vector<FeedSpec> feeds, std::vector<std::string> fetches,
                    std::vector<std::string> targets, pybind11::object convert);

  struct RunSettings {
    std::chrono::milliseconds timeout{0};
    Trace trace = Trace::off;
    bool output_partition_graphs = false;
    std::optional<RetryTerms> retry = std::nullopt;  // left out: the session's
  };
  // Runs a step once. Returns (values, metadata).
  pybind11::tuple run(const std::vector<FeedSpec>& feeds, const pybind11::sequence& values,
                      std::vector<std::string> fetches, std::vector<std::string> targets,
                      const pybind11::object& convert, RunSettings settings);

  std::string partial_run_setup(std::vector<std::string> feeds, std::vector<std::string> fetches,
                                std::vector<std::string> targets);
  pybind11::list partial_run(const std::string& handle, const std::vector<FeedSpec>& feeds,
                             const pybind11::sequence& values, std::vector<std::string> fetches,
                             const pybind11::object& convert);

  std::vector<DeviceAttributes> list_devices();
  void close();

 private:
  const std::shared_ptr<GraphCore> core_;
  std::unique_ptr<Session> session_;
  size_t num_sent_ = 0;
};

}  // namespace millrace::python
