#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/endpoint.hpp"
#include "core/app.hpp"
#include "core/clock.hpp"
#include "core/device/driver_start.hpp"
#include "core/machine/binding.hpp"
#include "core/machine/placement.hpp"
#include "core/modes.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/memory_plan.hpp"
#include "scheduler/pipeline.hpp"

namespace sluice {

/// `kind` is not automatic.
[[nodiscard]] std::unique_ptr<Device> make_device(DeviceKind kind, std::uint32_t number);

/// make_device()'s number of the device at places[index]. Where `gpus` has the places' UUIDs, their numbers are those
/// of the driver's list, and CUDA may have another order. Throws Error (unavailable, E-GPU-064) if it does not show the
/// GPU.
[[nodiscard]] std::uint32_t device_number(std::span<const DevicePlace> places, std::span<const std::string> gpus,
                                          std::size_t index);

struct DriverTeamOptions {
    DeviceKind device = DeviceKind::host;  ///< Not automatic.
    std::vector<DevicePlace> places{};     ///< One per endpoint.
    std::vector<std::string> gpus{};       ///< Their UUIDs; empty: the numbers are CUDA's own.
    PipelineOptions pipeline{};
    MemoryNeeds memory{};                       ///< Of the rank.
    std::uint64_t host_bytes = UINT64_MAX;      ///< Share of the node's memory.
    std::uint64_t chunks = 0;                   ///< Of all devices of all ranks.
    bool copies_items = true;                   ///< Its drivers copy items from where rank 0 reads them.
    std::span<const std::byte> sample{};        ///< For Model::calibrate(); outlives the team. Empty: not needed.
    Machine* machine = nullptr;                 ///< Binds each driver and its threads to the CPUs of its place, during
                                                ///< construction; null: they inherit theirs.
    const DriverStart* driver_start = nullptr;  ///< Drivers of GPUs wait for its turn; recorded in the trace; outlives
                                                ///< the team. May be null for host devices.
};

/// A rank's device drivers: one thread per device, each with its own model and pipeline. A failing driver closes its
/// endpoint with the failure.
class DriverTeam {
public:
    /// One driver per endpoint; `endpoints` and `app` outlive the team. Call from the comm thread. Throws
    /// std::system_error, with all endpoints abandoned, when a thread cannot be created.
    DriverTeam(const LoadedApp& app, std::deque<Endpoint>& endpoints, const DriverTeamOptions& options);

    /// Waits for all drivers.
    ~DriverTeam();
    DriverTeam(const DriverTeam&) = delete;
    DriverTeam& operator=(const DriverTeam&) = delete;

    /// Finding on the first driver that does not run on its CPUs.
    [[nodiscard]] const std::optional<ErrorText>& finding() const noexcept { return finding_; }

    /// Waits for all drivers.
    void join();

    /// Waits for all drivers and returns their trace; the caller sets the milestones start, finish and delivered.
    [[nodiscard]] RankTrace take_trace();

    /// The trace so far; from any thread, while the drivers run.
    [[nodiscard]] RankTrace trace_so_far() const;

private:
    struct Driver {
        explicit Driver(DeviceTrace empty) : trace(std::move(empty)) {}
        DeviceTrace trace;
        ThreadUsage usage{};  // set when its thread ends
        std::atomic<Instant> device_ready{};
        std::atomic<Instant> buffers_ready{};
        std::thread thread{};
    };

    [[nodiscard]] std::thread start(std::uint32_t index, Endpoint& endpoint);
    void drive(Driver& driver, Endpoint& endpoint, std::uint32_t index);
    [[nodiscard]] std::unique_ptr<Device> make_device_at(std::uint32_t index) const;
    [[nodiscard]] ModelRoom room_on(const Device& device, std::uint32_t index) const;
    [[nodiscard]] RankTrace empty_trace() const;
    static void note(Milestones& at, const Driver& driver);
    void note_start(RankTrace& trace) const;

    const LoadedApp& app_;
    DriverTeamOptions options_;
    std::optional<ErrorText> finding_;
    Instant begin_ = Clock::now();
    std::deque<Driver> drivers_;
};

}  // namespace sluice
