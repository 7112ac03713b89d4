#pragma once

#include <memory>
#include <string>

#include "core/device.hpp"

namespace sluice {

/// One CPU core's worth of compute behind the device interface. Each stream is a worker thread; kernels run
/// single-threaded on the compute stream's worker, so a rank uses several cores by driving several host devices.
class HostDevice : public Device {
public:
    explicit HostDevice(unsigned index = 0);

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] bool rings() const noexcept override { return true; }
    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override;

private:
    std::string name_;
};

}  // namespace sluice
