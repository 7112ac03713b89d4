#include "core/machine/cpu_set.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t word_bits = 64;

/// The number that `text` starts with, which is taken away from it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number >= CpuSet::limit) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

}  // namespace

std::string list_text(std::span<const std::uint32_t> numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
            ++end;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
        if (end - i > 1) {
            text += fmt::format("-{}", numbers[end - 1]);
        }
        i = end;
    }
    return text;
}

CpuSet CpuSet::range(std::uint32_t first, std::uint32_t last) {
    CpuSet set;
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) {
        set.add(cpu);
    }
    return set;
}

std::optional<CpuSet> CpuSet::parse(std::string_view list) {
    CpuSet set;
    while (!list.empty()) {
        const std::optional<std::uint32_t> first = take_number(list);
        std::optional<std::uint32_t> last = first;
        if (first && list.starts_with('-')) {
            list.remove_prefix(1);
            last = take_number(list);
        }
        if (!first || !last || *last < *first) {
            return std::nullopt;
        }
        set |= range(*first, *last);
        if (list.empty()) {
            break;
        }
        if (list.front() != ',' || list.size() == 1) {
            return std::nullopt;
        }
        list.remove_prefix(1);
    }
    return set;
}

void CpuSet::add(std::uint32_t cpu) {
    expects(cpu < limit, "a CPU's number below CpuSet::limit");
    words_.resize(std::max<std::size_t>(words_.size(), cpu / word_bits + 1));
    words_[cpu / word_bits] |= std::uint64_t{1} << (cpu % word_bits);
}

bool CpuSet::meets(const CpuSet& other) const noexcept {
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
        if ((words_[i] & other.words_[i]) != 0) {
            return true;
        }
    }
    return false;
}

std::uint32_t CpuSet::size() const noexcept {
    std::uint32_t count = 0;
    for (const std::uint64_t word : words_) {
        count += static_cast<std::uint32_t>(std::popcount(word));
    }
    return count;
}

std::vector<std::uint32_t> CpuSet::cpus() const {
    std::vector<std::uint32_t> numbers;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
            numbers.push_back(static_cast<std::uint32_t>(i) * word_bits +
                              static_cast<std::uint32_t>(std::countr_zero(rest)));
        }
    }
    return numbers;
}

CpuSet CpuSet::operator|(const CpuSet& other) const {
    CpuSet both = words_.size() < other.words_.size() ? other : *this;
    const CpuSet& shorter = words_.size() < other.words_.size() ? *this : other;
    for (std::size_t i = 0; i < shorter.words_.size(); ++i) {
        both.words_[i] |= shorter.words_[i];
    }
    return both;
}

CpuSet CpuSet::operator&(const CpuSet& other) const {
    return *this - (*this - other);
}

CpuSet CpuSet::operator-(const CpuSet& other) const {
    CpuSet rest = *this;
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
        rest.words_[i] &= ~other.words_[i];
    }
    while (!rest.words_.empty() && rest.words_.back() == 0) {
        rest.words_.pop_back();
    }
    return rest;
}

CpuSet kernel_affinity() {
    std::array<cpu_set_t, CpuSet::limit / CPU_SETSIZE> sets{};
    CpuSet cpus;
    if (sched_getaffinity(0, sizeof(sets), sets.data()) == 0) {
        for (std::uint32_t cpu = 0; cpu < CpuSet::limit; ++cpu) {
            if (CPU_ISSET_S(cpu, sizeof(sets), sets.data())) {
                cpus.add(cpu);
            }
        }
    }
    return cpus.empty() ? CpuSet::range(0, 0) : cpus;
}

}  // namespace sluice
