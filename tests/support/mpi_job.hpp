#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <vector>

#include "comm/mpi_remote_hub.hpp"
#include "comm/mpi_worker.hpp"
#include "comm/node_sharing.hpp"
#include "core/system/node_memory.hpp"
#include "tests/support/fake_drivers.hpp"

namespace sluice::test {

struct MpiJob {
    std::uint64_t items = 0;
    std::uint32_t staged = 5;
    std::uint32_t readers = 2;
    std::uint32_t window = 16;
    Distribution distribution = Distribution::pull;
    std::size_t largest_message = std::size_t{1} << 20U;
    bool shares = false;  ///< All ranks, of one node, copy items from rank 0's memory.
    FakeDriverOptions driver{};
};

/// Rank r of the tests drives 1 + r % 2 devices.
inline std::vector<std::uint32_t> devices_of_ranks(const MpiSession& session) {
    std::vector<std::uint32_t> devices;
    for (int rank = 0; rank < session.size(); ++rank) {
        devices.push_back(1 + static_cast<std::uint32_t>(rank % 2));
    }
    return devices;
}

/// What all ranks of a job have.
struct MpiRank {
    MpiRank(MpiSession& session, const MpiJob& job)
        : devices(devices_of_ranks(session)),
          shape{.item = {fake_input_bytes, fake_output_bytes},
                .chunk_items = job.driver.chunk_items,
                .depth = job.driver.depth,
                .largest_message = job.largest_message},
          grid(job.items, job.driver.chunk_items) {
        for (std::uint32_t i = 0; i < devices[static_cast<std::size_t>(session.rank())]; ++i) {
            endpoints.emplace_back(job.driver.depth, bell);
        }
        if (job.shares) {
            if (session.rank() == 0) {
                staging = NodeMemory::for_node(staged_bytes(job.staged, job.driver.chunk_items, fake_input_bytes));
            }
            shared = {.ranks = share_on_root_node(session, staging), .memory = staging.bytes()};
            expects(std::ranges::all_of(shared.ranks, std::identity()), "ranks of one node share memory");
        }
    }

    Doorbell bell;
    StopRequest stop{bell};
    std::vector<std::uint32_t> devices;
    MessageShape shape;
    ChunkGrid grid;
    std::deque<Endpoint> endpoints;
    NodeMemory staging;
    SharedItems shared;
    RankEntry record;
};

/// Clock bounds from the messages of the last job.
struct SeenClocks {
    std::vector<ClockBounds> to_root;
    ClockBounds from_root;
};

/// Rank 0's part: serves the job and returns the results in item order. On a failure calls `on_failure`, which has to
/// end the process, because drivers and messages are still under way.
template <class OnFailure>
std::vector<std::uint64_t> run_root(MpiSession& session, const MpiJob& job, OnFailure on_failure,
                                    SeenClocks* seen = nullptr) {
    MpiRank rank(session, job);
    const FakeSource source(job.items);
    MemoryWriter writer;
    ReadAhead input(
        source, rank.grid,
        {.input_bytes = fake_input_bytes, .staged = job.staged, .readers = job.readers, .memory = rank.shared.memory},
        rank.bell);
    OrderedResults results(writer, rank.grid, fake_output_bytes, job.window, rank.bell);
    ChunkServer server(rank.grid, input, results,
                       {.distribution = job.distribution, .devices_of_rank = rank.devices, .depth = job.driver.depth});
    CommTrace trace(session.size(), rank.grid.chunks());
    LocalHub local(rank.endpoints, server, rank.record, trace);
    MpiRemoteHub remote(session, server, trace, rank.shape, rank.devices, job.staged, job.window, rank.shared);
    FakeDrivers drivers(rank.endpoints, rank.grid.chunks(), job.driver);
    try {
        static_cast<void>(serve(server, local, &remote, rank.bell, rank.stop));
    } catch (...) {
        on_failure();
        std::abort();  // on_failure does not return
    }
    static_cast<void>(drivers.take_traces());
    if (seen != nullptr) {
        seen->to_root.assign(remote.clock_bounds().begin(), remote.clock_bounds().end());
    }
    return writer.results;
}

/// Any other rank's part.
template <class OnFailure>
void run_worker(MpiSession& session, const MpiJob& job, OnFailure on_failure, SeenClocks* seen = nullptr) {
    MpiRank rank(session, job);
    MpiWorker worker(session, rank.endpoints, rank.record, rank.shape, {.shared_items = rank.shared.memory});
    FakeDrivers drivers(rank.endpoints, rank.grid.chunks(), job.driver);
    try {
        worker.run(rank.bell, rank.stop);
    } catch (...) {
        on_failure();
        std::abort();
    }
    if (seen != nullptr) {
        seen->from_root = worker.clock_bounds();
    }
}

/// Runs a job that does not fail on all ranks. Returns the results on rank 0, nothing elsewhere. Ends with a barrier,
/// since messages of the next job would look the same.
inline std::vector<std::uint64_t> run_on_all_ranks(MpiSession& session, const MpiJob& job, SeenClocks* seen = nullptr) {
    const auto end = [] { std::terminate(); };
    std::vector<std::uint64_t> results;
    if (session.rank() == 0) {
        results = run_root(session, job, end, seen);
    } else {
        run_worker(session, job, end, seen);
    }
    session.barrier();
    return results;
}

}  // namespace sluice::test
