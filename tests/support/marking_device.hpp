#pragma once

#include <memory>

#include "core/device/host_device.hpp"
#include "core/device/host_stream.hpp"
#include "tests/support/thread_audit.hpp"

namespace sluice::test {

/// A host device whose streams' workers are audited as ThreadRole::stream.
class MarkingDevice final : public Device {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return device_.name(); }
    [[nodiscard]] bool rings() const noexcept override { return device_.rings(); }
    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
        std::unique_ptr<Stream> stream = device_.make_stream(options);
        as_host(*stream).run([] { become(ThreadRole::stream); });
        return stream;
    }
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override {
        return device_.allocate(space, bytes);
    }

private:
    HostDevice device_;
};

}  // namespace sluice::test
