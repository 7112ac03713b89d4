#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

#include "core/device/host_device.hpp"
#include "core/device/host_stream.hpp"
#include "core/model.hpp"

namespace sluice::bench {

/// Occupies the stream for a while, like an engine that works without the CPU.
inline void occupy(HostStream& stream, std::chrono::microseconds how_long) {
    stream.run([how_long] { std::this_thread::sleep_for(how_long); });
}

/// A host device whose copies each take `copy_time` on their stream.
class SimulatedDevice final : public Device {
public:
    explicit SimulatedDevice(std::chrono::microseconds copy_time) : copy_time_(copy_time) {}

    [[nodiscard]] std::string_view name() const noexcept override { return "simulated"; }
    [[nodiscard]] bool rings() const noexcept override { return true; }
    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
        return std::make_unique<SimulatedStream>(options, copy_time_);
    }
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override {
        return host_.allocate(space, bytes);
    }

    class SimulatedStream final : public Stream {
    public:
        SimulatedStream(const StreamOptions& options, std::chrono::microseconds copy_time)
            : copy_time_(copy_time), host_(options) {}
        void copy(std::span<std::byte> to, std::span<const std::byte> from) override {
            occupy(host_, copy_time_);
            host_.copy(to, from);
        }
        void wait(const Event& event) override { host_.wait(event); }
        void loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) override {
            host_.loop(more, most_rounds, body);
        }
        [[nodiscard]] Event record() override { return host_.record(); }
        [[nodiscard]] Event mark() override { return host_.mark(); }
        [[nodiscard]] HostStream& host() noexcept { return host_; }

    private:
        std::chrono::microseconds copy_time_;
        HostStream host_;
    };

private:
    std::chrono::microseconds copy_time_;
    HostDevice host_;
};

/// Takes `compute_time` per chunk on a SimulatedDevice's stream.
class SimulatedModel final : public Model {
public:
    explicit SimulatedModel(std::chrono::microseconds compute_time) : compute_time_(compute_time) {}
    [[nodiscard]] IoShape shape() const noexcept override { return {1, 1}; }
    void forward(Stream& stream, std::size_t, std::span<const std::byte>, std::span<std::byte>) override {
        occupy(dynamic_cast<SimulatedDevice::SimulatedStream&>(stream).host(), compute_time_);
    }

private:
    std::chrono::microseconds compute_time_;
};

}  // namespace sluice::bench
