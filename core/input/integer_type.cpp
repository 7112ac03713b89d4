#include "core/input/integer_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian and read as they lie");

template <class Integer>
void widen(std::span<const std::byte> from, std::span<std::int64_t> to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        Integer value = 0;
        std::memcpy(&value, &from[i * sizeof value], sizeof value);
        if constexpr (sizeof value == sizeof(std::int64_t)) {
            constexpr auto largest = static_cast<Integer>(std::numeric_limits<std::int64_t>::max());
            to[i] = static_cast<std::int64_t>(std::min(value, largest));
        } else {
            to[i] = std::int64_t{value};
        }
    }
}

}  // namespace

std::optional<IntegerType> integer_type_of(std::string_view descr) {
    struct Named {
        std::string_view descr;
        IntegerType type;
    };
    static constexpr std::array<Named, 8> known{{{"|u1", {1, false}},
                                                 {"|i1", {1, true}},
                                                 {"<u2", {2, false}},
                                                 {"<i2", {2, true}},
                                                 {"<u4", {4, false}},
                                                 {"<i4", {4, true}},
                                                 {"<u8", {8, false}},
                                                 {"<i8", {8, true}}}};
    const auto* const found = std::ranges::find(known, descr, &Named::descr);
    return found == known.end() ? std::nullopt : std::optional(found->type);
}

void widen_integers(IntegerType type, std::span<const std::byte> from, std::span<std::int64_t> to) {
    expects(from.size() == to.size() * type.bytes, "widen_integers: as many from as to");
    switch (type.bytes) {
        case 1:
            return type.is_signed ? widen<std::int8_t>(from, to) : widen<std::uint8_t>(from, to);
        case 2:
            return type.is_signed ? widen<std::int16_t>(from, to) : widen<std::uint16_t>(from, to);
        case 4:
            return type.is_signed ? widen<std::int32_t>(from, to) : widen<std::uint32_t>(from, to);
        default:
            return type.is_signed ? widen<std::int64_t>(from, to) : widen<std::uint64_t>(from, to);
    }
}

}  // namespace sluice
