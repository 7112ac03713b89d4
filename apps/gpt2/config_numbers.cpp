#include "apps/gpt2/config_numbers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

/// Puts values into a ConfigNumbers, one behind the other, or takes them out of it in the same order.
template <bool writes>
class NumbersInTurn {
public:
    explicit NumbersInTurn(ConfigNumbers& numbers) : numbers_(numbers) {}

    template <class T>
    void pass(T& value) {
        std::uint32_t& number = numbers_.at(next_++);
        if constexpr (std::is_same_v<T, float>) {
            if constexpr (writes) {
                number = std::bit_cast<std::uint32_t>(value);
            } else {
                value = std::bit_cast<float>(number);
            }
        } else if constexpr (writes) {
            number = static_cast<std::uint32_t>(value);
        } else {
            value = static_cast<T>(number);
        }
    }
    /// What is not there takes as many numbers.
    template <class T, class Use>
    void pass(std::optional<T>& value, const Use& use) {
        bool exists = value.has_value();
        pass(exists);
        T inside = value.value_or(T());
        use(inside);
        value = exists ? std::optional(inside) : std::nullopt;
    }
    void pass(std::optional<std::uint32_t>& value) {
        pass(value, [&](std::uint32_t& inside) { pass(inside); });
    }
    void pass(EndTokens& value) {
        std::array<std::uint32_t, EndTokens::most> tokens{};
        auto count = static_cast<std::uint32_t>(value.tokens().size());
        std::ranges::copy(value.tokens(), tokens.begin());
        pass(count);
        for (std::uint32_t& token : tokens) {
            pass(token);
        }
        expects(count <= tokens.size(), "gpt2: a config with too many end tokens");
        value = EndTokens(std::span(tokens).first(count));
    }

private:
    ConfigNumbers& numbers_;
    std::size_t next_ = 0;
};

template <bool writes>
void pass_config(ConfigNumbers& all, Config& config) {
    NumbersInTurn<writes> numbers(all);
    DecoderShape& shape = config.shape;
    for (std::uint32_t* const size : {&shape.vocabulary, &shape.positions, &shape.width, &shape.layers, &shape.heads,
                                      &shape.inner, &shape.head_size, &shape.key_heads}) {
        numbers.pass(*size);
    }
    numbers.pass(shape.norm_epsilon);
    numbers.pass(shape.normalisation);
    numbers.pass(shape.activation);
    numbers.pass(shape.gated);
    numbers.pass(shape.rotary, [&](RotaryPositions& rotary) {
        RotaryStretch& stretch = rotary.stretch;
        for (float* const value : {&rotary.base, &stretch.factor, &stretch.low_frequency, &stretch.high_frequency,
                                   &stretch.original_positions}) {
            numbers.pass(*value);
        }
    });
    numbers.pass(config.begin);
    numbers.pass(config.end);
    numbers.pass(config.family);
    for (bool* const flag :
         {&config.has_own_head, &config.has_query_bias, &config.has_projection_bias, &config.has_inner_bias}) {
        numbers.pass(*flag);
    }
}

}  // namespace

ConfigNumbers numbers_of(const Config& config) {
    ConfigNumbers numbers{};
    Config copy = config;
    pass_config<true>(numbers, copy);
    return numbers;
}

Config config_of(const ConfigNumbers& numbers) {
    ConfigNumbers copy = numbers;
    Config config;
    pass_config<false>(copy, config);
    return config;
}

}  // namespace sluice::gpt2
