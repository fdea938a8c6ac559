#include "tests/simulation/meetings.h"

#include "millrace/base/str_cat.h"

namespace millrace::simulation {
namespace {

std::string shown(const std::vector<int64_t>& numbers) {
  std::string text = "(";
  for (const int64_t number : numbers) str_append(&text, text.size() > 1 ? " " : "", number);
  return text + ")";
}

}  // namespace

int64_t Meetings::next(size_t member) {
  sent_[member].insert(++last_number_);
  return last_number_;
}

Tensor Meetings::addend(size_t member, int64_t number, int64_t width) const {
  std::vector<int64_t> values(sent_.size() * static_cast<size_t>(width));
  for (int64_t i = 0; i < width; ++i)
    values[member * static_cast<size_t>(width) + static_cast<size_t>(i)] = number;
  return Tensor::vector<int64_t>(std::span<const int64_t>(values));
}

std::string Meetings::merge(const Tensor& got, int64_t width, Numbers* numbers) const {
  if (got.dtype() != DType::i64 || got.num_elements() != static_cast<int64_t>(sent_.size()) * width)
    return "has another size than what was given";
  const auto values = got.flat<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t& known = (*numbers)[i / static_cast<size_t>(width)];
    if (known == 0) known = values[i];
    if (values[i] != known) return str_cat("has ", values[i], " where another has ", known);
  }
  return {};
}

std::string Meetings::met(size_t member, int64_t number, size_t source, int64_t width,
                          const std::vector<Kind>& kinds, const std::vector<Tensor>& got) {
  const auto wrong = [&](const auto&... why) {
    return str_cat("member ", member, " in its step ", number, ": ", why...);
  };
  if (got.size() != kinds.size()) return wrong("got ", got.size(), " tensors");
  Numbers numbers(sent_.size());
  numbers[member] = number;
  for (size_t i = 0; i < kinds.size(); ++i) {
    std::string problem;
    if (kinds[i] == Kind::broadcast) {
      if (got[i].dtype() != DType::i64 || got[i].num_elements() != 1) {
        problem = "has another size than what was given";
      } else if (int64_t& known = numbers[source]; known == 0) {
        known = got[i].item<int64_t>();
      } else if (known != got[i].item<int64_t>()) {
        problem = str_cat("has ", got[i].item<int64_t>(), " where another has ", known);
      }
    } else {
      problem = merge(got[i], kinds[i] == Kind::gather ? 1 : width, &numbers);
    }
    if (!problem.empty()) return wrong("collective ", i, " ", problem);
  }
  for (size_t other = 0; other < numbers.size(); ++other) {
    const int64_t theirs = numbers[other];
    if (theirs == 0) continue;
    if (!sent_[other].contains(theirs))
      return wrong("met ", theirs, " of member ", other, ", who has no such step");
    Numbers& meeting = meetings_.try_emplace({other, theirs}, numbers).first->second;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (meeting[i] == 0) meeting[i] = numbers[i];
      // A broadcast has as many meetings with its source as there are others.
      const bool is_told = numbers[i] != 0 && (kinds.size() > 1 || kinds[0] != Kind::broadcast);
      if (is_told && meeting[i] != numbers[i])
        return wrong("met ", shown(numbers), ", but another one who met ", theirs, " of member ",
                     other, " met ", shown(meeting));
    }
  }
  Last& last = last_[member];
  for (size_t i = 0; i < last.numbers.size(); ++i)
    if (numbers[i] != 0 && numbers[i] <= last.numbers[i])
      return wrong("met ", shown(numbers), " after ", shown(last.numbers));
  last.numbers.resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 0) last.numbers[i] = numbers[i];
  ++last.times;
  return {};
}

}  // namespace millrace::simulation
