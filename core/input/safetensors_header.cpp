#include "core/input/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/input/safetensors_sax.hpp"

namespace sluice {
namespace {

struct ElementType {
    std::string_view name;
    std::uint64_t bits;
};

constexpr std::array<ElementType, 21> element_types{{
    {"BOOL", 8},    {"U8", 8},      {"I8", 8},      {"I16", 16}, {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},    {"U32", 32},    {"F32", 32},    {"F64", 64}, {"I64", 64},    {"U64", 64},    {"C64", 64},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E4M3FNUZ", 8},
}};

[[noreturn]] void refuse(const char* id, const std::string& where, std::string what) {
    throw Error(ExitCode::bad_data, {id, where, std::move(what), "fetch or export the weights again"});
}

std::uint64_t bits_of(const SafetensorsEntry& entry, const std::string& where) {
    const auto* type = std::find_if(element_types.begin(), element_types.end(),
                                    [&](const ElementType& candidate) { return candidate.name == entry.dtype; });
    if (type == element_types.end()) {
        refuse("E-MOD-041", where,
               fmt::format("tensor {}: unknown dtype {}", sluice::quoted(entry.name), sluice::quoted(entry.dtype)));
    }
    return type->bits;
}

std::uint64_t bytes_of(const SafetensorsEntry& entry, const std::string& where) {
    std::uint64_t bits = bits_of(entry, where);
    bool overflow = false;
    for (const std::uint64_t size : entry.shape) {
        overflow |= __builtin_mul_overflow(bits, size, &bits);
    }
    if (overflow) {
        refuse("E-MOD-043", where, fmt::format("tensor {}: its shape overflows 2^64 bits", sluice::quoted(entry.name)));
    }
    if (bits % 8 != 0) {
        refuse("E-MOD-045", where,
               fmt::format("tensor {}: its elements do not fill whole bytes", sluice::quoted(entry.name)));
    }
    return bits / 8;
}

void check_entry(const SafetensorsEntry& entry, std::uint64_t data_bytes, const std::string& where) {
    const std::uint64_t bytes = bytes_of(entry, where);
    if (entry.begin > entry.end || entry.end > data_bytes) {
        refuse("E-MOD-044", where,
               fmt::format("tensor {}: data_offsets [{}, {}] (got {} bytes of data)", sluice::quoted(entry.name),
                           entry.begin, entry.end, data_bytes));
    }
    if (entry.end - entry.begin != bytes) {
        refuse("E-MOD-045", where,
               fmt::format("tensor {}: data_offsets span {} bytes, its shape and dtype need {}",
                           sluice::quoted(entry.name), entry.end - entry.begin, bytes));
    }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& where) {
    if (!json.starts_with('{')) {
        refuse("E-MOD-039", where, "the header does not start with '{'");
    }
    if (const auto zero = json.find('\0'); zero != std::string_view::npos) {  // the JSON reader would end there
        refuse("E-MOD-039", where, fmt::format("the header is not valid JSON at its byte {}", zero + 1));
    }
    SafetensorsSax sax(where);
    nlohmann::json::sax_parse(json, &sax);
    SafetensorsHeader header = sax.take();
    std::vector<SafetensorsEntry>& entries = header.tensors;

    for (const SafetensorsEntry& entry : entries) {
        check_entry(entry, data_bytes, where);
    }
    std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t expected = 0;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin != expected) {
            refuse("E-MOD-044", where,
                   fmt::format("tensor {}: starts at byte {} of the data, expected {} (a gap or an overlap)",
                               sluice::quoted(entry.name), entry.begin, expected));
        }
        expected = entry.end;
    }
    if (expected != data_bytes) {
        refuse("E-MOD-044", where,
               fmt::format("{} bytes of data, the tensors cover {}: trailing bytes", data_bytes, expected));
    }
    return header;
}

}  // namespace sluice
