// What tasks say to each other about collectives: names of tensors that one asks another one for
// (CollectiveDesk), and the tensors that leaders answer with.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"
#include "millrace/worker/group_book.h"

namespace millrace::collective_words {

// The names of what peers ask for, and what stands between the slashes:
//   come    group, size, incarnation, the epoch it has lost or -, milliseconds to wait, machine
//   source  group, epoch, 1 if the asker sends, instance; kEnd is none, but the end of the group
//   lost    group, epoch, why
//   piece   group, epoch, round, instance, signature, piece
//   box     group, epoch: the asker is on the same machine, and takes pieces
inline constexpr std::string_view kCome = "come", kSource = "source", kLost = "lost",
                                  kPiece = "piece", kBox = "box";
inline constexpr std::string_view kEnd = "-";
// The answer to who waits for the end of the group, when it is the leader's task that ends, in
// good order: the group goes on without one until a member is lost.
inline constexpr int kLeaderHasEnded = -1;

// Reads such a name.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  std::string_view next() {
    const size_t end = std::min(rest_.find('/'), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  template <class Integer = int64_t>
  Integer number(int base = 10) {
    const std::string_view word = next();
    Integer value = 0;
    const auto [stop, problem] =
        std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (problem != std::errc() || stop != word.data() + word.size()) is_good_ = false;
    return value;
  }
  std::string_view rest() const { return rest_; }
  bool is_good() const { return is_good_; }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

Tensor encoded(const CollectiveGroup& group);
Tensor encoded(int rank);
// Errors: INTERNAL if it is no list of members.
Result<std::shared_ptr<const CollectiveGroup>> decoded(int64_t key, const Tensor& tensor);

}  // namespace millrace::collective_words
