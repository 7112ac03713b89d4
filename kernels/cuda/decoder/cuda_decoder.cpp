#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/plan/checks.hpp"
#include "kernels/cuda/decoder/plan/plan_memory.hpp"
#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/decoder/prompts/long_prompt_attention.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "kernels/cuda/decoder/weights.hpp"
#include "kernels/rotary.hpp"

namespace sluice {
namespace {

/// Refuses what the tensor cores' kernels do not have.
void check_shape(const DecoderShape& shape, Precision precision) {
    constexpr std::uint32_t multiple = 8;
    constexpr std::uint32_t of_codes = 16;
    const std::uint32_t head_size = shape.size_of_head();
    const bool multiples = shape.width % (precision == Precision::fp8 ? of_codes : multiple) == 0 &&
                           shape.query_width() % multiple == 0 &&
                           shape.inner % (decoder::contracts_codes(shape, precision) ? 4 * of_codes : multiple) == 0;
    const bool heads = !decoder::is_narrow(precision) ||
                       (decoder::has_tensor_heads(head_size) && shape.width <= decoder::most_norm_width);
    if (precision == Precision::fp8 && !shape.gated && shape.activation == DecoderActivation::silu) {
        throw Error(ExitCode::unavailable, {.id = "E-GPU-067",
                                            .where = "run.precision",
                                            .what = "in fp8 a GPU has no decoder with the activation SiLU and no gates",
                                            .hint = "set run.precision = \"bf16\""});
    }
    if (precision == Precision::fp32 || (multiples && heads)) {
        return;
    }
    throw Error(ExitCode::unavailable,
                {.id = "E-GPU-067",
                 .where = "run.precision",
                 .what = std::string("in ") + std::string(name_of(precision)) + " a GPU has no decoder of width " +
                         std::to_string(shape.width) + ", " + std::to_string(shape.heads) + " heads of " +
                         std::to_string(head_size) + " and an inner width of " + std::to_string(shape.inner) +
                         ": widths are multiples of 8, in fp8 the first is one of 16 and, without gates, the last of "
                         "64; in bf16, fp16 and fp8 the first is at most 4096, and heads are of 32, 64 or 128",
                 .hint = precision == Precision::fp8 ? "set run.precision = \"bf16\", or \"fp32\""
                                                     : "set run.precision = \"fp32\""});
}

/// `shape` is of the longest text.
void check_positions(const DecoderShape& shape, Precision precision) {
    const bool in_order = precision == Precision::fp32 ||
                          (!decoder::is_narrow(precision) && !decoder::has_tensor_heads(shape.size_of_head()));
    if (in_order && shape.positions > decoder::most_positions_in_order) {
        throw Error(ExitCode::unavailable,
                    {.id = "E-GPU-068",
                     .where = "generate.max_prompt_tokens",
                     .what = fmt::format("in {} with heads of {} a GPU attends to at most {} positions, got {} with "
                                         "generate.max_new_tokens",
                                         name_of(precision), shape.size_of_head(), decoder::most_positions_in_order,
                                         shape.positions),
                     .hint = "lower them, or set run.precision = \"bf16\""});
    }
}

/// Products in two parts add up in twice as many registers as mma.sync leaves; those with codes of e4m3 are written for
/// wgmma.
void check_decoder_instructions(Device& device, Precision precision) {
    const bool by_wgmma_only = has_parts(precision) || precision == Precision::fp8;
    if (by_wgmma_only && as_cuda(device).instructions() != MatrixInstructions::wgmma) {
        throw Error(
            ExitCode::unavailable,
            {.id = "E-GPU-063",
             .where = "run.precision",
             .what = std::string("a decoder in ") + std::string(name_of(precision)) +
                     " needs a GPU of compute capability 9.0 and a build for 90a, got " + std::string(device.name()),
             .hint = precision == Precision::fp8
                         ? "set run.precision = \"bf16\", or build with 90a in CMAKE_CUDA_ARCHITECTURES"
                         : "set run.precision = \"fp32\", or build with 90a in CMAKE_CUDA_ARCHITECTURES"});
    }
}

/// Copied from the device: what work that is done has left there.
decoder::Batch batch_of(const decoder::Memory& memory) {
    decoder::Batch batch;
    check_cuda(cudaMemcpy(&batch, memory.batch, sizeof batch, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return batch;
}

/// Each pass makes at least one token, ends or checks a text, or computes a prefix, of which there are fewer than
/// items.
std::uint32_t most_passes(const decoder::Rule& rule, std::uint32_t items) {
    const std::uint64_t passes = std::uint64_t{items} * (rule.max_new + std::uint64_t{1});
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(passes, UINT32_MAX));
}

/// Runs passes until there are none left, at most `most`; `plan` enqueues what plans the next one. Those of a size are
/// rounds of a loop of their own, inside of one for all.
void run_passes(CudaStream& stream, const decoder::Memory& memory, decoder::Passes& passes, std::uint32_t most,
                const std::function<void(cudaStream_t)>& plan) {
    decoder::Batch& batch = *memory.batch;
    const auto all_sizes = [&] {
        for (std::uint32_t size = 0; size < decoder::sizes_up_to(memory.most_rows); ++size) {
            const auto pass = [&] {
                passes.enqueue(stream.handle(), size, [](std::string_view) {});
                plan(stream.handle());
            };
            stream.loop(&batch.more_of_size[size], most, pass);
        }
    };
    stream.loop(&batch.more, most, all_sizes);
    enqueue_expect_done(memory, stream.handle());
}

/// Checks drafts in a decoder's memory.
class CudaTextChecker final : public TextChecker {
public:
    CudaTextChecker(Device& device, const decoder::Rule& rule, std::uint32_t most_items, const decoder::Memory& memory,
                    decoder::Passes& passes)
        : rule_(rule),
          most_items_(most_items),
          memory_(memory),
          passes_(passes),
          bounds_(device.allocate(MemorySpace::device, sizeof(TextDoubt))),
          checks_(device.allocate(MemorySpace::device, most_items * sizeof(decoder::Check))) {
        set_bounds({});
    }

    void set_bounds(const TextDoubt& bounds) override {
        copy_now(bounds_.bytes(), std::as_bytes(std::span(&bounds, 1)));
    }

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= most_items_, "checker: more items than it was made for");
        expects(in.size() == 2 && out.size() == 2, "checker: takes items and choices, and makes texts and doubts");
        expects(in[0].size() == batch.items * rule_.io.input_bytes &&
                    in[1].size() == batch.items * sizeof(ChoiceDoubt) * rule_.max_new &&
                    out[0].size() == batch.items * rule_.io.output_bytes &&
                    out[1].size() == batch.items * sizeof(TextDoubt),
                "checker: input or output has the wrong size");
        if (batch.items == 0) {
            return;
        }
        const decoder::Drafts drafts{.items = in[0].data(),
                                     .results = out[0].data(),
                                     .choices = reinterpret_cast<const ChoiceDoubt*>(in[1].data()),
                                     .bounds = bounds_.as<TextDoubt>().data(),
                                     .checks = checks_.as<decoder::Check>().data(),
                                     .doubts = reinterpret_cast<TextDoubt*>(out[1].data()),
                                     .count = static_cast<std::uint32_t>(batch.items),
                                     .active = batch.active};
        CudaStream& of = as_cuda(stream);
        enqueue_begin_checks(memory_, rule_, drafts, of.handle());
        run_passes(of, memory_, passes_, most_passes(rule_, drafts.count),
                   [&](cudaStream_t handle) { enqueue_settle_checks(memory_, rule_, drafts, handle); });
    }

