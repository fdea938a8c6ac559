// What a job's author writes: mappers, combiners, reducers, partitioners, as functions or lambdas.
//
// They are called by several threads at once, each call with records or keys of its own. A function
// that gives nothing (void) has succeeded when it returns; one that gives a Status may say that it
// has not. One that throws has failed with what it threw; nothing is thrown further.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/mapreduce/pairs.h"

namespace millrace::mapreduce {

// Calls it; what it throws, and what it gives, as a Status.
template <class F, class... Args>
Status status_of(const F& function, Args&&... args) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<const F&, Args&&...>>) {
      function(std::forward<Args>(args)...);
      return {};
    } else {
      return function(std::forward<Args>(args)...);
    }
  } catch (const std::exception& thrown) {
    return error(Code::unknown, "it throws ", std::string_view(thrown.what()));
  } catch (...) {
    return error(Code::unknown, "it throws what is no std::exception");
  }
}

// What makes pairs of a record: f(std::string_view record, Pairs& pairs).
class Mapper {
 public:
  Mapper() = default;
  // NOLINTBEGIN(google-explicit-constructor): a job is given a function as it is.
  template <class F>
  requires std::invocable<const F&, std::string_view, Pairs&> Mapper(F function)
      : call_([function = std::move(function)](std::string_view record, Pairs& pairs) {
          return status_of(function, record, pairs);
        }) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const { return static_cast<bool>(call_); }
  Status operator()(std::string_view record, Pairs& pairs) const { return call_(record, pairs); }

 private:
  std::function<Status(std::string_view, Pairs&)> call_;
};

// The values of one key, in the order of the input, once each; as many as there are, never in
// memory together.
class Values {
 public:
  virtual ~Values() = default;
  // False at the end, or if they can't be read any further (the piece fails then, whatever the
  // reducer makes of it). `value` stands until the next call.
  virtual bool next(std::string_view* value) = 0;
};

// What a reducer gives for a key: any number of values.
class Results {
 public:
  virtual ~Results() = default;
  virtual void add(std::string_view value) = 0;
  void add(int64_t number) { add(std::string_view(std::to_string(number))); }
  // As in Pairs.
  virtual void count(std::string_view counter, int64_t by = 1) = 0;
};

// What makes one value of two, so that pairs take less room before they travel: sum() or fold().
// Made any number of times, on values of one key in the order of the input.
class Combiner {
 public:
  enum class Kind : uint8_t { none, sum, fold };
  using Fold =
      std::function<Status(std::string_view key, std::string* total, std::string_view value)>;

  Combiner() = default;
  Combiner(Kind kind, Fold fold) : kind_(kind), fold_(std::move(fold)) {}

  Kind kind() const { return kind_; }
  // `total`, the first value or what came of those before, becomes what comes of it and `value`.
  Status fold(std::string_view key, std::string* total, std::string_view value) const {
    return fold_(key, total, value);
  }

 private:
  Kind kind_ = Kind::none;
  Fold fold_;
};

// Adds up numbers, of 64 bits with a sign; a sum beyond them is an error of the job. Of values that
// are given as text, the decimal digits count.
Combiner sum();

// Makes one value of many by f(std::string_view key, std::string* total, std::string_view value).
template <class F>
requires std::invocable<const F&, std::string_view, std::string*, std::string_view> Combiner
fold(F function) {
  return {Combiner::Kind::fold,
          [function = std::move(function)](std::string_view key, std::string* total,
                                           std::string_view value) {
            return status_of(function, key, total, value);
          }};
}

// What becomes of the values of a key: f(std::string_view key, Values& values, Results& results),
// or a combiner, which is the job's combiner as well then; without one, pairs are written as they
// are.
class Reducer {
 public:
  Reducer() = default;
  // NOLINTBEGIN(google-explicit-constructor): a job is given a function as it is.
  Reducer(Combiner combiner) : combiner_(std::move(combiner)) {}
  template <class F>
  requires std::invocable<const F&, std::string_view, Values&, Results&> Reducer(F function)
      : call_([function = std::move(function)](std::string_view key, Values& values,
                                               Results& results) {
          return status_of(function, key, values, results);
        }) {}
  // NOLINTEND(google-explicit-constructor)

  const Combiner& combiner() const { return combiner_; }
  bool is_function() const { return static_cast<bool>(call_); }
  Status operator()(std::string_view key, Values& values, Results& results) const {
    return call_(key, values, results);
  }

 private:
  Combiner combiner_;
  std::function<Status(std::string_view, Values&, Results&)> call_;
};

// Which partition a key belongs to, of `parts`: 0 to parts - 1, the same in every process.
using Partitioner = std::function<int(std::string_view key, int parts)>;

// Where keys go if nobody says: spread evenly, as Python's library spreads str.
int part_of(std::string_view key, int parts);

// The number that decimal digits say, with a sign or without. Errors: INVALID_ARGUMENT for other
// text, and for what 64 bits don't hold.
Result<int64_t> number_of(std::string_view text);
Status sum_is_too_large(std::string_view key, int64_t total, int64_t more);
// Adds `more` to `total`. Errors: OUT_OF_RANGE, with the key, if 64 bits don't hold the sum.
inline Status add_to(std::string_view key, int64_t* total, int64_t more) {
  int64_t made = 0;
  if (__builtin_add_overflow(*total, more, &made)) return sum_is_too_large(key, *total, more);
  *total = made;
  return {};
}

}  // namespace millrace::mapreduce
