#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/config/config_build.hpp"
#include "core/config/config_names.hpp"
#include "core/config/config_text.hpp"

namespace sluice {

/// Looks a job's settings up by full name, which the schema knows. Both arguments outlive it.
class SettingsReader {
public:
    SettingsReader(const Settings& settings, const JobOrigin& origin) : settings_(settings), origin_(origin) {}

    [[nodiscard]] const Setting* find(std::string_view full_name) const;

    /// Where the key is set, the job file when it is not.
    [[nodiscard]] const std::string& where(std::string_view full_name) const;

    template <class Value>
    [[nodiscard]] const Value* get(std::string_view full_name) const {
        const Setting* setting = find(full_name);
        return setting == nullptr ? nullptr : &std::get<Value>(setting->value);
    }

    template <class Value>
    [[nodiscard]] Value get_or(std::string_view full_name, Value fallback) const {
        const auto* value = get<Value>(full_name);
        return value == nullptr ? std::move(fallback) : *value;
    }

    /// Throws Error (configuration, E-CFG-013) when it is not set.
    [[nodiscard]] const std::string& required(std::string_view full_name) const;

    [[nodiscard]] bool flag(std::string_view full_name) const { return get_or(full_name, false); }

    /// nullopt: not set, or the word that stands for it, "auto".
    [[nodiscard]] std::optional<std::uint32_t> count(std::string_view full_name) const;

    /// One of `names`, which is what the key's choices are.
    template <class Enum, std::size_t number>
    [[nodiscard]] Enum choice(std::string_view full_name, Enum fallback,
                              const std::array<std::string_view, number>& names) const {
        const auto* value = get<std::string>(full_name);
        return value == nullptr ? fallback : enum_of<Enum>(*value, names).value();
    }

    [[nodiscard]] std::filesystem::path path(const std::string& value) const { return origin_.base / value; }

private:
    const Settings& settings_;
    const JobOrigin& origin_;
};

}  // namespace sluice