    [[nodiscard]] std::uint64_t checked() const override { return batch_of(memory_).checked; }
    [[nodiscard]] std::uint64_t corrected() const override { return batch_of(memory_).corrected; }

private:
    decoder::Rule rule_;
    std::uint32_t most_items_;
    decoder::Memory memory_;
    decoder::Passes& passes_;
    Buffer bounds_;
    Buffer checks_;
};

class CudaDecoder final : public Decoder {
public:
    CudaDecoder(const DecoderShape& shape, Precision precision, const TokenSampling& sampling,
                const decoder::Sizes& sizes, Device& device, std::uint32_t most_items, decoder::WeightsOnDevice weights)
        : sampling_(sampling),
          rule_(decoder::rule_of(sampling)),
          most_items_(most_items),
          weights_(std::move(weights)),
          plan_(device, sizes, decoder::long_prompt_on(as_cuda(device), precision, shape.size_of_head(), sampling),
                decoder::attends_in_product(as_cuda(device), precision, shape, sampling)),
          memory_(plan_.memory()) {
        const decoder::PassSetup setup{.device = device,
                                       .shape = shape,
                                       .precision = precision,
                                       .sampling = sampling_,
                                       .sizes = sizes,
                                       .weights = weights_,
                                       .memory = memory_};
        passes_ = decoder::make_passes(setup);
    }

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= most_items_, "decoder: more items than it was made for");
        expects(in.size() == 1 && (out.size() == 1 || out.size() == 2),
                "decoder: takes one tensor and makes one or two");
        const std::size_t of_texts = batch.items * sizeof(TextDoubt);
        const std::size_t of_choices = batch.items * sizeof(ChoiceDoubt) * sampling_.max_new;
        const std::size_t doubt_bytes = out.size() == 2 ? out[1].size() : 0;
        expects(in[0].size() == batch.items * rule_.io.input_bytes &&
                    out[0].size() == batch.items * rule_.io.output_bytes &&
                    (out.size() == 1 || doubt_bytes == of_texts || doubt_bytes == of_choices),
                "decoder: input or output has the wrong size");
        if (batch.items == 0) {
            return;
        }
        decoder::Chunk chunk{.in = in[0].data(),
                             .out = out[0].data(),
                             .items = static_cast<std::uint32_t>(batch.items),
                             .active = batch.active};
        if (doubt_bytes == of_texts) {
            chunk.doubts = reinterpret_cast<TextDoubt*>(out[1].data());
        } else if (doubt_bytes == of_choices) {
            chunk.choices = reinterpret_cast<ChoiceDoubt*>(out[1].data());
        }
        continue_texts(as_cuda(stream), chunk);
    }

    [[nodiscard]] TextCounts counts() const override { return batch_of(memory_).counts; }

    [[nodiscard]] std::unique_ptr<TextChecker> make_checker(Device& device, std::uint32_t most_items) override {
        return std::make_unique<CudaTextChecker>(device, rule_, most_items, memory_, *passes_);
    }

