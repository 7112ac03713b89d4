#include "tests/apps/name_trigram.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace sluice::test {
namespace {

/// SplitMix64's finaliser after FNV-1a.
std::uint64_t hash_of(const std::string& name, std::uint64_t seed) {
    std::uint64_t x = 0xcbf29ce484222325U ^ seed;
    for (const char c : name) {
        x = (x ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

}  // namespace

SplitNames split_names(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    SplitNames parts;
    std::set<std::string> seen;
    for (std::string name; std::getline(file, name);) {
        if (name.empty()) {
            continue;
        }
        name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
        if (!seen.insert(name).second) {
            continue;
        }
        const std::uint64_t share = hash_of(name, 1) % 100;
        (share < 90 ? parts.train : share < 95 ? parts.validation : parts.test).push_back(name);
    }
    return parts;
}

NameTrigram::NameTrigram(std::span<const std::string> names, double discount) : discount_(discount) {
    for (const std::string& name : names) {
        for (const Gram& gram : grams_of(name)) {
            orders_[2].counts[gram] += 1;
        }
    }
    for (std::size_t order : {2U, 1U}) {  // a lower order counts in how many contexts a byte appears
        for (const auto& [gram, count] : orders_[order].counts) {
            Gram shorter = gram;
            shorter[2 - order] = 0;
            orders_[order - 1].counts[shorter] += 1;
        }
    }
    for (Order& order : orders_) {
        for (const auto& [gram, count] : order.counts) {
            Context& context = order.contexts[{gram[0], gram[1], 0}];
            context.total += count;
            context.kinds += 1;
        }
    }
    uniform_ = 1.0 / static_cast<double>(orders_[0].counts.size());
}

std::vector<NameTrigram::Gram> NameTrigram::grams_of(const std::string& name) {
    const std::string line = "\x01\x01" + name + '\0';
    std::vector<Gram> grams;
    for (std::size_t i = 0; i + 2 < line.size(); ++i) {
        grams.push_back({static_cast<std::uint8_t>(line[i]), static_cast<std::uint8_t>(line[i + 1]),
                         static_cast<std::uint8_t>(line[i + 2])});
    }
    return grams;
}

double NameTrigram::probability(const Gram& gram) const {
    double value = uniform_;
    for (const std::size_t order : {0U, 1U, 2U}) {
        Gram own = gram;
        std::fill_n(own.begin(), 2 - order, std::uint8_t{0});
        const auto context = orders_[order].contexts.find({own[0], own[1], 0});
        if (context != orders_[order].contexts.end()) {
            const auto count = orders_[order].counts.find(own);
            const double kept = std::max((count == orders_[order].counts.end() ? 0.0 : count->second) - discount_, 0.0);
            value = (kept + discount_ * context->second.kinds * value) / context->second.total;
        }
    }
    return value;
}

double NameTrigram::log_likelihood(const std::string& name) const {
    double sum = 0;
    for (const Gram& gram : grams_of(name)) {
        sum += std::log(probability(gram));
    }
    return sum;
}

}  // namespace sluice::test
