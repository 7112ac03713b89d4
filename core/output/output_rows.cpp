#include "core/output/output_rows.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "outputs are little-endian and formatted as they lie");

constexpr std::size_t value_bytes = 4;
constexpr std::size_t longest_number = 32;  // the longest float has 15 characters, the longest uint64 20

template <class Number>
void append_number(Number number, std::string& to) {
    std::array<char, longest_number> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    to.append(digits.data(), end.ptr);
}

template <class Number>
Number take(std::span<const std::byte>& values) {
    static_assert(sizeof(Number) == value_bytes);
    Number number;
    std::memcpy(&number, values.data(), value_bytes);
    values = values.subspan(value_bytes);
    return number;
}

void append_csv_value(FieldType type, std::span<const std::byte>& values, std::string& to) {
    if (type == FieldType::int32) {
        if (const auto value = take<std::int32_t>(values); value != no_value) {
            append_number(value, to);
        }
    } else if (const float value = take<float>(values); std::isnan(value)) {
        to += "nan";
    } else {
        append_number(value, to);
    }
}

void append_json_value(FieldType type, std::span<const std::byte>& values, std::string& to) {
    if (type == FieldType::int32) {
        if (const auto value = take<std::int32_t>(values); value != no_value) {
            append_number(value, to);
        } else {
            to += "null";
        }
    } else if (const float value = take<float>(values); std::isfinite(value)) {
        append_number(value, to);
    } else {
        to += "null";
    }
}

}  // namespace

void fill_with_no_result(std::span<const OutputField> fields, std::span<std::byte> item) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const OutputField& field : fields) {
        for (std::uint32_t i = 0; i < field.count; ++i) {
            std::memcpy(item.data(), field.type == FieldType::int32 ? static_cast<const void*>(&no_value) : &nan,
                        value_bytes);
            item = item.subspan(value_bytes);
        }
    }
}

std::size_t output_bytes(std::span<const OutputField> fields) {
    std::size_t values = 0;
    for (const OutputField& field : fields) {
        expects(field.count > 0 && !field.name.empty(), "an output field has a name and a value");
        for (const char byte : field.name) {
            const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                               (byte >= '0' && byte <= '9') || byte == '_';
            expects(plain, "an output field's name has letters, digits and _ only: it stands unquoted in files");
        }
        values += field.count;
    }
    expects(values > 0, "an app has output fields");
    return values * value_bytes;
}

std::string csv_header(std::span<const OutputField> fields) {
    std::string header = "item";
    for (const OutputField& field : fields) {
        for (std::uint32_t i = 0; i < field.count; ++i) {
            header += field.count == 1 ? "," + field.name : fmt::format(",{}_{}", field.name, i);
        }
    }
    return header + "\n";
}

void append_csv_row(std::span<const OutputField> fields, std::uint64_t item, std::span<const std::byte> values,
                    std::string& to) {
    append_number(item, to);
    for (const OutputField& field : fields) {
        for (std::uint32_t i = 0; i < field.count; ++i) {
            to += ',';
            append_csv_value(field.type, values, to);
        }
    }
    to += '\n';
}

void append_jsonl_row(std::span<const OutputField> fields, std::uint64_t item, std::span<const std::byte> values,
                      std::string& to) {
    to += "{\"item\":";
    append_number(item, to);
    for (const OutputField& field : fields) {
        to += ",\"";
        to += field.name;
        to += field.count == 1 ? "\":" : "s\":[";
        for (std::uint32_t i = 0; i < field.count; ++i) {
            to += i == 0 ? "" : ",";
            append_json_value(field.type, values, to);
        }
        to += field.count == 1 ? "" : "]";
    }
    to += "}\n";
}

}  // namespace sluice
