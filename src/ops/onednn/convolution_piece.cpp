#include "ops/onednn/convolution_piece.h"

#include <utility>

#include "base/text.h"
#include "kernels/transpose.h"
#include "tenon/error.h"

namespace tenon::onednn {

namespace {

using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;

// All that a piece depends on, in a row.
using Key = std::array<std::int64_t, 42>;

Key key_of(const PieceSizes& p) {
  Key key{};
  std::size_t at = 0;
  const auto add = [&](std::int64_t value) { key[at++] = value; };
  const auto add_all = [&](const auto& values) {
    for (const std::int64_t value : values) add(value);
  };
  const ConvolutionSizes& s = p.sizes;
  add(static_cast<std::int64_t>(p.kind));
  add(static_cast<std::int64_t>(p.dtype));
  add(p.bias);
  add(s.batch);
  add(s.groups);
  add(s.in_channels);
  add(s.out_channels);
  add(static_cast<std::int64_t>(s.dims));
  for (const auto* values : {&s.in, &s.out, &s.kernel, &s.stride, &s.padding, &s.dilation})
    add_all(*values);
  for (const auto* values : {&p.in, &p.out, &p.weight}) add_all(*values);
  static_assert(std::tuple_size<Key>::value >= 8 + 6 * 3 + 3 * 5);
  return key;
}

class Maker {
 public:
  explicit Maker(const PieceSizes& piece) : p_(piece), s_(piece.sizes) {
    const auto dims = static_cast<std::size_t>(s_.dims);
    for (std::size_t d = 3 - dims; d < 3; ++d) {
      const std::int64_t reach = (s_.kernel[d] - 1) * s_.dilation[d] + 1;
      const std::int64_t after = (s_.out[d] - 1) * s_.stride[d] + reach - s_.in[d] - s_.padding[d];
      possible_ = possible_ && s_.in[d] > 0 && s_.out[d] > 0 && s_.padding[d] >= 0 &&
                  after + s_.stride[d] > 0;
      stride_.push_back(s_.stride[d]);
      dilation_.push_back(s_.dilation[d] - 1);
      before_.push_back(s_.padding[d]);
      after_.push_back(after);
    }
  }

  std::shared_ptr<const Piece> make() {
    if (!possible_) return nullptr;
    const auto type = type_of(p_.dtype);
    const Dims in = data_dims(s_.in_channels, s_.in), out = data_dims(s_.out_channels, s_.out);
    const bool weights = p_.kind == ConvolutionKind::weights;
    const auto weight_type = weights ? dnnl::memory::data_type::f32 : type;
    const auto any = dnnl::memory::format_tag::any;
    piece_.in_plain = {in, type, data_strides(in, p_.in)};
    piece_.out_plain = {out, type, data_strides(out, p_.out)};
    piece_.weight_plain = {weight_dims(), weight_type, weight_strides()};
    if (p_.bias) piece_.bias = {{s_.out_channels}, type, dnnl::memory::format_tag::a};
    in_ = {in, type, any};
    out_ = {out, type, any};
    weight_ = {weight_dims(), weight_type, any};
    try {
      const bool made = p_.kind == ConvolutionKind::forward      ? make_forward()
                        : p_.kind == ConvolutionKind::transposed ? make_transposed()
                                                                 : make_weights();
      if (!made) return nullptr;
      piece_.in_fits = piece_.in == piece_.in_plain;
      piece_.out_fits = piece_.out == piece_.out_plain;
      piece_.turn_in = turn_of(in, p_.in, s_.in_positions(), piece_.in);
      piece_.turn_out = turn_of(out, p_.out, s_.out_positions(), piece_.out);
      piece_.weight_number = number_of(piece_.weight);
      piece_.arrange_in = p_.kind == ConvolutionKind::transposed
                              ? reorder(piece_.in, piece_.in_plain)
                              : reorder(piece_.in_plain, piece_.in);
      piece_.arrange_out = p_.kind == ConvolutionKind::forward
                               ? reorder(piece_.out, piece_.out_plain)
                               : reorder(piece_.out_plain, piece_.out);
      piece_.arrange_weight = weights ? reorder(piece_.weight, piece_.weight_plain)
                                      : reorder(piece_.weight_plain, piece_.weight);
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments)
        return nullptr;
      throw Error(concat("oneDNN cannot prepare a convolution: ", error.what()));
    }
    return std::make_shared<const Piece>(std::move(piece_));
  }

