#include "tools/bench/classifier_on_gpu.hpp"

#include <cmath>
#include <cstring>

namespace sluice::bench {
namespace {

ClassifierTensors::Layer layer(std::size_t outputs, std::size_t inputs, double gain, std::uint32_t seed) {
    return {normal(outputs * inputs, static_cast<float>(std::sqrt(gain / static_cast<double>(inputs))), seed),
            normal(outputs, 0.1F, seed + 1000)};
}

std::vector<float> around(float centre, std::size_t count, std::uint32_t seed) {
    std::vector<float> values = normal(count, 0.1F, seed);
    for (float& value : values) {
        value += centre;
    }
    return values;
}

/// Permutes (out, channel * positions + position) to (out, position * channels + channel).
std::vector<float> channels_last(std::span<const float> weights) {
    std::vector<float> result(weights.size());
    for (std::size_t o = 0; o < features; ++o) {
        for (std::size_t c = 0; c < filters; ++c) {
            for (std::size_t p = 0; p < last_positions; ++p) {
                result[o * fc1.inputs + p * filters + c] = weights[o * fc1.inputs + c * last_positions + p];
            }
        }
    }
    return result;
}

std::span<const std::byte> bytes(std::span<const float> values) {
    return std::as_bytes(values);
}

}  // namespace

ClassifierTensors ClassifierTensors::normal_spread(std::uint32_t seed) {
    ClassifierTensors t;
    t.conv[0] = layer(filters, std::size_t{conv1.symbols} * conv1.taps, 70.0, seed);
    for (std::uint32_t i = 1; i < 6; ++i) {
        t.conv[i] = layer(filters, std::size_t{filters} * (i == 1 ? conv2.taps : conv3.taps), 2.0, seed + i);
    }
    t.gamma1 = around(1, std::size_t{filters} * conv1.positions(), seed + 10);
    t.beta1 = around(0, t.gamma1.size(), seed + 11);
    t.gamma6 = around(1, std::size_t{filters} * norm6.positions, seed + 12);
    t.beta6 = around(0, t.gamma6.size(), seed + 13);
    t.fc[0] = layer(features, fc1.inputs, 2.0, seed + 14);
    t.fc[1] = layer(features, features, 2.0, seed + 15);
    t.fc[2] = layer(classes, features, 2.0, seed + 16);
    return t;
}

DeviceMemory& ClassifierOnGpu::hold(std::span<const std::byte> content) {
    return *memory_.emplace_back(std::make_unique<DeviceMemory>(content));
}

DeviceMemory& ClassifierOnGpu::room(std::size_t size) {
    return *memory_.emplace_back(std::make_unique<DeviceMemory>(size));
}

ClassifierOnGpu::ClassifierOnGpu(const CudaDevice& gpu, const ClassifierTensors& t, Precision precision,
                                 std::uint32_t items, const ConvGemmOptions& options)
    : items_(items) {
    const Precision plain = in_one_part(precision);
    const auto activations = [&](std::size_t item_values, Precision of) -> void* {
        return room(items * item_values * element_bytes(of)).as();
    };
    const auto add = [&](std::string name, double item_flop, Launch launch) {
        steps_.push_back({std::move(name), std::move(launch), item_flop * items});
    };

    symbols_ = &room(std::size_t{items} * conv1.length);
    const SymbolConvTables tables =
        make_symbol_conv_tables(conv1, precision, t.conv[0].weights, t.conv[0].bias, t.gamma1, t.beta1);
    void* last = activations(std::size_t{conv1.pooled()} * filters, precision);
    const SymbolConvGpu first(conv1, precision, items,
                              {.symbols = symbols_->as<std::uint8_t>(),
                               .table = hold(tables.table).as(),
                               .gamma = hold(tables.gamma).as(),
                               .beta = hold(tables.beta).as(),
                               .inner = hold(bytes(tables.inner)).as<float>(),
                               .ends = hold(bytes(tables.ends)).as<float>(),
                               .scales = room(items * sizeof(float2)).as<float2>(),
                               .out = last},
                              gpu.block_shared_bytes());
    add("statistics", 0, [=](cudaStream_t s) { first.enqueue_statistics(items, s); });
    add("conv1", 0, [=](cudaStream_t s) { first.enqueue_convolution(items, s); });

    const ConvGemmShape shapes[] = {conv2, conv3, conv4, conv5, conv6};
    for (std::size_t i = 0; i < 5; ++i) {
        const ConvGemmShape& shape = shapes[i];
        void* out = activations(std::size_t{shape.positions() / shape.pool} * filters, precision);
        const ConvGemmMemory memory{.in = last,
                                    .weights = hold(pack_conv_weights(shape, precision, t.conv[i + 1].weights)).as(),
                                    .bias = hold(bytes(t.conv[i + 1].bias)).as<float>(),
                                    .out = out};
        const double flop = 2.0 * shape.positions() * filters * filters * shape.taps;
        add("conv" + std::to_string(i + 2), flop,
            convolution(shape, precision, gpu.instructions(), items, memory, options));
        last = out;
    }

    void* normed = activations(fc1.inputs, plain);
    const NormPool norm(norm6, precision,
                        {.in = last,
                         .gamma = hold(pack_norm(norm6, precision, t.gamma6)).as(),
                         .beta = hold(pack_norm(norm6, precision, t.beta6)).as(),
                         .out = normed});
    add("norm6", 0, [=](cudaStream_t s) { norm.enqueue(items, s); });
    last = normed;

    void* workspace = room(linear_workspace_bytes).as();
    const LinearGemmShape linear[] = {fc1, fc2};
    for (std::size_t i = 0; i < 2; ++i) {
        void* out = activations(features, plain);
        const auto gemm = std::make_shared<LinearGemm>(
            linear[i], plain, items,
            LinearGemmMemory{
                .in = last,
                .weights = hold(encode(plain, i == 0 ? channels_last(t.fc[i].weights) : t.fc[i].weights)).as(),
                .bias = hold(encode(plain, t.fc[i].bias)).as(),
                .out = out,
                .workspace = workspace,
                .workspace_bytes = linear_workspace_bytes});
        add("fc" + std::to_string(i + 1), 2.0 * linear[i].inputs * features, [=](cudaStream_t s) { gemm->enqueue(s); });
        last = out;
    }

    records_ = &room(items * sizeof(std::int32_t) * (1 + classes));
    const LabelMemory label{.in = last,
                            .weights = hold(bytes(t.fc[2].weights)).as<float>(),
                            .bias = hold(bytes(t.fc[2].bias)).as<float>(),
                            .out = records_->as<std::int32_t>()};
    add("labels", 2.0 * features * classes, [=](cudaStream_t s) { enqueue_labels(fc3, plain, label, items, s); });
}

void ClassifierOnGpu::enqueue(cudaStream_t stream) const {
    for (const Step& step : steps_) {
        step.launch(stream);
    }
}

void ClassifierOnGpu::set_symbols(std::span<const std::uint8_t> symbols) {
    symbols_->set(std::as_bytes(symbols));
}

std::vector<Verdict> ClassifierOnGpu::verdicts() const {
    const std::vector<std::byte> content = records_->content();
    std::vector<Verdict> result(items_);
    for (std::size_t i = 0; i < items_; ++i) {
        const std::byte* record = &content[i * sizeof(std::int32_t) * (1 + classes)];
        std::memcpy(&result[i].label, record, sizeof result[i].label);
        for (std::size_t c = 0; c < classes; ++c) {
            float score = 0;
            std::memcpy(&score, record + sizeof(std::int32_t) * (1 + c), sizeof score);
            result[i].scores[c] = static_cast<double>(score);
        }
    }
    return result;
}

}  // namespace sluice::bench
