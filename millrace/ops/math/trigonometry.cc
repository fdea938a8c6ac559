// Part of families.h: register_trigonometry.
#include <cmath>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

using cpu::VectorFunction;
using Angles = cpu::Join<cpu::Floating, cpu::Complex>;

Status add_angle(OpRegistry& ops, std::string name, GradFn gradient, std::string doc,
                 KernelFactory cpu, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "x: T -> y: T | T: {bfloat16, half, float, double, complex64, complex128}",
      .infer = infer::same_as_input,
      .cpu = std::move(cpu),
      .grad = gradient,
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_trigonometry(OpRegistry& ops) {
  MR_TRY(add_angle(ops, "Acos", grad::acos, "The angle whose cosine is x, in radians.",
                   cpu::unary<Angles, VectorFunction::acos>([](auto x) { return std::acos(x); }),
                   "[1 0.5] -> [0 1.0471975512]"));
  MR_TRY(add_angle(ops, "Asin", grad::asin, "The angle whose sine is x, in radians.",
                   cpu::unary<Angles, VectorFunction::asin>([](auto x) { return std::asin(x); }),
                   "[0 0.5] -> [0 0.5235987756]"));
  MR_TRY(add_angle(ops, "Atan", grad::atan, "The angle whose tangent is x, in radians.",
                   cpu::unary<Angles, VectorFunction::atan>([](auto x) { return std::atan(x); }),
                   "[0 1] -> [0 0.7853981634]"));
  MR_TRY(add_angle(ops, "Sinh", grad::sinh, "The hyperbolic sine of x.",
                   cpu::unary<Angles, VectorFunction::sinh>([](auto x) { return std::sinh(x); }),
                   "[0 1] -> [0 1.1752011936]"));
  MR_TRY(add_angle(ops, "Cosh", grad::cosh, "The hyperbolic cosine of x.",
                   cpu::unary<Angles, VectorFunction::cosh>([](auto x) { return std::cosh(x); }),
                   "[0 1] -> [1 1.5430806348]"));
  MR_TRY(add_angle(ops, "Asinh", grad::asinh, "The inverse of the hyperbolic sine.",
                   cpu::unary<Angles, VectorFunction::asinh>([](auto x) { return std::asinh(x); }),
                   "[0 1] -> [0 0.8813735870]"));
  MR_TRY(add_angle(ops, "Acosh", grad::acosh, "The inverse of the hyperbolic cosine.",
                   cpu::unary<Angles, VectorFunction::acosh>([](auto x) { return std::acosh(x); }),
                   "[1 2] -> [0 1.3169578969]"));
  return add_angle(ops, "Atanh", grad::atanh, "The inverse of the hyperbolic tangent.",
                   cpu::unary<Angles, VectorFunction::atanh>([](auto x) { return std::atanh(x); }),
                   "[0 0.5] -> [0 0.5493061443]");
}

}  // namespace millrace
