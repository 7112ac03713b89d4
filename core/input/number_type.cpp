#include "core/input/number_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "core/input/half.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian and read as they lie");

template <class Type>
struct Named {
    std::string_view name;
    Type type;
};

constexpr std::array<Named<FloatType>, 3> float_types{
    {{"F32", FloatType::f32}, {"F16", FloatType::f16}, {"BF16", FloatType::bf16}}};

constexpr std::array<Named<IntegerType>, 8> integer_types{{{"|u1", {1, false}},
                                                           {"|i1", {1, true}},
                                                           {"<u2", {2, false}},
                                                           {"<i2", {2, true}},
                                                           {"<u4", {4, false}},
                                                           {"<i4", {4, true}},
                                                           {"<u8", {8, false}},
                                                           {"<i8", {8, true}}}};

template <class Type, std::size_t count>
std::optional<Type> find_type(const std::array<Named<Type>, count>& types, std::string_view name) {
    const auto* const found = std::ranges::find(types, name, &Named<Type>::name);
    return found == types.end() ? std::nullopt : std::optional(found->type);
}

template <class Integer>
void widen_as(std::span<const std::byte> from, std::span<std::int64_t> to) {
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

std::optional<FloatType> find_float_type(std::string_view name) {
    return find_type(float_types, name);
}

void widen(FloatType type, std::span<const std::byte> from, std::span<float> to) noexcept {
    if (type == FloatType::f32) {
        if (!to.empty()) {  // memmove takes no null
            std::memmove(to.data(), from.data(), to.size_bytes());
        }
        return;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
        to[i] = type == FloatType::f16 ? float_of_half(bits)
                                       : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
    }
}

std::optional<IntegerType> find_integer_type(std::string_view name) {
    return find_type(integer_types, name);
}

void widen(IntegerType type, std::span<const std::byte> from, std::span<std::int64_t> to) {
    expects(from.size() == to.size() * type.bytes, "widen: as many from as to");
    switch (type.bytes) {
        case 1:
            return type.is_signed ? widen_as<std::int8_t>(from, to) : widen_as<std::uint8_t>(from, to);
        case 2:
            return type.is_signed ? widen_as<std::int16_t>(from, to) : widen_as<std::uint16_t>(from, to);
        case 4:
            return type.is_signed ? widen_as<std::int32_t>(from, to) : widen_as<std::uint32_t>(from, to);
        default:
            return type.is_signed ? widen_as<std::int64_t>(from, to) : widen_as<std::uint64_t>(from, to);
    }
}

}  // namespace sluice