private:
    void continue_texts(CudaStream& stream, const decoder::Chunk& chunk) {
        enqueue_begin(memory_, rule_, chunk, stream.handle());
        run_passes(stream, memory_, *passes_, most_passes(rule_, chunk.items),
                   [&](cudaStream_t handle) { enqueue_plan(memory_, rule_, handle); });
    }

    TokenSampling sampling_;
    decoder::Rule rule_;
    std::uint32_t most_items_;
    decoder::WeightsOnDevice weights_;
    decoder::PlanMemory plan_;
    decoder::Memory memory_;
    std::unique_ptr<decoder::Passes> passes_;
};

class CudaDecoderLayer final : public DecoderLayer {
public:
    CudaDecoderLayer(const DecoderShape& shape, Precision precision, const DecoderWeights& weights,
                     const TokenSampling& sampling, PackedWeights& packed)
        : shape_(shape_for_texts(shape, sampling.max_prompt + std::uint64_t{sampling.max_new})),
          precision_(precision),
          sampling_(sampling),
          weights_(shape_, precision, weights, packed) {
        expects(sampling.kv_cache == KvCache::as_computed || decoder::is_narrow(precision),
                "decoder: keys and values are quantised where they have two bytes only");
        check_shape(shape_, precision);
        check_positions(shape_, precision);
    }

    std::unique_ptr<Decoder> make_decoder(Device& device, std::uint32_t most_items,
                                          std::uint64_t device_bytes) const override {
        check_decoder_instructions(device, precision_);
        decoder::check_choice(shape_.vocabulary, sampling_, precision_, as_cuda(device).block_shared_bytes(),
                              device.name());
        return std::make_unique<CudaDecoder>(shape_, precision_, sampling_, sizes_on(device, most_items, device_bytes),
                                             device, most_items, weights_.on(device));
    }

    std::uint64_t least_bytes(std::uint32_t most_items) const override {
        return decoder::bytes_of(decoder::least_sizes(sampling_, most_items), shape_, sampling_, precision_,
                                 MatrixInstructions::mma);
    }

    std::uint64_t bytes(Device& device, std::uint32_t most_items, std::uint64_t device_bytes) const override {
        return decoder::bytes_of(sizes_on(device, most_items, device_bytes), shape_, sampling_, precision_,
                                 as_cuda(device).instructions());
    }

private:
    [[nodiscard]] decoder::Sizes sizes_on(Device& device, std::uint32_t most_items, std::uint64_t device_bytes) const {
        return decoder::choose_sizes(shape_, sampling_, precision_, as_cuda(device).instructions(), most_items,
                                     device_bytes);
    }

    DecoderShape shape_;
    Precision precision_;
    TokenSampling sampling_;
    decoder::CudaDecoderWeights weights_;
};

}  // namespace

std::unique_ptr<DecoderLayer> make_cuda_decoder(const DecoderShape& shape, Precision precision,
                                                const DecoderWeights& weights, const TokenSampling& sampling,
                                                PackedWeights& packed) {
    return std::make_unique<CudaDecoderLayer>(shape, precision, weights, sampling, packed);
}

}  // namespace sluice
