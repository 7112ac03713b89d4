#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>

#include "tests/support/fake_job.hpp"

namespace sluice::test {

/// A FakeSource's items, of which as many are known as a test says.
class GrowingSource final : public ItemSource {
public:
    explicit GrowingSource(std::uint64_t items) : items_(items), fake_(items) {}

    void know(std::uint64_t items) {
        change([&] { known_ = std::max(known_, items); });
    }
    void know_all() {
        change([&] { is_all_ = true; });
    }
    void fail(std::exception_ptr failure) {
        change([&] { failure_ = std::move(failure); });
    }

    [[nodiscard]] std::uint64_t count() const override {
        static_cast<void>(wait_for(std::numeric_limits<std::uint64_t>::max(), {}));
        return known().count;
    }
    [[nodiscard]] Known known() const override {
        if (on_known) {
            on_known();
        }
        const std::lock_guard lock(mutex_);
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        return found();
    }
    [[nodiscard]] Known wait_for(std::uint64_t items, const std::stop_token& stop) const override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return found().count >= items || is_all_ || failure_; });
        return found();
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return fake_.bytes(); }
    [[nodiscard]] InputReads reads() const noexcept override { return {}; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return 3; }
    [[nodiscard]] std::string stamp() const override { return "fake"; }
    [[nodiscard]] std::vector<SourceFile> files() const override { return {}; }
    void check_content() const override {}
    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        const std::lock_guard lock(mutex_);
        expects(first + count <= found().count, "only known items are read");
        return fake_.read(first, count, to);
    }

    std::function<void()> on_known;

private:
    [[nodiscard]] Known found() const { return {.count = is_all_ ? items_ : known_, .is_all = is_all_}; }

    template <class Change>
    void change(Change&& change) {
        {
            const std::lock_guard lock(mutex_);
            change();
        }
        changed_.notify_all();
    }

    std::uint64_t items_;
    FakeSource fake_;
    mutable std::mutex mutex_;
    mutable std::condition_variable_any changed_;
    std::uint64_t known_ = 0;
    bool is_all_ = false;
    std::exception_ptr failure_;
};

}  // namespace sluice::test
