#include "millrace/ops/exchange/barrier.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/queue_batch.h"

namespace millrace {
namespace {

std::string listed_types(const std::vector<DType>& types) {
  std::string text;
  for (const DType type : types) str_append(&text, text.empty() ? "" : ", ", dtype_name(type));
  return text;
}

std::string listed_shapes(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) str_append(&text, text.empty() ? "" : ", ", shape.to_string());
  return str_cat("[", text, "]");
}

int32_t as_size(size_t size) {
  return static_cast<int32_t>(std::min<size_t>(size, std::numeric_limits<int32_t>::max()));
}

}  // namespace

Barrier::Barrier(BarrierSpec spec, std::string name)
    : spec_(std::move(spec)), name_(std::move(name)), gathered_(Turns::in_order) {}

Barrier::~Barrier() { close(cancelled("barrier '", name_, "' was dropped")); }

Status Barrier::check_same(const BarrierSpec& other) const {
  if (other.types != spec_.types) {
    return invalid("Shared barrier '", name_, "' has component types ", listed_types(spec_.types),
                   " but requested component types were ", listed_types(other.types));
  }
  if (other.shapes != spec_.shapes) {
    return invalid("Shared barrier '", name_, "' has component shapes ",
                   listed_shapes(spec_.shapes), " but requested component shapes were ",
                   listed_shapes(other.shapes));
  }
  return {};
}

Status Barrier::check_values(const Tensor& keys, size_t component, const Tensor& values) const {
  if (keys.shape().rank() != 1)
    return invalid("keys must be a vector, but have shape ", keys.shape().to_string());
  if (keys.num_elements() > 0 && values.num_elements() == 0) {
    return invalid("Tensors with no elements are not supported ", name_, ": received shape ",
                   values.shape().to_string());
  }
  if (values.shape().rank() == 0 || values.shape().dim(0) != keys.num_elements()) {
    return invalid("a value is needed for each of the ", keys.num_elements(),
                   " keys, but values have shape ", values.shape().to_string());
  }
  if (keys.num_elements() == 0) return {};
  const Shape& expected = spec_.shapes[component];
  if (!std::ranges::equal(values.shape().dims().subspan(1), expected.dims())) {
    MR_ASSIGN(const Shape got, Shape::create(values.shape().dims().subspan(1)));
    // Behind the number and the key.
    return invalid("Shape mismatch in tuple component ", component + 2, ". Expected ",
                   expected.to_string(), ", got ", got.to_string());
  }
  return {};
}

Status Barrier::check_keys(const Gathered& gathered, std::span<const std::string> keys,
                           size_t component) const {
  absl::flat_hash_set<std::string_view> seen;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = gathered.incomplete.find(keys[i]);
    const bool is_known = found != gathered.incomplete.end();
    if (gathered.is_closed && !is_known) {
      return cancelled(
          "Barrier ", name_, " is closed, but attempted to insert a brand new key: ", keys[i],
          ".  Pending enqueues cancelled: ", int{gathered.is_cancelled}, ".  Insertion index: ", i,
          ".  Number of incomplete keys: ", gathered.incomplete.size(), ".");
    }
    // Of an element with one component, the second value begins a new one.
    const bool has_value = is_known && found->second.components[component].has_value();
    const bool comes_twice = !seen.insert(keys[i]).second && spec_.types.size() > 1;
    if (has_value || comes_twice) {
      return invalid("Key ", keys[i], " already has a value for component ", component,
                     " in barrier ", name_);
    }
  }
  return {};
}

Status Barrier::insert(const Tensor& keys, size_t component, const Tensor& values) {
  MR_TRY(check_values(keys, component, values));
  const std::span<const std::string> names = keys.flat<std::string>();
  std::vector<Tensor> pieces;
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    MR_ASSIGN(const Tensor row, values.rows(i, i + 1));
    MR_ASSIGN(const Tensor piece, row.reshaped(spec_.shapes[component]));
    // The barrier outlives the step, and one value must not keep the memory of all.
    MR_ASSIGN(Tensor own, piece.clone());
    pieces.push_back(std::move(own));
  }
  return gathered_.change([&](Gathered& gathered) -> Status {
    if (gathered.is_closed &&
        (gathered.is_cancelled || (!names.empty() && gathered.incomplete.empty()))) {
      return cancelled("Barrier ", name_,
                       " is closed.  Pending enqueues cancelled: ", int{gathered.is_cancelled},
                       ".  Number of new insertions: ", names.size(),
                       ".  Number of incomplete keys: ", gathered.incomplete.size(), ".");
    }
    MR_TRY(check_keys(gathered, names, component));
    bool has_new = false;
    for (size_t i = 0; i < names.size(); ++i) {
      auto [place, is_new] = gathered.incomplete.try_emplace(names[i]);
      Incomplete& element = place->second;
      if (is_new) {
        element = {gathered.next_number, std::vector<Tensor>(spec_.types.size()),
                   spec_.types.size()};
        has_new = true;
      }
      element.components[component] = std::move(pieces[i]);
      if (--element.missing > 0) continue;
      QueueElement whole{Tensor::scalar(element.number), Tensor::scalar(names[i])};
      for (Tensor& each : element.components) whole.push_back(std::move(each));
      gathered.ready.emplace(element.number, std::move(whole));
      gathered.incomplete.erase(place);
    }
    if (has_new) ++gathered.next_number;
    return {};
  });
}

