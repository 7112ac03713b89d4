#include "kernels/host/row_sums.hpp"

#include <array>
#include <cmath>

#include "core/machine/simd.hpp"

namespace sluice {
namespace {

// Only functions compiled for these vectors take them as arguments; GCC warns at the template that makes them.
#pragma GCC diagnostic ignored "-Wpsabi"

template <int lanes>
[[gnu::always_inline]] inline void dots(std::size_t count, const float* by, const float* columns, float* out) {
    using V = Pack<lanes>;
    constexpr int packs = dot_width / lanes;
    typename V::Type sums[packs] = {};
    for (std::size_t i = 0; i < count; ++i) {
        for (int p = 0; p < packs; ++p) {
            typename V::Type column;
            V::load(column, columns + i * dot_width + p * lanes);
            sums[p] = sums[p] + column * by[i];
        }
    }
    for (int p = 0; p < packs; ++p) {
        V::store(out + p * lanes, sums[p]);
    }
}

template <int lanes>
[[gnu::always_inline]] inline void weighted_rows(std::size_t count, std::size_t width, const float* by,
                                                 const float* rows, float* out) {
    using V = Pack<lanes>;
    std::size_t j = 0;
    for (; j + lanes <= width; j += lanes) {
        typename V::Type sum;
        V::load(sum, out + j);
        for (std::size_t i = 0; i < count; ++i) {
            typename V::Type row;
            V::load(row, rows + i * width + j);
            sum = sum + row * by[i];
        }
        V::store(out + j, sum);
    }
    for (; j < width; ++j) {
        for (std::size_t i = 0; i < count; ++i) {
            out[j] = out[j] + rows[i * width + j] * by[i];
        }
    }
}

[[gnu::target("arch=x86-64-v4")]] void dots_v4(std::size_t count, const float* by, const float* columns, float* out) {
    dots<16>(count, by, columns, out);
}
[[gnu::target("arch=x86-64-v3")]] void dots_v3(std::size_t count, const float* by, const float* columns, float* out) {
    dots<8>(count, by, columns, out);
}
void dots_plain(std::size_t count, const float* by, const float* columns, float* out) {
    dots<4>(count, by, columns, out);
}

[[gnu::target("arch=x86-64-v4")]] void rows_v4(std::size_t count, std::size_t width, const float* by, const float* rows,
                                               float* out) {
    weighted_rows<16>(count, width, by, rows, out);
}
[[gnu::target("arch=x86-64-v3")]] void rows_v3(std::size_t count, std::size_t width, const float* by, const float* rows,
                                               float* out) {
    weighted_rows<8>(count, width, by, rows, out);
}
void rows_plain(std::size_t count, std::size_t width, const float* by, const float* rows, float* out) {
    weighted_rows<4>(count, width, by, rows, out);
}

constexpr std::array<RowSumsBuild, 3> sums_builds{{{dots_v4, rows_v4}, {dots_v3, rows_v3}, {dots_plain, rows_plain}}};

const RowSumsBuild& widest_sums() {
    static const RowSumsBuild* const build = for_this_cpu(&sums_builds[0], &sums_builds[1], &sums_builds[2]);
    return *build;
}

}  // namespace

void dot_columns(std::size_t count, const float* by, const float* columns, float* out) {
    widest_sums().dot_columns(count, by, columns, out);
}

void add_weighted_rows(std::size_t count, std::size_t width, const float* by, const float* rows, float* out) {
    widest_sums().add_weighted_rows(count, width, by, rows, out);
}

std::span<const RowSumsBuild> row_sums_builds() {
    return std::span(sums_builds).subspan(static_cast<std::size_t>(&widest_sums() - sums_builds.data()));
}

namespace {

constexpr std::size_t norm_chains = 16;  // partial sums, the same number on every machine

template <class Value>
float sum_in_chains(std::size_t width, const float* in, const Value& value) {
    float sums[norm_chains] = {};
    for (std::size_t i = 0; i < width; ++i) {
        sums[i % norm_chains] += value(in[i]);
    }
    float sum = 0;
    for (const float part : sums) {
        sum += part;
    }
    return sum;
}

void norm_about(float mean, std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in,
                float* out) {
    const float variance =
        sum_in_chains(width, in, [=](float x) { return (x - mean) * (x - mean); }) / static_cast<float>(width);
    const float scale = 1.0F / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
        out[i] = (in[i] - mean) * scale * gamma[i] + beta[i];
    }
}

}  // namespace

void layer_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out) {
    const float mean = sum_in_chains(width, in, [](float x) { return x; }) / static_cast<float>(width);
    norm_about(mean, width, epsilon, gamma, beta, in, out);
}

void rms_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out) {
    norm_about(0, width, epsilon, gamma, beta, in, out);
}

}  // namespace sluice
