// Part of gradients.h: of batch normalisation, of both orders.
#include "millrace/ops/nn/gradients.h"

namespace millrace::grad {

Status batch_norm(GradContext& g) {
  MR_ASSIGN(const bool training, g.attrs().boolean("is_training"));
  Attrs attrs;
  for (const char* name : {"epsilon", "data_format", "is_training"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  const std::string op = "FusedBatchNormGrad" + g.attrs().op().name.substr(14);
  if (!g.has_grad(0)) return {};
  Endpoint scale = g.input(1);
  if (g.dtype(scale) != DType::f32)
    scale = g.add("Cast", {scale}, {{"SrcT", g.dtype(scale)}, {"DstT", DType::f32}});
  std::vector<Endpoint> inputs = {g.grad(0), g.input(0), scale, training ? g.output(3) : g.input(3),
                                  training ? g.output(4) : g.input(4)};
  if (g.num_outputs() == 6) inputs.push_back(g.output(5));
  const Endpoint by_x = g.add(op, inputs, attrs);
  g.set_input_grad(0, by_x);
  if (g.is_needed(1)) g.set_input_grad(1, Endpoint{by_x.node, 1});
  if (g.is_needed(2)) g.set_input_grad(2, Endpoint{by_x.node, 2});
  return {};
}

namespace {

// The nodes of a second derivative, all in float32, with vectors of channels in the rank of x.
struct Second {
  GradContext& g;
  Endpoint axes, broad;  // all but that of the channels; a vector of channels in the rank of x

  Endpoint add(Endpoint a, Endpoint b) { return g.add("AddV2", {a, b}); }
  Endpoint sub(Endpoint a, Endpoint b) { return g.add("Sub", {a, b}); }
  Endpoint mul(Endpoint a, Endpoint b) { return g.add("Mul", {a, b}); }
  Endpoint mean(Endpoint of) { return g.add("Mean", {of, axes}, {{"keep_dims", true}}); }
  Endpoint sum(Endpoint of) { return g.add("Sum", {of, axes}, {{"keep_dims", true}}); }
  Endpoint wide(Endpoint of) {
    if (g.dtype(of) == DType::f32) return of;
    return g.add("Cast", {of}, {{"SrcT", g.dtype(of)}, {"DstT", DType::f32}});
  }
  Endpoint vector(Endpoint of) { return g.add("Reshape", {wide(of), broad}); }
  // As input `slot` is.
  void give(int slot, Endpoint gradient, Endpoint like) {
    if (g.dtype(like) != DType::f32)
      gradient = g.add("Cast", {gradient}, {{"SrcT", DType::f32}, {"DstT", g.dtype(like)}});
    g.set_input_grad(slot, gradient);
  }
};

}  // namespace

// With xh = (x - mean) * r and P(v) = v - mean(v) - xh * mean(v * xh), what is differentiated is
// dx = scale * r * P(dy), by_scale = sum(dy * xh), by_offset = sum(dy). In training mean and r move
// with x, and P is a projection; otherwise both stand still and P changes nothing.
Status batch_norm_grad(GradContext& g) {
  MR_ASSIGN(const bool training, g.attrs().boolean("is_training"));
  MR_ASSIGN(const std::string format, g.attrs().string("data_format"));
  MR_ASSIGN(const float epsilon, g.attrs().real("epsilon"));
  const int64_t rank = static_cast<int64_t>(format.size());
  const int64_t channels = format.starts_with("NC") ? 1 : rank - 1;
  std::vector<int64_t> axes, broad(static_cast<size_t>(rank), 1);
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis != channels) axes.push_back(axis);
  }
  broad[static_cast<size_t>(channels)] = -1;
  Second s{g, g.vector(axes), g.vector(broad)};
  const Endpoint dy = s.wide(g.input(0)), x = s.wide(g.input(1)), scale = s.vector(g.input(2));
  const Endpoint r = g.add(
      "Rsqrt", {s.add(s.vector(g.input(4)), g.scalar(DType::f32, static_cast<double>(epsilon)))});
  const Endpoint xh = s.mul(s.sub(x, s.vector(g.input(3))), r);
  const auto projected = [&](Endpoint v, Endpoint along) {
    return training ? s.sub(s.sub(v, s.mean(v)), s.mul(xh, along)) : v;
  };
  const Endpoint to_x = s.wide(g.grad(0)), to_scale = s.vector(g.grad(1));
  const Endpoint to_offset = s.vector(g.grad(2));
  const Endpoint of_dy = s.mean(s.mul(dy, xh)), of_to_x = s.mean(s.mul(to_x, xh));
  const Endpoint inner = projected(dy, of_dy), outer = projected(to_x, of_to_x);
  if (g.is_needed(0)) {
    const Endpoint moved = s.mul(s.mul(scale, r), outer);
    s.give(0, s.add(s.add(moved, s.mul(to_scale, xh)), to_offset), g.input(0));
  }
  if (g.is_needed(1)) {
    Endpoint by_x = s.mul(s.mul(to_scale, r), inner);
    if (training) {
      const Endpoint turned = s.add(
          s.add(s.mul(xh, s.mean(s.mul(to_x, inner))), s.mul(of_dy, outer)), s.mul(of_to_x, inner));
      by_x = s.sub(by_x, s.mul(s.mul(scale, s.mul(r, r)), turned));
    }
    s.give(1, by_x, g.input(1));
  }
  if (g.is_needed(2)) {
    const Endpoint by_scale = s.mul(r, s.sum(s.mul(to_x, inner)));
    s.give(2, g.add("Reshape", {by_scale, g.vector({-1})}), g.input(2));
  }
  return {};
}

}  // namespace millrace::grad
