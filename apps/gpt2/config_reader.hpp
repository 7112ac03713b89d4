#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/token_sampling.hpp"

namespace sluice::gpt2 {

/// Reads the values of a config.json. Throws Error (bad_data: E-MOD-170) if a value is not as expected.
class ConfigReader {
public:
    static constexpr std::uint32_t largest_size = 1U << 20U;  ///< The product of three fits 64 bits.
    /// Each takes memory before the weights file is checked for it.
    static constexpr std::uint32_t most_layers = 1000;

    /// `where` is for messages.
    ConfigReader(nlohmann::json values, std::string where);

    /// Reads `file`. Also throws Error (no_input).
    explicit ConfigReader(const std::filesystem::path& file);

    /// 1 to `most`.
    [[nodiscard]] std::uint32_t size(const char* name, std::uint32_t most = largest_size) const;
    [[nodiscard]] std::uint32_t size_or(const char* name, std::uint32_t fallback) const {
        return has(name) ? size(name) : fallback;
    }

    /// Whether `name` is present and not null.
    [[nodiscard]] bool has(const char* name) const { return !at(name).is_null(); }

    /// Whether `name` is present with the value null.
    [[nodiscard]] bool is_null(const char* name) const { return values_.contains(name) && at(name).is_null(); }

    [[nodiscard]] bool flag(const char* name, bool fallback) const;
    [[nodiscard]] std::string text(const char* name, const char* fallback) const;

    /// Greater than 0, at most `most`.
    [[nodiscard]] float positive(const char* name, float fallback, double most = 1) const;

    /// A token id below `vocabulary`.
    [[nodiscard]] std::optional<std::uint32_t> token(const char* name, std::uint32_t vocabulary) const;

    /// One or a list of them.
    [[nodiscard]] EndTokens end_tokens(const char* name, std::uint32_t vocabulary) const;

    /// A nested object; empty if absent.
    [[nodiscard]] ConfigReader object(const char* name) const;

    /// Refuses a value other than `expected`; may be absent.
    void expect(const char* name, const nlohmann::json& expected) const;

    [[nodiscard]] const nlohmann::json& at(const char* name) const;
    [[noreturn]] void refuse(const std::string& what) const;

    /// Refuses non-null values of other names, with a message that `missing` must accompany them.
    void refuse_other_than(std::initializer_list<std::string_view> names, std::string_view missing) const;

private:
    nlohmann::json values_;
    std::string where_;
    std::string prefix_{};  // of names in messages
};

}  // namespace sluice::gpt2