 private:
  Dims data_dims(std::int64_t channels, const std::array<std::int64_t, 3>& sizes) const {
    Dims dims{s_.batch, channels};
    dims.insert(dims.end(), sizes.end() - static_cast<std::ptrdiff_t>(s_.dims), sizes.end());
    return dims;
  }
  // Of one sample the stride of samples means nothing; it is set so that what is packed looks it.
  Dims data_strides(const Dims& dims, const ElementStrides& from) const {
    Dims strides(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(dims.size()));
    if (s_.batch == 1) {
      strides[0] = 1;
      for (std::size_t d = 1; d < dims.size(); ++d) strides[0] *= dims[d];
    }
    return strides;
  }
  // For a tensor with channels first whose positions are packed, and a description with all
  // channels side by side, or blocks of 16 or 8 of them.
  Turn turn_of(const Dims& dims, const ElementStrides& strides, std::int64_t positions,
               const Description& arranged) const {
    if (p_.dtype != float32) return {};
    std::int64_t packed = 1;
    for (std::size_t d = dims.size() - 1; d >= 2; --d) {
      if (strides[d] != packed && dims[d] != 1) return {};
      packed *= dims[d];
    }
    using Tag = dnnl::memory::format_tag;
    const bool deep = s_.dims == 3;
    const auto is = [&](Tag flat_tag, Tag deep_tag) {
      return arranged ==
             Description(dims, dnnl::memory::data_type::f32, deep ? deep_tag : flat_tag);
    };
    std::int64_t block = 0;
    if (is(Tag::acdb, Tag::acdeb)) block = dims[1];
    if (dims[1] % 16 == 0 && is(Tag::aBcd16b, Tag::aBcde16b)) block = 16;
    if (dims[1] % 8 == 0 && is(Tag::aBcd8b, Tag::aBcde8b)) block = 8;
    if (block == 0) return {};
    return {block, s_.batch, dims[1] / block, positions, strides[0], strides[1]};
  }
  Dims weight_dims() const {
    Dims dims{s_.out_channels / s_.groups, s_.in_channels / s_.groups};
    if (s_.groups > 1) dims.insert(dims.begin(), s_.groups);
    dims.insert(dims.end(), s_.kernel.end() - static_cast<std::ptrdiff_t>(s_.dims),
                s_.kernel.end());
    return dims;
  }
  Dims weight_strides() const {
    Dims strides(p_.weight.begin(), p_.weight.begin() + 2 + static_cast<std::ptrdiff_t>(s_.dims));
    if (s_.groups > 1)
      strides.insert(strides.begin(), p_.weight[0] * (s_.out_channels / s_.groups));
    return strides;
  }
  static dnnl::reorder reorder(const Description& from, const Description& to) {
    return dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to));
  }

  dnnl::convolution_forward::primitive_desc forward_description(dnnl::prop_kind kind) const {
    const auto direct = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    if (p_.bias)
      return {engine(), kind,    direct,    in_,     weight_, piece_.bias,
              out_,     stride_, dilation_, before_, after_,  own_scratch()};
    return {engine(), kind,      direct,  in_,    weight_,      out_,
            stride_,  dilation_, before_, after_, own_scratch()};
#else
    using Operation = dnnl::convolution_forward::desc;
    return {p_.bias
                ? Operation(kind, direct, in_, weight_, piece_.bias, out_, stride_, dilation_,
                            before_, after_)
                : Operation(kind, direct, in_, weight_, out_, stride_, dilation_, before_, after_),
            own_scratch(), engine()};
#endif
  }

  template <class P>
  bool take(const P& description) {
    if (is_reference(description.impl_info_str())) return false;
    piece_.scratch = description.scratchpad_desc();
    return true;
  }

  bool make_forward() {
    const auto description = forward_description(dnnl::prop_kind::forward_inference);
    if (!take(description)) return false;
    piece_.in = description.src_desc();
    piece_.weight = description.weights_desc();
    piece_.out = description.dst_desc();
    piece_.primitive = dnnl::convolution_forward(description);
    return true;
  }
  bool make_transposed() {
    const auto hint = forward_description(dnnl::prop_kind::forward_training);
    const auto direct = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_data::primitive_desc description(
        engine(), direct, in_, weight_, out_, stride_, dilation_, before_, after_, hint,
        own_scratch());
#else
    const dnnl::convolution_backward_data::primitive_desc description(
        dnnl::convolution_backward_data::desc(direct, in_, weight_, out_, stride_, dilation_,
                                              before_, after_),
        own_scratch(), engine(), hint);
#endif
    if (!take(description)) return false;
    piece_.in = description.diff_src_desc();
    piece_.weight = description.weights_desc();
    piece_.out = description.diff_dst_desc();
    piece_.primitive = dnnl::convolution_backward_data(description);
    return true;
  }
  bool make_weights() {
    // The hint's weight is of the dtype of the rest.
    const Description weight = std::exchange(
        weight_, Description(weight_dims(), type_of(p_.dtype), dnnl::memory::format_tag::any));
    const auto hint = forward_description(dnnl::prop_kind::forward_training);
    const auto direct = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_weights::primitive_desc description(
        engine(), direct, in_, weight, out_, stride_, dilation_, before_, after_, hint,
        own_scratch());
#else
    const dnnl::convolution_backward_weights::primitive_desc description(
        dnnl::convolution_backward_weights::desc(direct, in_, weight, out_, stride_, dilation_,
                                                 before_, after_),
        own_scratch(), engine(), hint);
#endif
    if (!take(description)) return false;
    piece_.in = description.src_desc();
    piece_.weight = description.diff_weights_desc();
    piece_.out = description.diff_dst_desc();
    piece_.primitive = dnnl::convolution_backward_weights(description);
    return true;
  }

  const PieceSizes& p_;
  const ConvolutionSizes& s_;
  Dims stride_, dilation_, before_, after_;
  Description in_, out_, weight_;
  bool possible_ = true;
  Piece piece_;
};

}  // namespace

