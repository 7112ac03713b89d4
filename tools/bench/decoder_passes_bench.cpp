#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/plan/plan_memory.hpp"
#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/decoder/prompts/long_prompt_attention.hpp"
#include "tools/bench/decoder_bench.hpp"

namespace sluice::bench {
namespace {

/// A pass's kernels of one kind.
struct Work {
    double flop = 0;
    double bytes = 0;
};

/// For `rows` rows, `entries` of which need scores and `prompt_rows` belong to `prompts`, of those lengths; the others
/// attend to `positions`.
struct PassWork {
    DecoderShape shape;
    double rows;
    double entries;
    std::vector<std::uint32_t> prompts;  ///< But those to which a product attends.
    std::uint32_t long_prompt;           ///< See decoder::Memory.
    double prompt_rows;
    double cached_rows;  ///< Whose keys and values no product writes to the cache.
    double positions;
    double value_bytes;
    double normed_bytes;  ///< Of a value that is written for a block's product; 0: products scale their rows.

    [[nodiscard]] Work of(std::string_view kind) const {
        const double width = shape.width;
        const double query_width = shape.query_width();
        const double layers = shape.layers;
        const double row_bytes = width * value_bytes;
        const double key_bytes = shape.key_width() * value_bytes;
        const double all = (layers - 1) * rows + entries;  // for work that the last layer does not do for every row
        if (kind == "queries, keys, values") {
            return {.flop = layers * rows * 2 * width * shape.attention_width()};
        }
        if (kind == "projection") {
            return {.flop = all * 2 * width * query_width};
        }
        if (kind == "expansion") {
            return {.flop = all * 2 * width * shape.expanded_width()};
        }
        if (kind == "contraction") {
            return {.flop = all * 2 * width * shape.inner};
        }
        if (kind == "head") {
            return {.flop = entries * 2 * width * shape.vocabulary};
        }
        if (kind == "embedding") {
            return {.bytes = rows * (2 * row_bytes + 4 * width)};
        }
        if (kind == "normalisation") {
            const double of_blocks = normed_bytes == 0 ? 0 : (all + layers * rows) * (row_bytes + width * normed_bytes);
            return {.bytes = of_blocks + entries * 2 * row_bytes};
        }
        if (kind == "into the cache") {
            return {.bytes = cached_rows * 4 * key_bytes};
        }
        if (kind == "attention of prompts" || kind == "attention of long prompts") {
            Work work;
            for (const double length : prompts) {
                if ((length >= long_prompt) == (kind == "attention of long prompts")) {
                    work.flop += (layers - 1) * length * 4 * query_width * length / 2;  // a query sees half of the keys
                    work.bytes += (layers - 1) * length * (2 * query_width * value_bytes + 4 * key_bytes);
                }
            }
            return work;
        }
        if (kind == "attention to the cache") {
            const double continued = rows - prompt_rows;
            return {.bytes = ((layers - 1) * continued + entries) *
                             (2 * positions * key_bytes + 2 * query_width * value_bytes)};
        }
        return {};
    }
};

/// A chunk of texts that fills all slots, or the cache, one pass at a time.
class PassBench {
public:
    PassBench(CudaDevice& gpu, Precision precision, const DecoderBenchWeights& weights, const Prompts& prompts,
              const TokenSampling& sampling)
        : shape_(weights.shape()),
          sampling_(sampling),
          precision_(precision),
          packer_(weights.shape(), precision, weights.weights(), packed_) {
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 16);
        weights_ = packer_.on(gpu);
        sizes_ =
            decoder::choose_sizes(shape_, sampling_, precision, gpu.instructions(), prompts.items, free_bytes(gpu));
        plan_ = std::make_unique<decoder::PlanMemory>(
            gpu, sizes_, decoder::long_prompt_on(gpu, precision, shape_.size_of_head(), sampling_),
            decoder::attends_in_product(gpu, precision, shape_, sampling_));
        memory_ = plan_->memory();
        const decoder::PassSetup setup{.device = gpu,
                                       .shape = shape_,
                                       .precision = precision,
                                       .sampling = sampling_,
                                       .sizes = sizes_,
                                       .weights = weights_,
                                       .memory = memory_};
        passes_ = decoder::make_passes(setup);
        items_ = std::min(sizes_.slots, sizes_.pages / sizes_.text_pages);
        const std::vector<std::byte> items =
            items_of({.items = items_, .least = prompts.least, .most = prompts.most}, sampling_, shape_.vocabulary);
        in_ = gpu.allocate(MemorySpace::device, items.size());
        out_ = gpu.allocate(MemorySpace::device, std::size_t{items_} * decoder_io(sampling_).output_bytes);
        copy_now(in_.bytes(), items);
    }

    void print(cudaStream_t stream) {
        run_chunk(stream);  // loads the kernels
        run_chunk(stream);
        print_pass("prompts", 0, stream);
        if (sampling_.max_new > 3) {
            print_pass("last tokens", passes_of_prompts() + 2, stream);
        }
    }

private:
    using Times = std::map<std::string, double>;  // us per pass, by kind of kernel

    /// At most.
    [[nodiscard]] std::uint32_t passes_of_prompts() const {
        const std::uint32_t a_pass = sizes_.rows / sampling_.max_prompt;
        return (items_ + a_pass - 1) / a_pass;
    }

