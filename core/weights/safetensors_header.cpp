#include "core/weights/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"

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

/// Takes the events of the JSON reader and builds the entries; refuses everything that the format does not allow as
/// soon as it is seen, so that a hostile header costs no more than its own size. Every refusal throws Error (bad_data).
class SafetensorsSax final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit SafetensorsSax(const std::string& where) : where_(where) {}

    bool null() override { unexpected("null"); }

    bool boolean(bool) override { unexpected("true or false"); }

    bool number_integer(number_integer_t value) override {  // negative, or -0
        if (in_array_) {
            refuse("E-MOD-042", fmt::format("{}: got {}, expected a number from 0 to 2^64-1", spot(),
                                            value == 0 ? "-0" : std::to_string(value)));
        }
        unexpected("number");
    }

    bool number_unsigned(number_unsigned_t value) override {
        if (!in_array_) {
            unexpected("number");
        }
        if (place_ == Place::shape) {
            if (header_.tensors.back().shape.size() == safetensors_rank_limit) {
                refuse("E-MOD-046", fmt::format("{}: more than {} dimensions", spot(), safetensors_rank_limit));
            }
            header_.tensors.back().shape.push_back(value);
        } else {
            if (offsets_.size() == 2) {
                refuse("E-MOD-044", fmt::format("{}: data_offsets has more than two numbers", spot()));
            }
            offsets_.push_back(value);
        }
        return true;
    }

    bool number_float(number_float_t, const string_t& text) override {
        if (in_array_) {
            refuse("E-MOD-042",
                   fmt::format("{}: got {}, expected a whole number below 2^64", spot(), sluice::quoted(text)));
        }
        unexpected("number");
    }

    bool string(string_t& value) override {
        if (place_ == Place::dtype) {
            header_.tensors.back().dtype = value;
            place_ = Place::tensor;
        } else if (place_ == Place::metadata_value) {
            *metadata_value_ = value;
            place_ = Place::metadata;
        } else {
            unexpected("string");
        }
        return true;
    }

    bool binary(binary_t&) override { unexpected("binary"); }

    bool start_object(std::size_t) override {
        enter();
        if (place_ == Place::start) {
            place_ = Place::top;
        } else if ((place_ == Place::tensor || place_ == Place::metadata) && depth_ == 2) {
            // key() has put us here
        } else {
            unexpected("'{'");
        }
        return true;
    }

    bool key(string_t& value) override {
        if (place_ == Place::top) {
            if (value == "__metadata__") {
                if (std::exchange(metadata_seen_, true)) {
                    refuse("E-MOD-040", "__metadata__ appears twice in the header");
                }
                place_ = Place::metadata;
                return true;
            }
            if (value.size() > safetensors_name_limit) {
                refuse("E-MOD-046", fmt::format("a tensor's name has {} bytes, expected at most {}", value.size(),
                                                safetensors_name_limit));
            }
            if (header_.tensors.size() == safetensors_tensor_limit) {
                refuse("E-MOD-046", fmt::format("more than {} tensors", safetensors_tensor_limit));
            }
            if (!names_.insert(value).second) {
                refuse("E-MOD-040", fmt::format("tensor {} appears twice in the header", sluice::quoted(value)));
            }
            header_.tensors.push_back({.name = value, .dtype = {}, .shape = {}, .begin = 0, .end = 0});
            fields_seen_.clear();
            offsets_.clear();
            place_ = Place::tensor;
        } else if (place_ == Place::metadata) {
            if (depth_ != 2) {
                unexpected("key");
            }
            const auto [entry, is_new] = header_.metadata.try_emplace(value);
            if (!is_new) {
                refuse("E-MOD-040", fmt::format("__metadata__ key {} appears twice", sluice::quoted(value)));
            }
            metadata_value_ = &entry->second;
            place_ = Place::metadata_value;
        } else {
            start_field(value);
        }
        return true;
    }

    bool end_object() override {
        --depth_;
        if (place_ == Place::tensor) {
            finish_tensor();
            place_ = Place::top;
        } else if (place_ == Place::metadata) {
            place_ = Place::top;
        } else {
            place_ = Place::end;
        }
        return true;
    }

    bool start_array(std::size_t) override {
        enter();
        if (in_array_ || (place_ != Place::shape && place_ != Place::offsets)) {
            unexpected("'['");
        }
        in_array_ = true;
        return true;
    }

    bool end_array() override {
        --depth_;
        in_array_ = false;
        if (place_ == Place::offsets) {
            if (offsets_.size() != 2) {
                refuse("E-MOD-044",
                       fmt::format("{}: data_offsets has {} numbers, expected two", spot(), offsets_.size()));
            }
            header_.tensors.back().begin = offsets_[0];
            header_.tensors.back().end = offsets_[1];
        }
        place_ = Place::tensor;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
        refuse("E-MOD-039", fmt::format("the header is not valid JSON at its byte {}", position));
    }

    [[nodiscard]] SafetensorsHeader take() { return std::move(header_); }

private:
    enum class Place { start, top, tensor, dtype, shape, offsets, metadata, metadata_value, end };

    /// A tensor has each of them once.
    struct Field {
        std::string_view name;
        Place place;
    };
    static constexpr std::array<Field, 3> fields{
        {{"dtype", Place::dtype}, {"shape", Place::shape}, {"data_offsets", Place::offsets}}};

    [[noreturn]] void refuse(const char* id, std::string what) const { sluice::refuse(id, where_, std::move(what)); }

    [[noreturn]] void unexpected(const char* token) const {
        refuse("E-MOD-039", fmt::format("{}: unexpected {}", spot(), token));
    }

    [[nodiscard]] std::string spot() const {
        switch (place_) {
            case Place::tensor:
            case Place::dtype:
            case Place::shape:
            case Place::offsets:
                return fmt::format("tensor {}", sluice::quoted(header_.tensors.back().name));
            case Place::metadata:
            case Place::metadata_value:
                return "__metadata__";
            default:
                return "the header";
        }
    }

    void enter() {
        if (++depth_ > safetensors_depth_limit) {
            refuse("E-MOD-039", fmt::format("the header is nested deeper than {}", safetensors_depth_limit));
        }
    }

    void start_field(const std::string& field) {
        const auto* const known = std::ranges::find(fields, field, &Field::name);
        if (known == fields.end()) {
            refuse("E-MOD-039", fmt::format("{}: unknown key {}", spot(), sluice::quoted(field)));
        }
        if (!fields_seen_.insert(known->place).second) {
            refuse("E-MOD-040", fmt::format("{}: {} appears twice", spot(), sluice::quoted(field)));
        }
        place_ = known->place;
    }

    void finish_tensor() {
        for (const Field& field : fields) {
            if (!fields_seen_.contains(field.place)) {
                refuse("E-MOD-039", fmt::format("{}: '{}' is missing", spot(), field.name));
            }
        }
    }

    const std::string& where_;
    Place place_ = Place::start;
    std::size_t depth_ = 0;
    bool in_array_ = false;
    bool metadata_seen_ = false;
    std::set<Place> fields_seen_;  // of the last tensor
    std::vector<std::uint64_t> offsets_;
    std::unordered_set<std::string> names_;
    std::string* metadata_value_ = nullptr;  // whose key was read last
    SafetensorsHeader header_;
};

std::uint64_t bits_of(const SafetensorsEntry& entry, const std::string& where) {
    const auto* const type = std::ranges::find(element_types, entry.dtype, &ElementType::name);
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
    std::ranges::sort(entries, {}, [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); });
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