namespace {

// Calls f(in the tensor, in the description) for every block of channels of every sample.
template <class F>
void for_each_block(const Turn& turn, F&& f) {
  for (std::int64_t n = 0; n < turn.batch; ++n) {
    for (std::int64_t b = 0; b < turn.blocks; ++b) {
      f(n * turn.sample_stride + b * turn.block * turn.channel_stride,
        (n * turn.blocks + b) * turn.block * turn.positions);
    }
  }
}
float* floats(const dnnl::memory& memory) { return static_cast<float*>(memory.get_data_handle()); }

}  // namespace

void bring(dnnl::stream& stream, const dnnl::reorder& arrange, const Turn& turn,
           const dnnl::memory& plain, const dnnl::memory& arranged) {
  if (turn.block == 0)
    return arrange.execute(stream, {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, arranged}});
  for_each_block(turn, [&](std::int64_t from, std::int64_t to) {
    transpose_floats(floats(plain) + from, turn.channel_stride, turn.block, turn.positions,
                     floats(arranged) + to, turn.block);
  });
}
void bring_back(dnnl::stream& stream, const dnnl::reorder& arrange, const Turn& turn,
                const dnnl::memory& arranged, const dnnl::memory& plain) {
  if (turn.block == 0)
    return arrange.execute(stream, {{DNNL_ARG_FROM, arranged}, {DNNL_ARG_TO, plain}});
  for_each_block(turn, [&](std::int64_t to, std::int64_t from) {
    transpose_floats(floats(arranged) + from, turn.block, turn.positions, turn.block,
                     floats(plain) + to, turn.channel_stride);
  });
}

std::shared_ptr<const Piece> piece_of(const PieceSizes& sizes) {
  static auto& made = *new Cache<Key, Piece>(1024);
  return made.get(key_of(sizes), [&] { return Maker(sizes).make(); });
}

}  // namespace tenon::onednn
