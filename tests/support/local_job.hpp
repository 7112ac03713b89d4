#pragma once

#include <cstdint>
#include <deque>
#include <exception>

#include "comm/local_hub.hpp"
#include "comm/serve.hpp"
#include "tests/support/fake_drivers.hpp"
#include "tests/support/fake_job.hpp"

namespace sluice::test {

struct LocalJob {
    std::uint32_t devices = 2;
    std::uint32_t staged = 5;
    std::uint32_t readers = 2;
    std::uint32_t window = 16;
    std::uint64_t first_chunk = 0;  ///< Earlier chunks are done.
    Distribution distribution = Distribution::pull;
    FakeDriverOptions driver{};
};

/// Runs a job in this process, with drivers, readers and writer on their own threads and the comm loop on the caller's.
/// Returns the devices' traces.
inline std::deque<DeviceTrace> run_locally(const LocalJob& job, const ItemSource& source, OutputWriter& writer) {
    Doorbell bell;
    const StopRequest stop(bell);
    const ChunkGrid grid = ChunkGrid(source.count(), job.driver.chunk_items).from(job.first_chunk);
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = job.staged, .readers = job.readers},
                    bell);
    OrderedResults results(writer, grid, fake_output_bytes, job.window, bell);
    ChunkServer server(grid, input, results,
                       {.distribution = job.distribution, .devices_of_rank = {job.devices}, .depth = job.driver.depth});
    std::deque<Endpoint> endpoints;
    for (std::uint32_t i = 0; i < job.devices; ++i) {
        endpoints.emplace_back(job.driver.depth, bell);
    }
    RankEntry record;
    CommTrace trace(1, grid.chunks_left());
    LocalHub hub(endpoints, server, record, trace, 0);
    FakeDrivers drivers(endpoints, grid.chunks_left(), job.driver);
    try {
        static_cast<void>(serve(server, hub, nullptr, bell, stop));
    } catch (...) {
        for (Endpoint& endpoint : endpoints) {
            endpoint.abandon(std::current_exception());
        }
        throw;
    }
    return drivers.take_traces();
}

}  // namespace sluice::test
