#include "millrace/ops/onednn/convolution.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <vector>

#include "millrace/ops/onednn/library.h"
#include "millrace/tensor/tensor.h"

namespace millrace::onednn {
namespace {

// An object of oneDNN's with its own way of being destroyed.
template <class Object, class Destroy>
class Owned {
 public:
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  ~Owned() {
    if (object_ != nullptr) destroy_(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Object* address() { return &object_; }
  Object get() const { return object_; }

 private:
  Object object_ = nullptr;
  const Destroy destroy_;
};
template <class Destroy>
struct ObjectOf;
template <class Object>
struct ObjectOf<dnnl_status_t (*)(Object)> {
  using type = Object;
};
template <class Destroy>
Owned(Destroy) -> Owned<typename ObjectOf<Destroy>::type, Destroy>;

using PrimitiveDesc = Owned<dnnl_primitive_desc_t, decltype(Library::primitive_desc_destroy)>;
using Primitive = Owned<dnnl_primitive_t, decltype(Library::primitive_destroy)>;

constexpr const char* kConvolving = "a convolution";

using Dims = std::vector<dnnl_dim_t>;

// The descriptors of the three tensors as we have them.
struct Layouts {
  dnnl_memory_desc_t images, filter, outputs;
};

// Images have no axis `axis` of planes.
void drop_depth(const ConvolutionSpec& s, int axis, Dims& dims, Dims& strides) {
  if (s.has_depth()) return;
  dims.erase(dims.begin() + axis);
  strides.erase(strides.begin() + axis);
}

Status describe(const Library& lib, const ConvolutionSpec& s, Layouts& made) {
  const auto init = [&](dnnl_memory_desc_t& desc, const Dims& dims, const Dims& strides) {
    return status_of(lib.memory_desc_init_by_strides(&desc, static_cast<int>(dims.size()),
                                                     dims.data(), dnnl_f32, strides.data()),
                     kConvolving);
  };
  const auto image = [&](dnnl_memory_desc_t& desc, int64_t z, int64_t y, int64_t x,
                         int64_t channels) {
    Dims dims = {s.batch, channels, z, y, x};
    Dims strides = {z * y * x * channels, 1, y * x * channels, x * channels, channels};
    drop_depth(s, 2, dims, strides);
    return init(desc, dims, strides);
  };
  MR_TRY(image(made.images, s.z.in, s.y.in, s.x.in, s.channels));
  MR_TRY(image(made.outputs, s.z.out, s.y.out, s.x.out, s.outputs));
  const int64_t channels = s.channels / s.groups, outputs = s.outputs / s.groups;
  const int64_t column = channels * s.outputs, row = s.x.window * column;
  Dims dims = {s.groups, outputs, channels, s.z.window, s.y.window, s.x.window};
  Dims strides = {outputs, 1, s.outputs, s.y.window * row, row, column};
  drop_depth(s, 3, dims, strides);
  if (s.groups == 1) {  // no axis for groups where there are none
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return init(made.filter, dims, strides);
}

// A number for each spatial axis.
template <class Number>
Dims of_sides(const ConvolutionSpec& s, Number number) {
  if (!s.has_depth()) return {number(s.y), number(s.x)};
  return {number(s.z), number(s.y), number(s.x)};
}

dnnl_dim_t padded_behind(const ConvolutionSide& side) {
  const int64_t reach = (side.window - 1) * side.dilation + 1;
  return std::max<int64_t>(0, (side.out - 1) * side.stride + reach - side.in - side.before);
}

// The operation, with a filter of any order. Backward ones are made with the forward one as a hint.
Status make_desc(const Library& lib, const ConvolutionSpec& s, const Layouts& as,
                 PrimitiveDesc& forward, PrimitiveDesc& made) {
  using Side = const ConvolutionSide&;
  const Dims strides = of_sides(s, [](Side side) { return side.stride; });
  const Dims dilations = of_sides(s, [](Side side) { return side.dilation - 1; });
  const Dims before = of_sides(s, [](Side side) { return side.before; });
  const Dims behind = of_sides(s, padded_behind);
  dnnl_memory_desc_t any;
  MR_TRY(status_of(lib.memory_desc_init_by_tag(&any, as.filter.ndims, as.filter.dims, dnnl_f32,
                                               dnnl_format_tag_any),
                   kConvolving));
  Owned attributes(lib.primitive_attr_destroy);
  MR_TRY(status_of(lib.primitive_attr_create(attributes.address()), kConvolving));
  // A scratchpad per call, from our memory: then threads may share the primitive.
  MR_TRY(
      status_of(lib.primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user),
                kConvolving));
  dnnl_convolution_desc_t desc;
  const auto make = [&](dnnl_status_t described, PrimitiveDesc& into,
                        const_dnnl_primitive_desc_t hint) -> Status {
    MR_TRY(status_of(described, kConvolving));
    return status_of(
        lib.primitive_desc_create(into.address(), &desc, attributes.get(), lib.engine, hint),
        kConvolving);
  };
  const bool is_forward = s.direction == Direction::forward;
  MR_TRY(make(lib.dilated_convolution_forward_desc_init(
                  &desc, dnnl_forward_training, dnnl_convolution_direct, &as.images, &any, nullptr,
                  &as.outputs, strides.data(), dilations.data(), before.data(), behind.data()),
              is_forward ? made : forward, nullptr));
  if (is_forward) return {};
  if (s.direction == Direction::by_images) {
    return make(lib.dilated_convolution_backward_data_desc_init(
                    &desc, dnnl_convolution_direct, &as.images, &any, &as.outputs, strides.data(),
                    dilations.data(), before.data(), behind.data()),
                made, forward.get());
  }
  return make(lib.dilated_convolution_backward_weights_desc_init(
                  &desc, dnnl_convolution_direct, &as.images, &any, nullptr, &as.outputs,
                  strides.data(), dilations.data(), before.data(), behind.data()),
              made, forward.get());
}

// Whether the elements of two descriptors of one tensor stand in the same order: also if one has
// all channels in a block, for which oneDNN has better code than for channels that come last.
bool is_same_order(const dnnl_memory_desc_t& blocked, const dnnl_memory_desc_t& plain) {
  if (blocked.format_kind != dnnl_blocked || blocked.extra.flags != 0) return false;
  const dnnl_blocking_desc_t& blocks = blocked.format_desc.blocking;
  if (blocks.inner_nblks > 1) return false;
  const bool has_block = blocks.inner_nblks == 1;
  if (has_block && (blocks.inner_idxs[0] != 1 || blocks.inner_blks[0] != plain.dims[1]))
    return false;
  for (int axis = 0; axis < plain.ndims; ++axis) {
    if (blocked.padded_dims[axis] != plain.dims[axis]) return false;
    if (plain.dims[axis] == 1 || (has_block && axis == 1)) continue;
    if (blocks.strides[axis] != plain.format_desc.blocking.strides[axis]) return false;
  }
  return true;
}

struct Argument {
  int name;
  const dnnl_memory_desc_t& desc;
  void* data;
};

// A primitive with the tensors that it is called with, whose data may be others at each call.
class Call {
 public:
  explicit Call(const Library& lib) : lib_(lib) {}

  Status make(const_dnnl_primitive_t primitive, std::initializer_list<Argument> with) {
    primitive_ = primitive;
    MR_TRY(status_of(lib_.stream_create(stream_.address(), lib_.engine, dnnl_stream_default_flags),
                     kConvolving));
    args_.reserve(with.size());
    for (const Argument& argument : with) {
      auto& memory = memories_.emplace_back(lib_.memory_destroy);
      MR_TRY(status_of(
          lib_.memory_create(memory.address(), &argument.desc, lib_.engine, argument.data),
          kConvolving));
      args_.push_back({argument.name, memory.get()});
    }
    return {};
  }

  Status set(size_t argument, void* data) {
    return status_of(lib_.memory_set_data_handle(args_[argument].memory, data), kConvolving);
  }

  Status run() {
    const OneThread alone(lib_);
    MR_TRY(status_of(lib_.primitive_execute(primitive_, stream_.get(),
                                            static_cast<int>(args_.size()), args_.data()),
                     kConvolving));
    return status_of(lib_.stream_wait(stream_.get()), kConvolving);
  }

 private:
  const Library& lib_;
  const_dnnl_primitive_t primitive_ = nullptr;
  Owned<dnnl_stream_t, decltype(Library::stream_destroy)> stream_{lib_.stream_destroy};
  std::deque<Owned<dnnl_memory_t, decltype(Library::memory_destroy)>> memories_;
  std::vector<dnnl_exec_arg_t> args_;
};

class OneCaller final : public ConvolutionCaller {
 public:
  OneCaller(const Library& lib, Tensor scratch) : scratch_(std::move(scratch)), call_(lib) {}

  Status make(const_dnnl_primitive_t primitive, const std::array<Argument, 3>& tensors,
              const dnnl_memory_desc_t& scratch) {
    return call_.make(primitive, {tensors[0],
                                  tensors[1],
                                  tensors[2],
                                  {DNNL_ARG_SCRATCHPAD, scratch, scratch_.mutable_data()}});
  }

  Status run(float* images, float* packed_filter, float* outputs) override {
    MR_TRY(call_.set(0, images));
    MR_TRY(call_.set(1, packed_filter));
    MR_TRY(call_.set(2, outputs));
    return call_.run();
  }

 private:
  Tensor scratch_;
  Call call_;
};

class OneConvolution final : public Convolution {
 public:
  explicit OneConvolution(const Library& lib) : lib_(lib) {}

  Status make(const ConvolutionSpec& spec) {
    const OneThread alone(lib_);
    direction_ = spec.direction;
    Layouts ours;
    MR_TRY(describe(lib_, spec, ours));
    Layouts any = ours;
    for (dnnl_memory_desc_t* const desc : {&any.images, &any.outputs}) {
      MR_TRY(status_of(lib_.memory_desc_init_by_tag(desc, desc->ndims, desc->dims, dnnl_f32,
                                                    dnnl_format_tag_any),
                       kConvolving));
    }
    // The order that oneDNN likes best may be ours by another name.
    if (make_as(spec, any, ours).ok()) return {};
    return make_as(spec, ours, ours);
  }

  int64_t packed_filter_elements() const override {
    return static_cast<int64_t>((lib_.memory_desc_get_size(&packed_) + sizeof(float) - 1) /
                                sizeof(float));
  }

  Status pack_filter(const float* filter, float* packed) const override {
    return reorder({DNNL_ARG_FROM, as_.filter, const_cast<float*>(filter)},
                   {DNNL_ARG_TO, packed_, packed});
  }

  Status unpack_filter(const float* packed, float* filter) const override {
    return reorder({DNNL_ARG_FROM, packed_, const_cast<float*>(packed)},
                   {DNNL_ARG_TO, as_.filter, filter});
  }

  Result<std::unique_ptr<ConvolutionCaller>> caller() const override {
    const auto bytes = static_cast<int64_t>(lib_.memory_desc_get_size(&scratch_));
    MR_ASSIGN(Tensor scratch, Tensor::allocate(DType::u8, {bytes}));
    auto made = std::make_unique<OneCaller>(lib_, std::move(scratch));
    const bool forward = direction_ == Direction::forward;
    const std::array<Argument, 3> tensors = {{
        {direction_ == Direction::by_images ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, as_.images,
         DNNL_MEMORY_NONE},
        {direction_ == Direction::by_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, packed_,
         DNNL_MEMORY_NONE},
        {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, as_.outputs, DNNL_MEMORY_NONE},
    }};
    MR_TRY(made->make(convolution_.get(), tensors, scratch_));
    return std::unique_ptr<ConvolutionCaller>(std::move(made));
  }

 private:
  // What oneDNN has no code for, it computes element by element, slower than anybody's loops.
  Status refuse_reference(const_dnnl_primitive_desc_t desc) const {
    const char* name = "";
    MR_TRY(status_of(lib_.primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name),
                     kConvolving));
    if (!std::string_view(name).starts_with("ref")) return {};
    return unimplemented("oneDNN has only a reference for this convolution");
  }

  // Errors: UNIMPLEMENTED also where oneDNN would have images or outputs in another order than
  // ours.
  Status make_as(const ConvolutionSpec& spec, const Layouts& as, const Layouts& ours) {
    PrimitiveDesc forward(lib_.primitive_desc_destroy), desc(lib_.primitive_desc_destroy);
    MR_TRY(make_desc(lib_, spec, as, forward, desc));
    MR_TRY(refuse_reference(desc.get()));
    const auto chosen = [&](dnnl_query_t what) {
      return *lib_.primitive_desc_query_md(desc.get(), what, 0);
    };
    const bool is_forward = direction_ == Direction::forward;
    as_.images =
        chosen(direction_ == Direction::by_images ? dnnl_query_diff_src_md : dnnl_query_src_md);
    as_.outputs = chosen(is_forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md);
    as_.filter = ours.filter;
    if (!is_same_order(as_.images, ours.images) || !is_same_order(as_.outputs, ours.outputs))
      return unimplemented("oneDNN would have images in another order");
    MR_TRY(status_of(lib_.primitive_create(convolution_.address(), desc.get()), kConvolving));
    const bool packs = direction_ != Direction::by_filter;
    packed_ = chosen(packs ? dnnl_query_weights_md : dnnl_query_diff_weights_md);
    scratch_ = chosen(dnnl_query_scratchpad_md);
    return make_reorder(packs ? as_.filter : packed_, packs ? packed_ : as_.filter);
  }

  Status make_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
    PrimitiveDesc desc(lib_.primitive_desc_destroy);
    MR_TRY(status_of(lib_.reorder_primitive_desc_create(desc.address(), &from, lib_.engine, &to,
                                                        lib_.engine, nullptr),
                     "the packing of a filter"));
    return status_of(lib_.primitive_create(reorder_.address(), desc.get()),
                     "the packing of a filter");
  }

