#include "core/output/nonfinite.hpp"

#include <cstring>

#include "core/error.hpp"
#include "core/output/output_rows.hpp"

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

std::int32_t int_at(std::span<const std::byte> bytes, std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.subspan(at, sizeof value).data(), sizeof value);
    return value;
}

bool is_marked(const OutputField& field, std::int32_t value) {
    return field.is_chosen && value >= 0 && (value & nonfinite_mark) != 0;
}

}  // namespace

Nonfinite find_nonfinite(std::span<const OutputField> fields, std::uint64_t first, std::span<const std::byte> outputs) {
    const std::size_t item_bytes = output_bytes(fields);
    expects(outputs.size() % item_bytes == 0, "find_nonfinite gets whole items");
    Nonfinite found;
    for (std::uint64_t item = first; !outputs.empty(); ++item) {
        std::uint64_t values = 0;
        bool marked = false;
        std::size_t at = 0;
        for (const OutputField& field : fields) {
            const std::size_t bytes = field.count * sizeof(float);
            if (field.type == FieldType::int32 && int_at(outputs, at) == no_value) {
                values = 0;
                marked = false;
                break;  // an item that was left out
            }
            marked = marked || is_marked(field, int_at(outputs, at));
            values += field.type == FieldType::float32 ? count_in(outputs.subspan(at, bytes)) : 0;
            at += bytes;
        }
        found.is_marked = found.is_marked || marked;
        values = values == 0 && marked ? 1 : values;
        if (values != 0 && found.items++ < Nonfinite::most_items) {
            found.first_items.push_back(item);
        }
        found.values += values;
        outputs = outputs.subspan(item_bytes);
    }
    return found;
}

void remove_marks(std::span<const OutputField> fields, std::span<std::byte> outputs) {
    const std::size_t item_bytes = output_bytes(fields);
    for (std::size_t item = 0; item < outputs.size(); item += item_bytes) {
        std::size_t at = item;
        for (const OutputField& field : fields) {
            if (std::int32_t value = int_at(outputs, at); is_marked(field, value)) {
                value &= ~nonfinite_mark;
                std::memcpy(outputs.subspan(at).data(), &value, sizeof value);
            }
            at += field.count * sizeof(float);
        }
    }
}

}  // namespace sluice
