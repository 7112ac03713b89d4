#include <cmath>

#include "core/machine/simd.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/norm.hpp"
#include "kernels/host/pack.hpp"

namespace sluice {

NormScale norm_scale(double mean, double variance) {
    const double safe = variance > 0 ? variance : 0;  // rounding may make it slightly negative
    return {static_cast<float>(mean), static_cast<float>(1.0 / std::sqrt(safe + norm_epsilon))};
}

namespace {

IoShape io_shape(const NormShape& shape) {
    return {float_bytes(shape.positions, shape.channels), float_bytes(shape.positions / shape.pool, shape.channels)};
}

constexpr int sum_lanes = 8;

/// Sum of (values - about)^power in double, power 1 or 2, in a fixed order of sum_lanes partial sums.
template <int power>
[[gnu::always_inline]] inline double sum_about(const float* values, std::size_t count, double about) {
    double partial[sum_lanes] = {};
    for (std::size_t i = 0; i < count; i += sum_lanes) {
        for (std::size_t lane = 0; lane < sum_lanes; ++lane) {
            const double x = static_cast<double>(values[i + lane]) - about;
            partial[lane] += power == 1 ? x : x * x;
        }
    }
    double sum = 0;
    for (const double part : partial) {
        sum += part;
    }
    return sum;
}

struct Task {
    NormShape shape;
    const float* gamma;  // (positions, channels)
    const float* beta;
};

/// One item. The variance takes a second pass: E[x^2] - mean^2 in one would cancel.
template <int lanes>
[[gnu::always_inline]] inline void norm_item(const Task& task, const float* in, float* out) {
    using V = Pack<lanes>;
    const NormShape& shape = task.shape;
    const std::size_t count = std::size_t{shape.positions} * shape.channels;
    const double mean = sum_about<1>(in, count, 0) / static_cast<double>(count);
    const NormScale norm = norm_scale(mean, sum_about<2>(in, count, mean) / static_cast<double>(count));
    for (std::size_t q = 0; q < shape.positions / shape.pool; ++q) {
        for (std::size_t c = 0; c < shape.channels; c += lanes) {
            typename V::Type best = {};
            for (std::size_t j = 0; j < shape.pool; ++j) {
                const std::size_t at = (q * shape.pool + j) * shape.channels + c;
                typename V::Type x, gamma, beta;
                V::load(x, in + at);
                V::load(gamma, task.gamma + at);
                V::load(beta, task.beta + at);
                x = (x - norm.mean) * norm.scale * gamma + beta;
                best = (x <= best) | (best != best) ? best : x;  // NaN stays
            }
            V::store(out + q * shape.channels + c, best);
        }
    }
}

[[gnu::target("arch=x86-64-v4")]] void norm_item_v4(const Task& t, const float* in, float* out) {
    norm_item<16>(t, in, out);
}
[[gnu::target("arch=x86-64-v3")]] void norm_item_v3(const Task& t, const float* in, float* out) {
    norm_item<8>(t, in, out);
}
void norm_item_plain(const Task& t, const float* in, float* out) {
    norm_item<4>(t, in, out);
}

struct Prepared {
    NormShape shape;
    PackedWeights::Room gamma;  // (positions, channels)
    PackedWeights::Room beta;
};

class NormReluPool final : public HostOperation {
public:
    NormReluPool(const Prepared& prepared, std::uint32_t most_items)
        : HostOperation(io_shape(prepared.shape), most_items),
          task_{prepared.shape, prepared.gamma.floats(), prepared.beta.floats()},
          norm_item_(for_this_cpu(&norm_item_v4, &norm_item_v3, &norm_item_plain)) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const IoShape item = io_shape(task_.shape);
        for (std::size_t i = 0; i < items; ++i) {
            norm_item_(task_, as_floats(in + i * item.input_bytes), as_floats(out + i * item.output_bytes));
        }
    }

    Task task_;
    void (*norm_item_)(const Task&, const float*, float*);
};

class NormLayer final : public Layer {
public:
    explicit NormLayer(const Prepared& prepared) : prepared_(prepared) {}

    IoShape shape() const noexcept override { return io_shape(prepared_.shape); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t most_items) const override {
        return std::make_unique<NormReluPool>(prepared_, most_items);
    }

private:
    Prepared prepared_;
};

}  // namespace

std::unique_ptr<Layer> make_host_norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                                std::span<const float> beta, PackedWeights& packed) {
    const std::size_t count = std::size_t{shape.positions} * shape.channels;
    expects(shape.channels % channels_per_step == 0 && shape.pool >= 1 && shape.positions % shape.pool == 0,
            "norm_relu_pool: its channels or pool do not fit");
    expects(gamma.size() == count && beta.size() == count, "norm_relu_pool: gamma or beta has the wrong size");
    return std::make_unique<NormLayer>(Prepared{shape,
                                                reserve_transposed(packed, gamma, shape.channels, shape.positions),
                                                reserve_transposed(packed, beta, shape.channels, shape.positions)});
}

}  // namespace sluice