  Status reorder(const Argument& from, const Argument& to) const {
    Call call(lib_);
    MR_TRY(call.make(reorder_.get(), {from, to}));
    return call.run();
  }

  const Library& lib_;
  Direction direction_ = Direction::forward;
  Layouts as_;
  dnnl_memory_desc_t packed_, scratch_;
  Primitive convolution_{lib_.primitive_destroy}, reorder_{lib_.primitive_destroy};
};

}  // namespace

Result<std::shared_ptr<const Convolution>> Convolution::create(const ConvolutionSpec& spec) {
  const Library* const lib = library();
  if (lib == nullptr) return unimplemented("oneDNN is not installed here");
  auto made = std::make_shared<OneConvolution>(*lib);
  MR_TRY(made->make(spec));
  return std::shared_ptr<const Convolution>(std::move(made));
}

Result<std::shared_ptr<const Convolution>> Convolutions::get(const ConvolutionSpec& spec) {
  MutexLock lock(mutex_);
  const auto found =
      std::find_if(made_.begin(), made_.end(), [&](const Made& made) { return made.spec == spec; });
  if (found != made_.end()) {
    std::rotate(found, found + 1, made_.end());
    return made_.back().convolution;
  }
  auto convolution = Convolution::create(spec);
  // What failed for want of memory may work another time.
  if (!convolution.ok() && convolution.status().code() != Code::unimplemented) return convolution;
  if (made_.size() == kMost) made_.erase(made_.begin());
  made_.push_back({spec, convolution});
  return convolution;
}

}  // namespace millrace::onednn
