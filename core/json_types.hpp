#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

/// Optionals and durations as JSON (nullopt is null, a duration its count), so that NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
/// works for structs with such members.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
    template <class Json>
    static void to_json(Json& to, const std::optional<T>& from) {
        to = from ? Json(*from) : Json(nullptr);
    }
    template <class Json>
    static void from_json(const Json& from, std::optional<T>& to) {
        to = from.is_null() ? std::nullopt : std::optional(from.template get<T>());
    }
};

template <class Rep, class Period>
struct nlohmann::adl_serializer<std::chrono::duration<Rep, Period>> {
    static void to_json(json& to, const std::chrono::duration<Rep, Period>& from) { to = from.count(); }
    static void from_json(const json& from, std::chrono::duration<Rep, Period>& to) {
        to = std::chrono::duration<Rep, Period>(from.get<Rep>());
    }
};

namespace sluice {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ErrorText, id, where, what, hint)

/// `text`, or null if it is empty.
[[nodiscard]] inline nlohmann::json or_null(const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

/// Encodes `value` for another rank of the same program, exactly: infinities and any bytes in strings are preserved
/// (CBOR, RFC 8949).
template <class T>
[[nodiscard]] std::string packed(const T& value) {
    std::string bytes;
    nlohmann::json::to_cbor(nlohmann::json(value), bytes);
    return bytes;
}

/// Inverse of packed(). Throws nlohmann::json::exception.
template <class T>
[[nodiscard]] T unpacked(std::string_view bytes) {
    return nlohmann::json::from_cbor(bytes.begin(), bytes.end()).template get<T>();
}

}  // namespace sluice
