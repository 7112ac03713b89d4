#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/input/safetensors_header.hpp"

namespace sluice {

/// Takes the events of the JSON reader and builds the entries; refuses everything that the format does not allow as
/// soon as it is seen, so that a hostile header costs no more than its own size. Every refusal throws Error (bad_data).
class SafetensorsSax final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit SafetensorsSax(std::string where) : where_(std::move(where)) {}

    bool null() override;
    bool boolean(bool value) override;
    bool number_integer(number_integer_t value) override;
    bool number_unsigned(number_unsigned_t value) override;
    bool number_float(number_float_t value, const string_t& text) override;
    bool string(string_t& value) override;
    bool binary(binary_t& value) override;
    bool start_object(std::size_t elements) override;
    bool key(string_t& value) override;
    bool end_object() override;
    bool start_array(std::size_t elements) override;
    bool end_array() override;
    bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception& problem) override;

    [[nodiscard]] SafetensorsHeader take() { return std::move(header_); }

private:
    enum class Place { start, top, tensor, dtype, shape, offsets, metadata, metadata_value, end };

    [[noreturn]] void refuse(const char* id, std::string what) const;
    [[noreturn]] void unexpected(const char* token) const;
    [[nodiscard]] std::string spot() const;
    void enter();
    void start_field(const std::string& field);
    void finish_tensor();

    std::string where_;
    Place place_ = Place::start;
    std::size_t depth_ = 0;
    bool in_array_ = false;
    bool metadata_seen_ = false;
    bool has_dtype_ = false;
    bool has_shape_ = false;
    std::vector<std::uint64_t> offsets_;
    bool has_offsets_ = false;
    std::unordered_set<std::string> names_;
    std::string* metadata_value_ = nullptr;  // whose key was read last
    SafetensorsHeader header_;
};

}  // namespace sluice
