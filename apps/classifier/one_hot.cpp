#include "apps/classifier/one_hot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.hpp"
#include "core/simd.hpp"

namespace sluice {
namespace {

// A column's sum of codes: a one in row s adds `one + s`, any other value but zero adds `foreign`. With at most 255
// rows the sum is 0 for no one, one + s for exactly one, and at least 2 * one for anything else.
constexpr std::uint32_t one = 256;
constexpr std::uint32_t foreign = 1U << 20U;
constexpr std::size_t block_columns = 1024;  // 4 KiB of sums stay in the first cache

[[gnu::always_inline]] inline void add_row(const float* row, std::uint32_t symbol, std::size_t columns,
                                           std::uint32_t* sums) {
    constexpr std::uint32_t one_bits = std::bit_cast<std::uint32_t>(1.0F);
    for (std::size_t c = 0; c < columns; ++c) {
        const auto bits = std::bit_cast<std::uint32_t>(row[c]);
        const std::uint32_t unless_one = (bits << 1U) == 0 ? 0 : foreign;  // both zeros are zero
        sums[c] += bits == one_bits ? one + symbol : unless_one;
    }
}

using AddRow = void(const float*, std::uint32_t, std::size_t, std::uint32_t*);

[[gnu::target("arch=x86-64-v4")]] void add_row_v4(const float* row, std::uint32_t symbol, std::size_t columns,
                                                  std::uint32_t* sums) {
    add_row(row, symbol, columns, sums);
}
[[gnu::target("arch=x86-64-v3")]] void add_row_v3(const float* row, std::uint32_t symbol, std::size_t columns,
                                                  std::uint32_t* sums) {
    add_row(row, symbol, columns, sums);
}
void add_row_plain(const float* row, std::uint32_t symbol, std::size_t columns, std::uint32_t* sums) {
    add_row(row, symbol, columns, sums);
}

std::string describe(std::span<const float> one_hot, std::uint32_t symbols, std::size_t columns, std::size_t column) {
    std::uint32_t first = symbols;
    for (std::uint32_t s = 0; s < symbols; ++s) {
        const float value = one_hot[s * columns + column];
        if (value != 0.0F && value != 1.0F) {
            return fmt::format("column {}: row {} is {}, expected 0 or 1", column, s, value);
        }
        if (value == 1.0F && first != symbols) {
            return fmt::format("column {}: rows {} and {} are both 1, expected at most one", column, first, s);
        }
        first = value == 1.0F ? s : first;
    }
    throw ContractViolation("pack_one_hot: a column is refused and described as good");
}

}  // namespace

std::string pack_one_hot(std::span<const float> one_hot, std::uint32_t symbols, std::span<std::uint8_t> ids) {
    static AddRow* const add_row_here = for_this_cpu<AddRow>(&add_row_v4, &add_row_v3, &add_row_plain);
    const std::size_t columns = ids.size();
    expects(symbols <= 255 && one_hot.size() == symbols * columns, "pack_one_hot: the sizes do not fit");
    for (std::size_t begin = 0; begin < columns; begin += block_columns) {
        const std::size_t count = std::min(block_columns, columns - begin);
        std::array<std::uint32_t, block_columns> sums{};
        for (std::uint32_t s = 0; s < symbols; ++s) {
            add_row_here(one_hot.data() + s * columns + begin, s, count, sums.data());
        }
        for (std::size_t c = 0; c < count; ++c) {
            if (sums[c] >= 2 * one) {
                return describe(one_hot, symbols, columns, begin + c);
            }
            ids[begin + c] = static_cast<std::uint8_t>(sums[c] == 0 ? symbols : sums[c] - one);
        }
    }
    return {};
}

}  // namespace sluice
