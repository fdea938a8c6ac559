#include "millrace/ops/exchange/staging_area.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

size_t staged_bytes(const StagedTuple& tuple) {
  size_t bytes = 0;
  for (const Tensor& tensor : tuple)
    if (tensor.has_value()) bytes += tensor.num_bytes();
  return bytes;
}

int32_t count_of(size_t size) {
  return static_cast<int32_t>(std::min<size_t>(size, std::numeric_limits<int32_t>::max()));
}

Status put_cancelled() { return cancelled("Stage operation was cancelled"); }
Status get_cancelled() { return cancelled("Unstage operation was cancelled"); }

// Done<T> from an attempt that fills a value.
template <class T>
Done<void> when_filled(std::shared_ptr<T> value, Done<T> done) {
  return Done<void>([value = std::move(value), done = std::move(done)](Status status) mutable {
    if (!status.ok()) return done(std::move(status));
    done(std::move(*value));
  });
}

}  // namespace

Status StagingBounds::check(size_t bytes) const {
  if (memory_limit == 0 || bytes <= memory_limit) return {};
  return error(Code::resource_exhausted, "Attempted to insert tensors with combined size of '",
               bytes, "' bytes into Staging Area with a memory limit of '", memory_limit, "'.");
}

// --- StagingArea ---

StagingArea::StagingArea(StagingBounds bounds, std::string name)
    : bounds_(bounds), name_(std::move(name)), staged_(Turns::any) {}

StagingArea::~StagingArea() { close(cancelled("staging area '", name_, "' was dropped")); }

void StagingArea::put(StagedTuple tuple, Cancellation* cancellation, Done<void> done) {
  const size_t bytes = staged_bytes(tuple);
  if (Status fits = bounds_.check(bytes); !fits.ok()) return done(std::move(fits));
  staged_.attempt(
      [this, bytes, tuple = std::move(tuple)](Staged& staged) mutable -> std::optional<Status> {
        if (!bounds_.has_bytes(staged.bytes, bytes) || !bounds_.has_place(staged.tuples.size()))
          return std::nullopt;
        staged.bytes += bytes;
        staged.tuples.push_back(std::move(tuple));
        return Status();
      },
      cancellation, put_cancelled(), std::move(done));
}

void StagingArea::take(Cancellation* cancellation, Done<StagedTuple> done) {
  const auto took = std::make_shared<StagedTuple>();
  staged_.attempt(
      [took](Staged& staged) -> std::optional<Status> {
        if (staged.tuples.empty()) return std::nullopt;
        *took = std::move(staged.tuples.front());
        staged.tuples.pop_front();
        staged.bytes -= staged_bytes(*took);
        return Status();
      },
      cancellation, get_cancelled(), when_filled(took, std::move(done)));
}

void StagingArea::peek(size_t index, Cancellation* cancellation, Done<StagedTuple> done) {
  const auto seen = std::make_shared<StagedTuple>();
  staged_.attempt(
      [seen, index](Staged& staged) -> std::optional<Status> {
        if (index >= staged.tuples.size()) return std::nullopt;
        *seen = staged.tuples[index];
        return Status();
      },
      cancellation, get_cancelled(), when_filled(seen, std::move(done)));
}

int32_t StagingArea::size() const {
  return staged_.look([](const Staged& staged) { return count_of(staged.tuples.size()); });
}

void StagingArea::clear() {
  // What it held dies without the lock.
  (void)staged_.change([](Staged& staged) { return std::exchange(staged, Staged{}); });
}

std::string StagingArea::description() const {
  return staged_.look([&](const Staged& staged) {
    return str_cat("staging area '", name_, "': ", staged.tuples.size(), " tuples, ", staged.bytes,
                   " bytes");
  });
}

void StagingArea::close(const Status& why) { staged_.close(why); }

// --- StagingMap ---

StagingMap::StagingMap(StagingBounds bounds, std::string name)
    : bounds_(bounds), name_(std::move(name)), staged_(Turns::any) {}

StagingMap::~StagingMap() { StagingMap::close(cancelled("staging map '", name_, "' was dropped")); }

Status StagingMap::check_indices(int64_t key, const std::vector<int64_t>& indices, size_t width) {
  if (indices.empty()) return invalid("Indices are empty");
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i > 0 && indices[i] <= indices[i - 1]) return invalid("Indices are not strictly ordered");
    if (indices[i] < 0 || static_cast<size_t>(indices[i]) >= width) {
      return invalid("Index '", indices[i], "' for key '", key, "' was out of bounds '", width,
                     "'.");
    }
  }
  return {};
}

