#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "comm/endpoint.hpp"
#include "core/app.hpp"
#include "core/clock.hpp"
#include "core/device/driver_start.hpp"
#include "core/machine/binding.hpp"
#include "core/modes.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/memory_plan.hpp"
#include "scheduler/pipeline.hpp"

namespace sluice {

/// `kind` is not automatic.
[[nodiscard]] std::unique_ptr<Device> make_device(DeviceKind kind, std::uint32_t number);

struct DriverTeamOptions {
    DeviceKind device = DeviceKind::host;         ///< Not automatic.
    std::vector<std::uint32_t> device_numbers{};  ///< One for each endpoint; empty: 0, 1, 2, …
    PipelineOptions pipeline{};
    MemoryNeeds memory{};                       ///< Of the rank.
    std::uint64_t host_bytes = UINT64_MAX;      ///< Of the node's memory that the rank may take.
    std::vector<std::uint32_t> ranks{};         ///< That drive each device; empty: this one.
    std::uint64_t chunks = 0;                   ///< That all devices of all ranks do.
    std::span<const std::byte> sample{};        ///< For Model::calibrate(); outlives the team. Empty: nobody wants one.
    Machine* machine = nullptr;                 ///< With cpus: this one, for as long as the team is made.
    const DriverStart* driver_start = nullptr;  ///< Whose time the trace tells; outlives the team. Null: of a host.
    std::vector<CpuSet> cpus{};  ///< Where each driver runs, and what it starts; empty: where they are started.
};

/// A rank's device drivers: one thread a device, each with its own model and pipeline. A driver that fails closes its
/// endpoint with the failure.
class DriverTeam {
public:
    /// One driver for each of `endpoints`, which outlive the team, as `app` does. The calling thread is the comm
    /// thread. Throws std::system_error, with all endpoints abandoned, when there is no thread for a driver.
    DriverTeam(const LoadedApp& app, std::deque<Endpoint>& endpoints, const DriverTeamOptions& options);

    /// Waits for all drivers.
    ~DriverTeam();
    DriverTeam(const DriverTeam&) = delete;
    DriverTeam& operator=(const DriverTeam&) = delete;

    /// The first driver's that does not run where it should.
    [[nodiscard]] const std::optional<ErrorText>& finding() const noexcept { return finding_; }

    /// Waits for all drivers and hands over what they recorded; the milestones' start, finish and delivered are left to
    /// the caller.
    [[nodiscard]] RankTrace take_trace();

    /// The same of what they have recorded so far; from any thread, while they run.
    [[nodiscard]] RankTrace trace_so_far() const;

private:
    struct Driver {
        explicit Driver(DeviceTrace empty) : trace(std::move(empty)) {}
        DeviceTrace trace;
        ThreadUsage usage{};  // once its thread has ended
        std::atomic<Instant> device_ready{};
        std::atomic<Instant> buffers_ready{};
        std::thread thread{};
    };

    [[nodiscard]] std::thread start(std::uint32_t index, Endpoint& endpoint);
    void drive(Driver& driver, Endpoint& endpoint, std::uint32_t index);
    [[nodiscard]] ModelRoom room_on(const Device& device, std::uint32_t index) const;
    [[nodiscard]] RankTrace empty_trace() const;
    static void note(Milestones& at, const Driver& driver);
    void note_start(RankTrace& trace) const;
    void join();

    const LoadedApp& app_;
    DriverTeamOptions options_;
    std::optional<ErrorText> finding_;
    Instant begin_ = Clock::now();
    std::deque<Driver> drivers_;
};

}  // namespace sluice
