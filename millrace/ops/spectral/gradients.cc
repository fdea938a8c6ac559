#include "millrace/ops/spectral/gradients.h"

namespace millrace::grad {
namespace {

// How many axes the node's op transforms: its name says so.
int rank_of(GradContext& g) {
  const std::string& name = g.attrs().op().name;
  return name.ends_with("2D") ? 2 : name.ends_with("3D") ? 3 : 1;
}

std::string op_of(std::string_view name, int rank) {
  return rank == 1 ? std::string(name) : str_cat(name, rank, "D");
}

// The sizes of the last axes, a vector of int32.
Endpoint last_sizes(GradContext& g, Endpoint of, int rank) {
  return g.add("StridedSlice", {g.shape_node(of), g.vector({-rank}), g.vector({0}), g.vector({1})},
               {{"end_mask", int64_t{1}}});
}

// The product of sizes, as a number of a type.
Endpoint product_as(GradContext& g, Endpoint sizes, DType dtype) {
  return g.add("Cast", {g.add("Prod", {sizes, g.scalar(DType::i32, 0)})}, {{"DstT", dtype}});
}

Attrs complex_of(DType dtype) { return {{"Tcomplex", dtype}}; }

// Zeros behind the last axes of what has `sizes` there, as far as `like` reaches.
Endpoint filled_up(GradContext& g, Endpoint made, Endpoint sizes, Endpoint like, int rank) {
  const Endpoint more = g.add("Sub", {last_sizes(g, like, rank), sizes});
  const Endpoint none = g.add("ZerosLike", {more});
  const Endpoint last = g.add("Pack", {none, more}, {{"N", int64_t{2}}, {"axis", int64_t{1}}});
  // None along the axes before.
  const Endpoint before = g.add("Sub", {g.add("Rank", {like}), g.scalar(DType::i32, rank)});
  const Endpoint shape = g.add("Pack", {before, g.scalar(DType::i32, 2)}, {{"N", int64_t{2}}});
  const Endpoint zeros = g.add("Fill", {shape, g.scalar(DType::i32, 0)});
  const Endpoint paddings =
      g.add("ConcatV2", {zeros, last, g.scalar(DType::i32, 0)}, {{"N", int64_t{2}}});
  return g.add("Pad", {made, paddings});
}

// `lengths` with its last as half a spectrum has it.
struct Halves {
  Endpoint last, half, sizes;
};
Halves halves_of(GradContext& g, Endpoint lengths, int rank) {
  const Endpoint one = g.vector({1});
  Halves made;
  made.last = g.add("StridedSlice", {lengths, g.vector({-1}), g.vector({0}), one},
                    {{"end_mask", int64_t{1}}});
  made.half = g.add(
      "AddV2", {g.add("FloorDiv", {made.last, g.scalar(DType::i32, 2)}), g.scalar(DType::i32, 1)});
  if (rank == 1) {
    made.sizes = made.half;
    return made;
  }
  const Endpoint before = g.add("StridedSlice", {lengths, g.vector({0}), g.vector({-1}), one},
                                {{"begin_mask", int64_t{1}}});
  made.sizes = g.add("ConcatV2", {before, made.half, g.scalar(DType::i32, 0)}, {{"N", int64_t{2}}});
  return made;
}

}  // namespace

Status fft(GradContext& g) {
  const int rank = rank_of(g);
  const Endpoint arriving = g.grad();
  const DType dtype = g.dtype(arriving);
  const Endpoint back = g.add(op_of("IFFT", rank), {arriving});
  g.set_input_grad(0, g.add("Mul", {back, product_as(g, last_sizes(g, arriving, rank), dtype)}));
  return {};
}

Status ifft(GradContext& g) {
  const int rank = rank_of(g);
  const Endpoint arriving = g.grad();
  const DType dtype = g.dtype(arriving);
  const Endpoint forth = g.add(op_of("FFT", rank), {arriving});
  g.set_input_grad(0,
                   g.add("RealDiv", {forth, product_as(g, last_sizes(g, arriving, rank), dtype)}));
  return {};
}

// The half that arrives, with zeros for the rest, goes back as it is: the signal is the real part.
Status rfft(GradContext& g) {
  const int rank = rank_of(g);
  const Endpoint arriving = g.grad(), lengths = g.input(1), input = g.input(0);
  const DType complex = g.dtype(arriving), real = g.dtype(input);
  const Halves halves = halves_of(g, lengths, rank);
  // As many behind as the whole has more than its half.
  const Endpoint more = g.add("Sub", {halves.last, halves.half});
  const Endpoint before = g.add("Sub", {g.add("Rank", {input}), g.scalar(DType::i32, 1)});
  const Endpoint shape = g.add("Pack", {before, g.scalar(DType::i32, 2)}, {{"N", int64_t{2}}});
  const Endpoint behind =
      g.add("Pack", {g.add("ZerosLike", {more}), more}, {{"N", int64_t{2}}, {"axis", int64_t{1}}});
  const Endpoint paddings =
      g.add("ConcatV2",
            {g.add("Fill", {shape, g.scalar(DType::i32, 0)}), behind, g.scalar(DType::i32, 0)},
            {{"N", int64_t{2}}});
  const Endpoint whole = g.add("Pad", {arriving, paddings});
  const Endpoint back = g.add(op_of("IFFT", rank), {whole}, complex_of(complex));
  const Endpoint signal = g.add("Real", {back}, {{"Tout", real}});
  const Endpoint scaled = g.add("Mul", {signal, product_as(g, lengths, real)});
  g.set_input_grad(0, filled_up(g, scaled, lengths, input, rank));
  return {};
}

// All but the first and, where there is one, the middle stand for two.
Status irfft(GradContext& g) {
  const int rank = rank_of(g);
  const Endpoint arriving = g.grad(), lengths = g.input(1), input = g.input(0);
  const DType complex = g.dtype(input), real = g.dtype(arriving);
  const Halves halves = halves_of(g, lengths, rank);
  const Endpoint spectrum = g.add(op_of("RFFT", rank), {arriving, lengths}, complex_of(complex));
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  const Attrs shrunk = {{"shrink_axis_mask", int64_t{1}}};
  const auto alone = [&](Endpoint of) {
    return g.add("StridedSlice", {of, g.vector({0}), g.vector({1}), g.vector({1})}, shrunk);
  };
  const Endpoint places = g.add("Range", {zero, alone(halves.half), one});
  const Endpoint doubled = g.add("Mul", {places, g.scalar(DType::i32, 2)});
  const Endpoint is_end =
      g.add("LogicalOr", {g.add("Equal", {doubled, zero}), g.add("Equal", {doubled, halves.last})});
  const Endpoint weights =
      g.add("Sub", {g.scalar(real, 2), g.add("Cast", {is_end}, {{"DstT", real}})});
  const Endpoint scale = g.add("RealDiv", {weights, product_as(g, lengths, real)});
  const Endpoint made = g.add("Mul", {spectrum, g.add("Cast", {scale}, {{"DstT", complex}})});
  g.set_input_grad(0, filled_up(g, made, halves.sizes, input, rank));
  return {};
}

}  // namespace millrace::grad