// Adds to what has room; a tuple that is whole moves on.
Status StagingMap::put_some(Staged& staged, StagedPieces& pieces, size_t width) {
  const int64_t key = pieces.key;
  const auto [at, is_new] = staged.incomplete.try_emplace(key, width);
  StagedTuple& tuple = at->second;
  if (tuple.size() != width) {
    return invalid("The tuple for key '", key, "' was begun with ", tuple.size(),
                   " components, and goes on with ", width);
  }
  for (const int64_t index : pieces.indices) {
    if (!tuple[static_cast<size_t>(index)].has_value()) continue;
    return invalid("The tensor for index '", index, "' for key '", key,
                   "' was already initialized '", width, "'.");
  }
  staged.bytes += staged_bytes(pieces.tensors);
  for (size_t i = 0; i < pieces.indices.size(); ++i)
    tuple[static_cast<size_t>(pieces.indices[i])] = std::move(pieces.tensors[i]);
  if (!std::ranges::all_of(tuple, [](const Tensor& each) { return each.has_value(); })) return {};
  // Of a key that is there already the first tuple stays, as in TensorFlow.
  const size_t all = staged_bytes(tuple);
  const bool is_kept = staged.whole.try_emplace(key, std::move(tuple)).second;
  if (!is_kept) staged.bytes -= all;
  staged.incomplete.erase(at);
  return {};
}

void StagingMap::put(StagedPieces pieces, size_t width, Cancellation* cancellation,
                     Done<void> done) {
  const size_t bytes = staged_bytes(pieces.tensors);
  Status fits = check_indices(pieces.key, pieces.indices, width);
  if (fits.ok()) fits = bounds_.check(bytes);
  if (!fits.ok()) return done(std::move(fits));
  const bool is_whole = pieces.indices.size() == width;
  staged_.attempt(
      [this, bytes, is_whole, width,
       pieces = std::move(pieces)](Staged& staged) mutable -> std::optional<Status> {
        if (!bounds_.has_bytes(staged.bytes, bytes)) return std::nullopt;
        if (is_whole && !bounds_.has_place(staged.whole.size())) return std::nullopt;
        return put_some(staged, pieces, width);
      },
      cancellation, put_cancelled(), std::move(done));
}

Result<StagedPieces> StagingMap::pick(Staged& staged, Tuples::iterator at,
                                      const std::vector<int64_t>& indices, Leaves leaves) {
  MR_TRY(check_indices(at->first, indices, at->second.size()));
  StagedPieces picked{at->first, indices, {}};
  for (const int64_t index : indices) {
    const Tensor& tensor = at->second[static_cast<size_t>(index)];
    if (!tensor.has_value()) {
      return invalid("Tensor at index '", index, "' for key '", at->first,
                     "' has already been removed.");
    }
    picked.tensors.push_back(tensor);
  }
  if (leaves == Leaves::no) return picked;
  for (const int64_t index : indices) at->second[static_cast<size_t>(index)] = Tensor();
  staged.bytes -= staged_bytes(picked.tensors);
  if (std::ranges::none_of(at->second, [](const Tensor& each) { return each.has_value(); }))
    staged.whole.erase(at);
  return picked;
}

void StagingMap::get(Find find, std::vector<int64_t> indices, Leaves leaves,
                     Cancellation* cancellation, Done<StagedPieces> done) {
  const auto picked = std::make_shared<StagedPieces>();
  staged_.attempt(
      [picked, find = std::move(find), indices = std::move(indices),
       leaves](Staged& staged) mutable -> std::optional<Status> {
        const auto at = find(staged.whole);
        if (at == staged.whole.end()) return std::nullopt;
        auto pieces = pick(staged, at, indices, leaves);
        if (!pieces.ok()) return pieces.status();
        *picked = *std::move(pieces);
        return Status();
      },
      cancellation, get_cancelled(), when_filled(picked, std::move(done)));
}

void StagingMap::take(int64_t key, std::vector<int64_t> indices, Cancellation* cancellation,
                      Done<StagedPieces> done) {
  get([key](Tuples& tuples) { return tuples.find(key); }, std::move(indices), Leaves::yes,
      cancellation, std::move(done));
}

void StagingMap::take_any(std::vector<int64_t> indices, Cancellation* cancellation,
                          Done<StagedPieces> done) {
  get([](Tuples& tuples) { return tuples.begin(); }, std::move(indices), Leaves::yes, cancellation,
      std::move(done));
}

void StagingMap::peek(int64_t key, std::vector<int64_t> indices, Cancellation* cancellation,
                      Done<StagedPieces> done) {
  get([key](Tuples& tuples) { return tuples.find(key); }, std::move(indices), Leaves::no,
      cancellation, std::move(done));
}

int32_t StagingMap::size() const {
  return staged_.look([](const Staged& staged) { return count_of(staged.whole.size()); });
}

int32_t StagingMap::incomplete_size() const {
  return staged_.look([](const Staged& staged) { return count_of(staged.incomplete.size()); });
}

void StagingMap::clear() {
  // What it held dies without the lock.
  (void)staged_.change([](Staged& staged) { return std::exchange(staged, Staged{}); });
}

std::string StagingMap::description() const {
  return staged_.look([&](const Staged& staged) {
    return str_cat("staging map '", name_, "': ", staged.whole.size(), " whole, ",
                   staged.incomplete.size(), " incomplete, ", staged.bytes, " bytes");
  });
}

void StagingMap::close(const Status& why) { staged_.close(why); }

}  // namespace millrace
