#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sluice::test {

/// Names split as tools/train/names.py does with seed 1: capitalised, each once, by a hash of its bytes.
struct SplitNames {
    std::vector<std::string> train;
    std::vector<std::string> validation;
    std::vector<std::string> test;
};

[[nodiscard]] SplitNames split_names(const std::string& path);

/// An interpolated Kneser-Ney 3-gram model with one discount for all orders, as tools/train/trigram.py.
class NameTrigram {
public:
    NameTrigram(std::span<const std::string> names, double discount);

    /// Of a name and its end, in nats.
    [[nodiscard]] double log_likelihood(const std::string& name) const;

private:
    using Gram = std::array<std::uint8_t, 3>;  // of a lower order the first ones are zero

    struct Context {
        double total = 0;
        double kinds = 0;
    };
    struct Order {
        std::map<Gram, double> counts;
        std::map<Gram, Context> contexts;  // by gram, the last byte zero
    };

    [[nodiscard]] static std::vector<Gram> grams_of(const std::string& name);
    [[nodiscard]] double probability(const Gram& gram) const;

    double discount_;
    std::array<Order, 3> orders_;  // 1, 2 and 3 bytes
    double uniform_ = 0;
};

}  // namespace sluice::test
