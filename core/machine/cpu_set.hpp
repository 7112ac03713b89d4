#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// "0-3,8" of ascending numbers.
[[nodiscard]] std::string list_text(std::span<const std::uint32_t> numbers);

/// CPUs by the kernel's numbers: hardware threads, which hwloc calls PUs.
class CpuSet {
public:
    static constexpr std::uint32_t limit = 65536;  ///< CPUs are numbered below it.

    CpuSet() = default;

    /// CPUs `first` to `last`, both included. Throws ContractViolation at `limit` and beyond.
    [[nodiscard]] static CpuSet range(std::uint32_t first, std::uint32_t last);

    /// The kernel's list form, "0-3,8"; "" is the empty set. nullopt when it is none, or names a CPU beyond `limit`.
    [[nodiscard]] static std::optional<CpuSet> parse(std::string_view list);

    /// Throws ContractViolation at `limit` and beyond.
    void add(std::uint32_t cpu);

    [[nodiscard]] bool contains(const CpuSet& other) const { return (other - *this).empty(); }
    [[nodiscard]] bool meets(const CpuSet& other) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
    [[nodiscard]] std::uint32_t size() const noexcept;

    /// In ascending order.
    [[nodiscard]] std::vector<std::uint32_t> cpus() const;

    /// "0-3,8".
    [[nodiscard]] std::string text() const { return list_text(cpus()); }

    [[nodiscard]] CpuSet operator|(const CpuSet& other) const;
    [[nodiscard]] CpuSet operator&(const CpuSet& other) const;
    [[nodiscard]] CpuSet operator-(const CpuSet& other) const;
    CpuSet& operator|=(const CpuSet& other) { return *this = *this | other; }
    friend bool operator==(const CpuSet&, const CpuSet&) = default;
    friend bool operator<(const CpuSet& a, const CpuSet& b) { return a.words_ < b.words_; }  ///< For maps.

private:
    std::vector<std::uint64_t> words_;  // the last one is not 0: equal sets have equal words
};

/// Where the calling thread may run, as the kernel says without hwloc; CPU 0 when it cannot be asked.
[[nodiscard]] CpuSet kernel_affinity();

}  // namespace sluice
