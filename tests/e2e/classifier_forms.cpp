#include "tests/e2e/classifier_forms.hpp"

#include <array>
#include <bit>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice::test {
namespace {

constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+-=<>()[]{}\n";
constexpr std::size_t characters = 1014;
constexpr char blank = 70;

std::string csv_field(const std::string& text) {
    std::string field = "\"";
    for (const char c : text) {
        field += c == '"' ? "\"\"" : std::string(1, c);
    }
    return field + "\"";
}

}  // namespace

std::string as_csv(const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) {
        lines += csv_field(text) + "\n";
    }
    return lines;
}

std::string as_csv_with_header(const std::vector<std::string>& texts) {
    std::string lines = "id,body,note\r\n";
    for (std::size_t i = 0; i < texts.size(); ++i) {
        lines += std::to_string(i) + "," + csv_field(texts[i]) + ",\"two\nlines\"\r\n";
    }
    return lines;
}

std::string as_jsonl(const std::vector<std::string>& texts) {
    std::string lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        lines += nlohmann::json{{"id", i}, {"body", texts[i]}}.dump() + "\n";
    }
    return lines;
}

std::string as_symbols(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
        std::string item(characters, blank);
        const std::string_view kept = std::string_view(text).substr(0, characters);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            const auto byte = static_cast<unsigned char>(kept[kept.size() - 1 - i]);
            const std::size_t symbol = alphabet.rfind(byte < 128 ? static_cast<char>(std::tolower(byte)) : ' ');
            item[i] = symbol == std::string_view::npos ? blank : static_cast<char>(symbol);
        }
        all += item;
    }
    return all;
}

std::string as_one_hot(const std::vector<std::string>& texts) {
    const std::string symbols = as_symbols(texts);
    const std::size_t item_values = alphabet.size() * characters;
    const auto one = std::bit_cast<std::array<char, sizeof(float)>>(1.0F);
    std::string all(texts.size() * item_values * sizeof(float), '\0');
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i] != blank) {
            const std::size_t row = static_cast<std::size_t>(symbols[i]);
            const std::size_t value = (i / characters) * item_values + row * characters + i % characters;
            all.replace(value * sizeof(float), sizeof(float), one.data(), sizeof(float));
        }
    }
    return all;
}

std::string npy(const std::string& element, const std::string& shape, const std::string& data) {
    const std::string header = "{'descr': '" + element + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    const auto low = static_cast<char>(header.size() & 0xFF);
    const auto high = static_cast<char>(header.size() >> 8U);
    return std::string("\x93NUMPY\x01\x00", 8) + low + high + header + data;
}

}  // namespace sluice::test
