#include "core/input/sample.hpp"

#include <algorithm>
#include <span>

namespace sluice {
namespace {

constexpr std::uint64_t most_groups = 64;  // each of them a place that is sought

}  // namespace

std::string read_sample(const ItemSource& source, std::uint32_t most, std::uint32_t input_bytes) {
    const std::uint64_t count = source.count();
    const std::uint64_t wanted = std::min<std::uint64_t>(most, count);
    const std::uint64_t groups = std::min(most_groups, wanted);
    std::string sample(wanted * input_bytes, '\0');
    const auto room = std::as_writable_bytes(std::span(sample));
    std::uint64_t taken = 0;
    for (std::uint64_t group = 0; group < groups; ++group) {
        const std::uint64_t end = (group + 1) * wanted / groups;
        const auto items = static_cast<std::uint32_t>(end - taken);
        // What is left out lies between the groups, in equal shares.
        const std::uint64_t left_out = count - wanted;
        const std::uint64_t first = taken + group * (left_out / groups) + group * (left_out % groups) / groups;
        source.read(first, items, room.subspan(taken * input_bytes, items * std::size_t{input_bytes}));
        taken = end;
    }
    return sample;
}

}  // namespace sluice
