#include "core/io/nonfinite.hpp"

#include <cstring>

#include "core/error.hpp"
#include "core/io/output_rows.hpp"

namespace sluice {
namespace {

/// NaN and infinities are the floats whose exponent has all bits set: IEEE 754, section 3.4.
std::uint64_t count_in(std::span<const std::byte> floats) {
    constexpr std::uint32_t exponent = 0x7F800000;
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < floats.size(); at += sizeof exponent) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, floats.data() + at, sizeof bits);
        count += (bits & exponent) == exponent ? 1 : 0;
    }
    return count;
}

bool is_no_value(std::span<const std::byte> int32) {
    std::int32_t value = 0;
    std::memcpy(&value, int32.data(), sizeof value);
    return value == no_value;
}

}  // namespace

Nonfinite find_nonfinite(std::span<const OutputField> fields, std::uint64_t first, std::span<const std::byte> outputs) {
    const std::size_t item_bytes = output_bytes(fields);
    expects(outputs.size() % item_bytes == 0, "find_nonfinite gets whole items");
    Nonfinite found;
    for (std::uint64_t item = first; !outputs.empty(); ++item) {
        std::uint64_t values = 0;
        std::size_t at = 0;
        for (const OutputField& field : fields) {
            const std::size_t bytes = field.count * sizeof(float);
            if (field.type == FieldType::int32 && is_no_value(outputs.subspan(at, sizeof no_value))) {
                values = 0;
                break;  // an item that was left out
            }
            values += field.type == FieldType::float32 ? count_in(outputs.subspan(at, bytes)) : 0;
            at += bytes;
        }
        if (values != 0 && found.items++ < Nonfinite::most_items) {
            found.first_items.push_back(item);
        }
        found.values += values;
        outputs = outputs.subspan(item_bytes);
    }
    return found;
}

}  // namespace sluice
