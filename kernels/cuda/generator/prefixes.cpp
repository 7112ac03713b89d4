#include "kernels/cuda/generator/prefixes.hpp"

#include <algorithm>
#include <utility>

#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice::generator {
namespace {

constexpr std::uint8_t start_of_text = 1;

std::uint32_t prefixes_of(std::uint32_t bytes) {
    std::uint32_t count = 1;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        count *= gru_symbols;
    }
    return count;
}

void copy_rows(Stream& stream, const StateRows& from, const StateRows& to, std::uint32_t first, std::uint32_t rows) {
    const std::size_t bytes = std::size_t{rows} * to.row_bytes;
    for (std::uint32_t matrix = 0; matrix < to.matrices; ++matrix) {
        stream.copy({to.at(matrix, first), bytes}, {from.at(matrix, 0), bytes});
    }
}

}  // namespace

Prefixes::Prefixes(Device& device, const Sampling& sampling, std::uint32_t tables, Steps& steps, Memory& memory) {
    expects(tables >= 1 && tables <= most_prefix_tables, "generator: one to three tables of prefixes");
    const std::unique_ptr<Stream> stream = device.make_stream({});
    const auto handle = [&] { return as_cuda(*stream).handle(); };
    constexpr std::array<std::uint8_t, 1> start{start_of_text};
    copy_now({reinterpret_cast<std::byte*>(memory.symbols), 1}, std::as_bytes(std::span(start)));
    for (std::uint32_t bytes = 0; bytes < tables; ++bytes) {
        const std::uint32_t prefixes = prefixes_of(bytes);
        distributions_[bytes] = device.allocate(MemorySpace::device, prefixes * sizeof(Distribution));
        auto* const distributions = distributions_[bytes].as<Distribution>().data();
        StateRows states = steps.states(1);
        states.rows = prefixes;
        Buffer room = device.allocate(MemorySpace::device, states.bytes());
        states.data = room.bytes().data();
        for (std::uint32_t first = 0; first < prefixes; first += memory.most_rows) {
            const std::uint32_t rows = std::min(memory.most_rows, prefixes - first);
            if (bytes != 0) {
                enqueue_extend_prefixes(memory, memory.prefixes[bytes - 1].states, steps.states(0), first, rows,
                                        handle());
            }
            enqueue_active_rows(memory, rows, handle());
            steps.enqueue(memory, 0, handle());
            enqueue_distributions(sampling, memory.scores, rows, distributions + first, handle());
            copy_rows(*stream, steps.states(1), states, first, rows);
        }
        stream->record().wait();
        states_ = std::move(room);  // shorter prefixes' states are no longer needed
        memory.prefixes[bytes] = {.distributions = distributions, .states = states};
    }
    memory.prefix_tables = tables;
}

std::uint32_t Prefixes::choose_tables(std::uint32_t most_items, const Sampling& sampling) {
    constexpr std::uint32_t least_items[] = {1, 256, 4096};
    std::uint32_t tables = 1;
    const std::uint32_t most = std::min({most_prefix_tables, sampling.prefix_tables, sampling.max_length});
    while (tables < most && most_items >= least_items[tables]) {
        ++tables;
    }
    return tables;
}

std::uint64_t Prefixes::bytes(std::uint32_t tables, const StepSizes& sizes) {
    std::uint64_t bytes = 0;
    for (std::uint32_t length = 0; length < tables; ++length) {
        bytes += std::uint64_t{prefixes_of(length)} * sizeof(Distribution);
    }
    // While a table is made, the previous one's states exist, too.
    const std::uint64_t states = prefixes_of(tables - 1) + (tables > 1 ? prefixes_of(tables - 2) : 0);
    return bytes + states * sizes.matrices * sizes.row_bytes;
}

}  // namespace sluice::generator
