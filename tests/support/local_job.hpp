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

/// Rank 0's side of a job in one process, for drivers of `endpoints`.
struct LocalServer {
    /// All arguments outlive it.
    LocalServer(const LocalJob& job, const ItemSource& source, OutputWriter& writer)
        : grid(ChunkGrid(source.count(), job.driver.chunk_items).from(job.first_chunk)),
          input(source, grid, {.input_bytes = fake_input_bytes, .staged = job.staged, .readers = job.readers}, bell),
          results(writer, grid, fake_output_bytes, job.window, bell),
          server(grid, input, results,
                 {.distribution = job.distribution, .devices_of_rank = {job.devices}, .depth = job.driver.depth}),
          endpoints(make_endpoints(job, bell)),
          trace(1, grid.chunks_left()),
          hub(endpoints, server, record, trace) {}

    /// To the end, or a failure, of which the drivers are told.
    void run() {
        try {
            static_cast<void>(serve(server, hub, nullptr, bell, stop));
        } catch (...) {
            for (Endpoint& endpoint : endpoints) {
                endpoint.abandon(std::current_exception());
            }
            throw;
        }
    }

    static std::deque<Endpoint> make_endpoints(const LocalJob& job, Doorbell& bell) {
        std::deque<Endpoint> endpoints;
        for (std::uint32_t i = 0; i < job.devices; ++i) {
            endpoints.emplace_back(job.driver.depth, bell);
        }
        return endpoints;
    }

    Doorbell bell;
    StopRequest stop{bell};
    ChunkGrid grid;
    ReadAhead input;
    OrderedResults results;
    ChunkServer server;
    std::deque<Endpoint> endpoints;
    RankEntry record;
    CommTrace trace;
    LocalHub hub;
};

/// Runs a job in this process, with drivers, readers and writer on their own threads and the comm loop on the caller's.
/// Returns the devices' traces.
inline std::deque<DeviceTrace> run_locally(const LocalJob& job, const ItemSource& source, OutputWriter& writer) {
    LocalServer server(job, source, writer);
    FakeDrivers drivers(server.endpoints, server.grid.chunks_left(), job.driver);
    server.run();
    return drivers.take_traces();
}

}  // namespace sluice::test