    /// Runs a chunk; returns the times of its pass `number`, if there is one.
    Times run_chunk(cudaStream_t stream, std::optional<std::uint32_t> number = {}) {
        const decoder::Rule rule = decoder::rule_of(sampling_);
        Times times;
        decoder::enqueue_begin(memory_, rule, {.in = in_.bytes().data(), .out = out_.bytes().data(), .items = items_},
                               stream);
        for (std::uint32_t pass = 0; pass < passes_of_prompts() + sampling_.max_new; ++pass) {
            if (pass == number) {
                times = time_pass(stream);
            } else {
                passes_->enqueue(stream, largest_size(), [](std::string_view) {});
            }
            decoder::enqueue_plan(memory_, rule, stream);
        }
        decoder::enqueue_expect_done(memory_, stream);
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return times;
    }

    /// Suits all passes, if not best.
    [[nodiscard]] std::uint32_t largest_size() const { return decoder::pass_size_of(memory_.most_rows); }

    Times time_pass(cudaStream_t stream) {
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check_cuda(cudaMemcpy(&seen_, memory_.batch, sizeof seen_, cudaMemcpyDeviceToHost), "cudaMemcpy");
        new_texts_.resize(seen_.beginning);
        check_cuda(cudaMemcpy(new_texts_.data(), memory_.entries, new_texts_.size() * sizeof(decoder::Entry),
                              cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
        std::vector<std::pair<std::string, cudaEvent_t>> events;
        const auto mark = [&](std::string_view kind) {
            cudaEvent_t event = nullptr;
            check_cuda(cudaEventCreate(&event), "cudaEventCreate");
            check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
            events.emplace_back(kind, event);
        };
        passes_->enqueue(stream, decoder::pass_size_of(seen_.rows), mark);
        mark("end");
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Times times;
        for (std::size_t i = 0; i + 1 < events.size(); ++i) {
            float ms = 0;
            check_cuda(cudaEventElapsedTime(&ms, events[i].second, events[i + 1].second), "cudaEventElapsedTime");
            times[events[i].first] += 1e3 * static_cast<double>(ms);
        }
        for (const auto& [kind, event] : events) {
            check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
        }
        return times;
    }

    /// Of a product.
    [[nodiscard]] Precision factors_of(std::string_view kind) const {
        const bool in_values = kind == "projection" || kind == "head" ||
                               (kind == "contraction" && !decoder::contracts_codes(shape_, precision_));
        return in_values ? values_in(precision_) : precision_;
    }

    void print_pass(const char* name, std::uint32_t number, cudaStream_t stream) {
        constexpr int repeats = 5;
        std::map<std::string, std::vector<double>> samples;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            for (const auto& [kind, us] : run_chunk(stream, number)) {
                samples[kind].push_back(us);
            }
        }
        std::vector<std::uint32_t> lengths;
        std::uint32_t cached_rows = seen_.rows;
        for (const decoder::Entry& text : new_texts_) {
            if (text.first_tile == decoder::no_tile) {
                cached_rows -= text.rows;
            } else {
                lengths.push_back(text.rows);
            }
        }
        const PassWork work{.shape = shape_,
                            .rows = static_cast<double>(seen_.rows),
                            .entries = static_cast<double>(seen_.entries),
                            .prompts = std::move(lengths),
                            .long_prompt = memory_.long_prompt,
                            .prompt_rows = static_cast<double>(seen_.beginning_rows),
                            .cached_rows = static_cast<double>(cached_rows),
                            .positions = sampling_.max_prompt + (number == 0 ? 0.0 : 3.0),
                            .value_bytes = static_cast<double>(number_bytes(values_in(precision_))),
                            .normed_bytes = precision_ == Precision::fp8     ? 1.0
                                            : decoder::is_narrow(precision_) ? 0.0
                                                                             : 4.0};
        fmt::print(" a pass of {}: {} rows, {} of prompts, {} want scores; kernels apart, medians of {}\n", name,
                   seen_.rows, seen_.beginning_rows, seen_.entries, repeats);
        double all = 0;
        double all_limits = 0;
        for (auto& [kind, us] : samples) {
            std::ranges::sort(us);
            const double median = us[us.size() / 2];
            const Work of = work.of(kind);
            const double limit = 1e6 * std::max(of.flop / sustained_flops(factors_of(kind)), of.bytes / memory_rate);
            all += median;
            all_limits += limit;
            fmt::print("  {:24} {:9.1f} us, limit {:9.1f} us, {:5.1f} %{}\n", kind, median, limit, 100 * limit / median,
                       of.flop > 0 ? fmt::format(", {:.0f} TFLOP/s", of.flop / median * 1e-6) : std::string());
        }
        fmt::print("  {:24} {:9.1f} us, limit {:9.1f} us, {:5.1f} %\n", "all", all, all_limits, 100 * all_limits / all);
        std::fflush(stdout);
    }

    DecoderShape shape_;
    TokenSampling sampling_;
    Precision precision_;
    PackedWeights packed_;
    decoder::CudaDecoderWeights packer_;
    decoder::WeightsOnDevice weights_;
    decoder::Sizes sizes_{};
    std::uint32_t items_ = 0;  // whose texts all fit at a time
    std::unique_ptr<decoder::PlanMemory> plan_;
    decoder::Memory memory_;
    std::unique_ptr<decoder::Passes> passes_;
    Buffer in_;
    Buffer out_;
    decoder::Batch seen_{};
    std::vector<decoder::Entry> new_texts_;  // of the pass in seen_
};

}  // namespace

void time_passes(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
                 const Prompts& prompts, const TokenSampling& sampling) {
    PassBench(gpu, precision, weights, prompts, sampling).print(stream.handle());
}

}  // namespace sluice::bench
