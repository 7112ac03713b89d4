#include "kernels/cuda/decoder/product/float_product.hpp"

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/decoder/product/work.hpp"

namespace sluice::decoder {

FloatProduct::FloatProduct(const FloatProductShape& shape, Precision precision, const FloatProductMemory& memory,
                           std::optional<MatrixInstructions> instructions)
    : columns_(shape.columns) {
    expects(shape.rows > 0 && shape.columns > 0 && shape.depth > 0 && shape.depth % 8 == 0,
            "decoder: a product of nothing, or whose depth is no multiple of 8");
    expects(memory.active != nullptr, "decoder: a product without its number of active rows");
    const bool bests = memory.bests != nullptr;
    const bool sums = memory.score_sums != nullptr;
    expects(!sums || shape.temperature > 0, "decoder: sums of scores at no temperature");
    expects(!(bests && sums) || shape.temperature == 1, "decoder: sums beside bests at another temperature than 1");
    expects(memory.plain_sums == nullptr || (sums && !bests && memory.out == nullptr),
            "decoder: plain sums of scores beside anything but sums");
    expects(!(bests || sums) || (memory.bias == nullptr && memory.residual == nullptr &&
                                 shape.activation == Activation::none && !shape.rounds_to_tf32),
            "decoder: a product of bests or sums of scores that is more than a product");
    expects(bests || (sums && memory.out == nullptr) || (memory.stride % 2 == 0 && memory.stride >= shape.columns),
            "decoder: a product of values with an odd or too small stride");
    expects(!shape.in_parts || (has_parts(precision) && !bests && !sums && shape.columns % 8 == 0 &&
                                memory.stride % 8 == 0 && memory.residual == nullptr),
            "decoder: a product that writes parts is in tf32x3 or fp16x2, without residual, of multiples of 8 columns");
    const bool is_plain = shape.activation == Activation::none;
    expects(precision != Precision::fp16x2 || is_plain || (shape.activation == Activation::gelu_tanh && shape.in_parts),
            "decoder: a product of fp16x2 with an activation other than GPT-2's GELU, or that writes fp32 then");
    const bool by_wgmma = instructions.value_or(instructions_of_current_gpu()) == MatrixInstructions::wgmma;
    const FloatProductWork product = by_wgmma ? make_wgmma_float_product(shape, precision, memory)
                                              : make_mma_float_product(shape, precision, memory);
    work_ = product.work;
    tile_columns_ = product.tile_columns;
    expects(!bests || best_tiles() <= most_best_tiles(shape.columns),
            "decoder: a product with more tiles of bests than there is room for");
}

void FloatProduct::enqueue(cudaStream_t stream) const {
    work_->enqueue(stream);
}

}  // namespace sluice::decoder
