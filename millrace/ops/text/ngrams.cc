// Part of families.h: register_ngrams.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

// What a node says.
struct NGrams {
  std::string separator, left_pad, right_pad;
  std::vector<int64_t> widths;
  int64_t pad_width = 0;
  bool keeps_short = false;

  // Of n-grams of one width: what stands before and behind a row.
  int64_t padding(int64_t width) const {
    return pad_width < 0 ? width - 1 : std::min(pad_width, width - 1);
  }
  // How many a row has. Lengths and widths are at most 2^31 - 1 each.
  int64_t count(int64_t length, int64_t width) const {
    return std::max<int64_t>(0, length + 2 * padding(width) - width + 1);
  }
};

struct BoundNGrams {
  Result<NGrams> read(const KernelSpec& spec) const {
    NGrams made;
    MR_ASSIGN(made.separator, spec.attrs.string("separator"));
    MR_ASSIGN(made.left_pad, spec.attrs.string("left_pad"));
    MR_ASSIGN(made.right_pad, spec.attrs.string("right_pad"));
    MR_ASSIGN(made.widths, spec.attrs.integers("ngram_widths"));
    MR_ASSIGN(made.pad_width, spec.attrs.integer("pad_width"));
    MR_ASSIGN(made.keeps_short, spec.attrs.boolean("preserve_short_sequences"));
    for (const int64_t width : made.widths) {
      if (width <= 0) return invalid("ngram_widths must contain positive values");
      if (width > kWidest)
        return invalid("an n-gram of ", width, " words is too wide: at most ", kWidest);
    }
    if (made.pad_width > kWidest) made.pad_width = kWidest;
    return made;
  }
  static constexpr int64_t kWidest = 1 << 20;
};

// The n-gram of `width` words at place `index` of a row, with `padding` words on either side.
std::string ngram_of(const NGrams& node, std::span<const std::string> row, int64_t width,
                     int64_t padding, int64_t index) {
  std::string text;
  for (int64_t i = 0; i < width; ++i) {
    if (i > 0) text += node.separator;
    const int64_t place = index + i - padding;
    text += place < 0                                   ? node.left_pad
            : place >= static_cast<int64_t>(row.size()) ? node.right_pad
                                                        : row[static_cast<size_t>(place)];
  }
  return text;
}

Status check_splits(std::span<const int64_t> splits, int64_t words) {
  if (splits.empty()) return {};
  if (splits[0] != 0) return invalid("First split value must be 0, got ", splits[0]);
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1] || splits[i] > words) {
      return invalid("Invalid split value ", splits[i], ", must be in [", splits[i - 1], ", ",
                     words, "]");
    }
  }
  if (splits.back() != words) {
    return invalid("Last split value must be data size. Expected ", words, ", got ", splits.back());
  }
  return {};
}

// Of no words, or no rows of them, there are none, whatever is padded; words without rows leave as
// many empty strings, as in TensorFlow.
Status no_ngrams(KernelContext& context) {
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(0).shape()));
  MR_ASSIGN(Tensor splits, Tensor::zeros(context.output_dtype(1), context.input(1).shape()));
  context.set_output(0, std::move(made));
  context.set_output(1, std::move(splits));
  return {};
}

Status ngrams(KernelContext& context, const NGrams& node) {
  const Tensor& data = context.input(0);
  if (data.shape().rank() != 1)
    return invalid("data must be a vector, got shape: ", data.shape().to_string());
  if (context.input(1).shape().rank() != 1) {
    return invalid("data_splits must be a vector, got shape: ",
                   context.input(1).shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> splits, read_elements(context.input(1), "data_splits"));
  MR_TRY(check_splits(splits, data.num_elements()));
  if (data.num_elements() == 0 || splits.empty()) return no_ngrams(context);
  const auto words = data.flat<std::string>();
  std::vector<std::string> all;
  std::vector<int64_t> ends;
  ends.push_back(0);
  CancelProbe probe(context);
  for (size_t i = 1; i < splits.size(); ++i) {
    const auto row = words.subspan(static_cast<size_t>(splits[i - 1]),
                                   static_cast<size_t>(splits[i] - splits[i - 1]));
    const auto length = static_cast<int64_t>(row.size());
    const size_t before = all.size();
    for (const int64_t width : node.widths) {
      for (int64_t k = 0; k < node.count(length, width); ++k) {
        all.push_back(ngram_of(node, row, width, node.padding(width), k));
        if (!probe.go_on(width)) return probe.status();
      }
    }
    if (node.keeps_short && all.size() == before && length > 0) {
      // Padding that grows with the width would have made some.
      const int64_t padding = std::max<int64_t>(node.pad_width, 0);
      all.push_back(ngram_of(node, row, length + 2 * padding, padding, 0));
    }
    ends.push_back(static_cast<int64_t>(all.size()));
  }
  MR_ASSIGN(Tensor made_splits,
            integer_tensor(context.output_dtype(1), {static_cast<int64_t>(ends.size())}, ends));
  context.set_output(0, Tensor::vector<std::string>(std::span<const std::string>(all)));
  context.set_output(1, std::move(made_splits));
  return {};
}

Status infer_ngrams(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_ASSIGN(const PartialShape splits, context.input_of_rank(1, 1));
  context.set_output(0, PartialShape::of_rank(1));
  context.set_output(1, splits);
  return {};
}

}  // namespace

Status register_ngrams(OpRegistry& ops) {
  return ops.add({
      .name = "StringNGrams",
      .doc = "Runs of words of each row of a ragged matrix, joined; pads stand before and behind "
             "a row.",
      .signature = "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits | "
                   "separator: string, ngram_widths: list(int) >= 0, left_pad: string, "
                   "right_pad: string, pad_width: int, preserve_short_sequences: bool, "
                   "Tsplits: {int32, int64} = int64",
      .infer = infer_ngrams,
      .cpu = kernel_with(ngrams, BoundNGrams()),
      .not_differentiable = "strings have no gradient",
      .examples =
          {"['a' 'b' 'c' 'd'], [0 3 4] -> ['L|a' 'a|b' 'b|c' 'c|R' 'L|d' 'd|R'], [0 4 6] | "
           "separator = '|', ngram_widths = {2}, left_pad = 'L', right_pad = 'R', pad_width = -1, "
           "preserve_short_sequences = false",
           "['a' 'b' 'c' 'd'], [0 3 4] -> ['a|b|c' 'd'], [0 1 2] | separator = '|', "
           "ngram_widths = {3}, left_pad = '', right_pad = '', pad_width = 0, "
           "preserve_short_sequences = true"},
  });
}

}  // namespace millrace