Status Barrier::too_few(size_t asked, size_t there) const {
  return out_of_range("Barrier '", name_, "' is closed and has insufficient elements (requested ",
                      asked, ", total size ", there, ")");
}

std::optional<Result<QueueBatch>> Barrier::try_take(Gathered& gathered, size_t count,
                                                    Shortfall shortfall, bool is_first_try) const {
  const size_t ready = gathered.ready.size();
  if (gathered.is_closed) {
    const bool takes_fewer = shortfall == Shortfall::take_fewer;
    // One that came before the close waits for what may still become whole.
    if (takes_fewer && (is_first_try || gathered.incomplete.empty()))
      count = std::min(count, ready);
    const size_t possible =
        takes_fewer && is_first_try ? ready : ready + gathered.incomplete.size();
    if (possible < std::max<size_t>(count, 1)) return too_few(count, possible);
  }
  if (ready < count) return std::nullopt;
  QueueBatch batch;
  for (size_t i = 0; i < count; ++i) {
    batch.push_back(std::move(gathered.ready.begin()->second));
    gathered.ready.erase(gathered.ready.begin());
  }
  return batch;
}

void Barrier::take(int64_t count, Shortfall shortfall, Cancellation* cancellation,
                   Done<QueueElement> done) {
  const auto took = std::make_shared<QueueBatch>();
  std::vector<DType> types{DType::i64, DType::string};
  std::vector<PartialShape> shapes{PartialShape::scalar(), PartialShape::scalar()};
  types.insert(types.end(), spec_.types.begin(), spec_.types.end());
  shapes.insert(shapes.end(), spec_.shapes.begin(), spec_.shapes.end());
  const BatchRule rule("Barrier", std::move(types), std::move(shapes), false);
  gathered_.attempt(
      [this, count, shortfall, took,
       is_first = true](Gathered& gathered) mutable -> std::optional<Status> {
        auto batch = try_take(gathered, static_cast<size_t>(count), shortfall, is_first);
        is_first = false;
        if (!batch) return std::nullopt;
        if (!batch->ok()) return batch->status();
        *took = **std::move(batch);
        return Status();
      },
      cancellation, cancelled("Dequeue operation was cancelled"),
      Done<void>([rule, took, done = std::move(done)](Status status) mutable {
        if (!status.ok()) return done(std::move(status));
        done(rule.stack(*took));
      }));
}

Status Barrier::close_barrier(PendingEnqueues pending) {
  return gathered_.change([&](Gathered& gathered) -> Status {
    const bool cancels = pending == PendingEnqueues::cancel;
    if (gathered.is_closed && (gathered.is_cancelled || !cancels))
      return cancelled("Barrier '", name_, "' is already closed.");
    gathered.is_closed = true;
    gathered.is_cancelled = cancels;
    if (cancels) gathered.incomplete.clear();
    return {};
  });
}

int32_t Barrier::ready_size() const {
  return gathered_.look([](const Gathered& gathered) { return as_size(gathered.ready.size()); });
}

int32_t Barrier::incomplete_size() const {
  return gathered_.look(
      [](const Gathered& gathered) { return as_size(gathered.incomplete.size()); });
}

std::string Barrier::description() const {
  return gathered_.look([&](const Gathered& gathered) {
    return str_cat("barrier '", name_, "': ", gathered.ready.size(), " whole, ",
                   gathered.incomplete.size(), " incomplete", gathered.is_closed ? ", closed" : "");
  });
}

void Barrier::close(const Status& why) { gathered_.close(why); }

}  // namespace millrace
