#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "comm/endpoint.hpp"
#include "core/device/host_device.hpp"
#include "scheduler/pipeline.hpp"
#include "tests/support/fake_job.hpp"

namespace sluice::test {

struct FakeDriverOptions {
    std::uint32_t depth = 3;
    std::uint32_t chunk_items = 7;
    FakeModel::OnChunk on_chunk = nullptr;
    std::unique_ptr<Model> (*make_model)() = nullptr;  ///< Replaces the fake model.
    void (*on_thread)() = nullptr;                     ///< Called first on each driver's thread.
    std::unique_ptr<Device> (*make_device)(std::uint32_t index) = [](std::uint32_t index) -> std::unique_ptr<Device> {
        return std::make_unique<HostDevice>(index);
    };
};

/// One driver thread per endpoint, with the fake model. The destructor joins them; after a failure, abandon the
/// endpoints first.
class FakeDrivers {
public:
    FakeDrivers(std::deque<Endpoint>& endpoints, std::uint64_t chunks, const FakeDriverOptions& options)
        : options_(options) {
        for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
            traces_.emplace_back("host", chunks);
        }
        for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
            threads_.emplace_back(
                [this, i, &endpoint = endpoints[i], &trace = traces_[i]] { drive(endpoint, trace, i); });
        }
    }
    ~FakeDrivers() { join(); }
    FakeDrivers(const FakeDrivers&) = delete;
    FakeDrivers& operator=(const FakeDrivers&) = delete;

    [[nodiscard]] std::deque<DeviceTrace> take_traces() {
        join();
        return std::move(traces_);
    }

private:
    void drive(Endpoint& endpoint, DeviceTrace& trace, std::uint32_t index) const {
        if (options_.on_thread != nullptr) {
            options_.on_thread();
        }
        std::unique_ptr<Device> device;
        const std::unique_ptr<Model> model =
            options_.make_model == nullptr ? std::make_unique<FakeModel>(options_.on_chunk) : options_.make_model();
        std::optional<Pipeline> pipeline;
        std::exception_ptr failure;
        try {
            device = options_.make_device(index);
            pipeline.emplace(*device, endpoint, *model,
                             PipelineOptions{.depth = options_.depth, .chunk_items = options_.chunk_items}, trace);
            pipeline->run();
        } catch (...) {  // handed to the comm thread with the close
            failure = std::current_exception();
        }
        endpoint.close(failure);
    }

    void join() {
        for (std::thread& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }

    FakeDriverOptions options_;
    std::deque<DeviceTrace> traces_;
    std::vector<std::thread> threads_;
};

}  // namespace sluice::test
