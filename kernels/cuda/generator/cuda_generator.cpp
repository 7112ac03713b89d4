#include <algorithm>
#include <memory>
#include <utility>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/generator/prefixes.hpp"
#include "kernels/cuda/generator/steps.hpp"
#include "kernels/cuda/generator/table.hpp"
#include "kernels/cuda/generator/weights.hpp"

namespace sluice {
namespace {

using generator::StepSizes;

StepSizes sizes_of(const GruShape& shape, Precision precision) {
    return precision == Precision::fp32 ? generator::simt_sizes(shape) : generator::tensor_sizes(shape, precision);
}

std::uint32_t rows_for(std::uint32_t most_items, const StepSizes& sizes) {
    const std::uint32_t items = std::clamp(most_items, 1U, sizes.most_rows);
    return rounded_up(items, sizes.row_multiple);
}

class CudaGenerator final : public Generator {
public:
    CudaGenerator(const GruShape& shape, Precision precision, const Sampling& sampling, Device& device,
                  std::uint32_t most_items, generator::WeightsOnDevice weights)
        : sampling_(sampling),
          io_(generator_io(sampling.max_length)),
          most_items_(most_items),
          weights_(std::move(weights)),
          most_rows_(rows_for(most_items, sizes_of(shape, precision))),
          batch_(device.allocate(MemorySpace::device, sizeof(generator::Batch))),
          rows_(device.allocate(MemorySpace::device, most_rows_ * sizeof(generator::Row))),
          symbols_(device.allocate(MemorySpace::device, most_rows_)),
          scores_(device.allocate(MemorySpace::device, std::size_t{most_rows_} * gru_symbols * sizeof(float))),
          moves_(device.allocate(MemorySpace::device, most_rows_ * sizeof(generator::Move))),
          memory_{.batch = batch_.as<generator::Batch>().data(),
                  .rows = rows_.as<generator::Row>().data(),
                  .symbols = symbols_.as<std::uint8_t>().data(),
                  .scores = scores_.as<float>().data(),
                  .moves = moves_.as<generator::Move>().data(),
                  .prefixes = {},
                  .most_rows = most_rows_},
          steps_(generator::make_steps(device, shape, precision, weights_, most_rows_, &memory_.batch->active_rows)),
          prefixes_(device, sampling, generator::Prefixes::choose_tables(most_items, sampling), *steps_, memory_) {}

    using Operation::enqueue;
    void enqueue(Stream& stream, const sluice::Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items <= most_items_, "generator: more items than it was made for");
        expects(in.size() == 1 && (out.size() == 1 || out.size() == 2),
                "generator: takes one tensor and makes one or two");
        expects(in[0].size() == batch.items * io_.input_bytes && out[0].size() == batch.items * io_.output_bytes &&
                    (out.size() == 1 || out[1].size() == batch.items * sizeof(TextDoubt)),
                "generator: input or output has the wrong size");
        if (batch.items != 0) {
            write_texts(as_cuda(stream), batch, in[0].data(), out[0].data(),
                        out.size() == 2 ? reinterpret_cast<TextDoubt*>(out[1].data()) : nullptr);
        }
    }

    [[nodiscard]] TextCounts counts() const override {
        generator::Batch batch;
        check_cuda(cudaMemcpy(&batch, memory_.batch, sizeof batch, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return batch.counts;
    }

private:
    void write_texts(CudaStream& stream, const sluice::Batch& batch, const std::byte* in, std::byte* out,
                     TextDoubt* doubts) {
        const auto items = static_cast<std::uint32_t>(batch.items);
        enqueue_begin(memory_, sampling_, steps_->states(0), in, out, doubts, items, batch.active, stream.handle());
        enqueue_compaction(memory_, steps_->states(0), stream.handle());
        const auto two_steps = [&] {
            for (const std::uint32_t turn : {0U, 1U}) {
                const generator::StateRows& after = steps_->states(1 - turn);
                steps_->enqueue(memory_, turn, stream.handle());
                enqueue_draw(memory_, sampling_, after, stream.handle());
                enqueue_compaction(memory_, after, stream.handle());
            }
        };
        stream.loop(&memory_.batch->more, most_rounds(items), two_steps);
        enqueue_expect_done(memory_, stream.handle());
    }

    /// Each step of a row is one of a text's, at most max_length of them.
    [[nodiscard]] std::uint32_t most_rounds(std::uint32_t items) const {
        const std::uint64_t rounds = std::uint64_t{items} * sampling_.max_length;
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds, UINT32_MAX));
    }

    Sampling sampling_;
    IoShape io_;
    std::uint32_t most_items_;
    generator::WeightsOnDevice weights_;
    std::uint32_t most_rows_;
    Buffer batch_;
    Buffer rows_;
    Buffer symbols_;
    Buffer scores_;
    Buffer moves_;
    generator::Memory memory_;
    std::unique_ptr<generator::Steps> steps_;
    generator::Prefixes prefixes_;
};

class CudaGeneratorLayer final : public GeneratorLayer {
public:
    CudaGeneratorLayer(const GruShape& shape, Precision precision, const GruWeights& weights, const Sampling& sampling,
                       PackedWeights& packed)
        : shape_(shape), precision_(precision), sampling_(sampling), weights_(shape, precision, weights, packed) {}

    std::unique_ptr<Generator> make_generator(Device& device, std::uint32_t most_items) const override {
        return std::make_unique<CudaGenerator>(shape_, precision_, sampling_, device, most_items, weights_.on(device));
    }

    std::uint64_t work_bytes(std::uint32_t most_items) const override {
        const StepSizes sizes = sizes_of(shape_, precision_);
        const std::uint64_t row_bytes = 2 * std::uint64_t{sizes.matrices} * sizes.row_bytes + sizes.work_bytes_per_row +
                                        gru_symbols * sizeof(float) + sizeof(generator::Row) + sizeof(generator::Move) +
                                        1;
        const std::uint32_t tables = generator::Prefixes::choose_tables(most_items, sampling_);
        return rows_for(most_items, sizes) * row_bytes + generator::Prefixes::bytes(tables, sizes) +
               generator::InputTable::bytes(generator::padded(shape_, precision_), precision_);
    }

private:
    GruShape shape_;
    Precision precision_;
    Sampling sampling_;
    generator::GeneratorWeights weights_;
};

}  // namespace

std::unique_ptr<GeneratorLayer> make_cuda_gru_generator(const GruShape& shape, Precision precision,
                                                        const GruWeights& weights, const Sampling& sampling,
                                                        PackedWeights& packed) {
    return std::make_unique<CudaGeneratorLayer>(shape, precision, weights, sampling, packed);
}

}  // namespace sluice
