#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::gpt2 {

/// The values of a config.json, one by one. Throws Error (bad_data: E-MOD-170) where one is not as expected.
class ConfigReader {
public:
    static constexpr std::uint32_t largest_size = 1U << 20U;  ///< Products of three fit 64 bits.
    static constexpr std::uint32_t most_layers = 1000;  ///< Each costs memory before the weights are known to have it.

    /// `where`: for messages.
    ConfigReader(nlohmann::json values, std::string where);

    /// Of a file. Throws Error: no_input, too.
    explicit ConfigReader(const std::filesystem::path& file);

    /// 1 to `most`.
    [[nodiscard]] std::uint32_t size(const char* name, std::uint32_t most = largest_size) const;
    [[nodiscard]] std::uint32_t size_or(const char* name, std::uint32_t fallback) const {
        return has(name) ? size(name) : fallback;
    }

    /// Null is as good as left out.
    [[nodiscard]] bool has(const char* name) const { return !at(name).is_null(); }

    /// It stands there.
    [[nodiscard]] bool is_null(const char* name) const { return values_.contains(name) && at(name).is_null(); }

    [[nodiscard]] bool flag(const char* name, bool fallback) const;
    [[nodiscard]] std::string text(const char* name, const char* fallback) const;

    /// Above 0, up to `most`.
    [[nodiscard]] float positive(const char* name, float fallback, double most = 1) const;

    /// Below `vocabulary`.
    [[nodiscard]] std::optional<std::uint32_t> token(const char* name, std::uint32_t vocabulary) const;

    /// An object of its own; an empty one where it is left out.
    [[nodiscard]] ConfigReader object(const char* name) const;

    /// Left out is as good as `expected`.
    void expect(const char* name, const nlohmann::json& expected) const;

    [[nodiscard]] const nlohmann::json& at(const char* name) const;
    [[noreturn]] void refuse(const std::string& what) const;

    /// Where it has values that are not null, of other names: says that there is `missing` beside them.
    void refuse_other_than(std::initializer_list<std::string_view> names, std::string_view missing) const;

private:
    nlohmann::json values_;
    std::string where_;
    std::string prefix_{};  // of names in messages
};

}  // namespace sluice::gpt2
