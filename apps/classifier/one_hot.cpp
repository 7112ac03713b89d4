#include "apps/classifier/one_hot.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>

#include "core/error.hpp"
#include "core/machine/simd.hpp"

namespace sluice::classifier {
namespace {

// A column's sum: a one in row s counts `one + s`. With at most 255 rows it is 0 for no one, one + s for exactly one,
// and has a bit of `several` for more. What is not a one is gathered apart: nothing but zeros may be there.
constexpr std::uint32_t one = 256;
constexpr std::uint32_t several = ~(2 * one - 1);
constexpr std::uint32_t sign_bit = 1U << 31U;  // both zeros are zero
constexpr std::uint32_t one_bits = std::bit_cast<std::uint32_t>(1.0F);

constexpr int vectors = 4;                    // at once: their sums and strangers fit into the registers
constexpr std::size_t widest = 16 * vectors;  // columns

template <int lanes>
struct Lanes {
    typedef std::uint32_t Words __attribute__((vector_size(lanes * sizeof(std::uint32_t))));
    typedef std::uint8_t Bytes __attribute__((vector_size(lanes)));
};

struct OneHot {
    const float* first;
    std::uint32_t symbols;
    std::size_t columns;
};

/// What all rows would add to a column's sum together.
std::uint32_t sum_of_all(std::uint32_t symbols) {
    return symbols * one + symbols * (symbols - 1) / 2;
}

/// Packs `vectors` times `lanes` columns from `column` on, in registers from the first row to the last. Counts the rows
/// without a one, so that one comparison serves sums and strangers alike. False: a column is not one-hot.
template <int lanes>
[[gnu::always_inline]] inline bool pack_columns(const OneHot& item, std::size_t column, std::uint8_t* ids) {
    using Words = typename Lanes<lanes>::Words;
    using Bytes = typename Lanes<lanes>::Bytes;
    Words sums[vectors] = {};
    Words others[vectors] = {};
    Words code = Words{} + one;
    const float* row = item.first + column;
    for (std::uint32_t s = 0; s < item.symbols; ++s, row += item.columns) {
        for (int v = 0; v < vectors; ++v) {
            Words bits;
            std::memcpy(&bits, row + v * lanes, sizeof bits);
            const auto not_one = bits != one_bits;
            sums[v] = not_one ? sums[v] + code : sums[v];
            others[v] = not_one ? others[v] | bits : others[v];
        }
        code += 1;
    }
    Words bad = {};
    const std::uint32_t all = sum_of_all(item.symbols);
    for (int v = 0; v < vectors; ++v) {
        const Words sum = all - sums[v];
        bad |= (others[v] & ~sign_bit) | (sum & several);
        const Bytes packed = __builtin_convertvector(sum == 0 ? Words{} + item.symbols : sum, Bytes);
        std::memcpy(ids + column + v * lanes, &packed, sizeof packed);
    }
    std::uint32_t any = 0;
    for (int i = 0; i < lanes; ++i) {
        any |= bad[i];
    }
    return any == 0;
}

/// The last columns may be packed twice, together with some before them. False: a column is not one-hot.
template <int lanes>
[[gnu::always_inline]] inline bool pack(const OneHot& item, std::uint8_t* ids) {
    constexpr std::size_t width = std::size_t{vectors} * lanes;
    bool good = true;
    for (std::size_t column = 0; column + width < item.columns; column += width) {
        good &= pack_columns<lanes>(item, column, ids);
    }
    return good & pack_columns<lanes>(item, item.columns - width, ids);
}

using PackItem = bool(const OneHot&, std::uint8_t*);

[[gnu::target("arch=x86-64-v4")]] bool pack_v4(const OneHot& item, std::uint8_t* ids) {
    return pack<16>(item, ids);
}
[[gnu::target("arch=x86-64-v3")]] bool pack_v3(const OneHot& item, std::uint8_t* ids) {
    return pack<8>(item, ids);
}
bool pack_plain(const OneHot& item, std::uint8_t* ids) {
    return pack<4>(item, ids);
}

/// For any number of columns.
bool pack_narrow(const OneHot& item, std::uint8_t* ids) {
    bool good = true;
    for (std::size_t c = 0; c < item.columns; ++c) {
        std::uint32_t sum = 0;
        for (std::uint32_t s = 0; s < item.symbols; ++s) {
            const float value = item.first[s * item.columns + c];
            sum += value == 1.0F ? one + s : 0;
            good &= value == 1.0F || value == 0.0F;
        }
        good &= (sum & several) == 0;
        ids[c] = static_cast<std::uint8_t>(sum == 0 ? item.symbols : sum);
    }
    return good;
}

/// What is wrong with a column; empty: nothing.
std::string describe(const OneHot& item, std::size_t column) {
    std::uint32_t first = item.symbols;
    for (std::uint32_t s = 0; s < item.symbols; ++s) {
        const float value = item.first[s * item.columns + column];
        if (value != 0.0F && value != 1.0F) {
            return fmt::format("column {}: row {} is {}, expected 0 or 1", column, s, value);
        }
        if (value == 1.0F && first != item.symbols) {
            return fmt::format("column {}: rows {} and {} are both 1, expected at most one", column, first, s);
        }
        first = value == 1.0F ? s : first;
    }
    return {};
}

std::string describe_first_bad(const OneHot& item) {
    for (std::size_t column = 0; column < item.columns; ++column) {
        if (std::string problem = describe(item, column); !problem.empty()) {
            return problem;
        }
    }
    throw ContractViolation("pack_one_hot: an item is refused and described as good");
}

}  // namespace

std::string pack_one_hot(std::span<const float> one_hot, std::uint32_t symbols, std::span<std::uint8_t> ids) {
    static PackItem* const pack_wide = for_this_cpu<PackItem>(&pack_v4, &pack_v3, &pack_plain);
    expects(symbols <= 255 && one_hot.size() == symbols * ids.size(), "pack_one_hot: the sizes do not fit");
    const OneHot item{one_hot.data(), symbols, ids.size()};
    const bool good = ids.size() < widest ? pack_narrow(item, ids.data()) : pack_wide(item, ids.data());
    return good ? std::string() : describe_first_bad(item);
}

}  // namespace sluice::classifier
