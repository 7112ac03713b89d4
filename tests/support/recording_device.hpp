#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/device.hpp"
#include "core/sync/completion_counter.hpp"

namespace sluice::test {

class RecordingStream;

/// Log of the steps so far, as texts ("upload copy 3"), and what steers the next ones: `permits` selects the possible
/// steps that may happen, `fails` names one that throws.
struct Script {
    std::vector<std::string> log{};
    std::function<bool(const std::string& step)> permits = [](const std::string&) { return true; };
    std::string fails{};

    /// Position of `step` in the log; nullopt: it has not happened.
    [[nodiscard]] std::optional<std::size_t> at(const std::string& step) const {
        const auto found = std::find(log.begin(), log.end(), step);
        return found == log.end() ? std::nullopt
                                  : std::optional(static_cast<std::size_t>(std::distance(log.begin(), found)));
    }
    [[nodiscard]] bool has(const std::string& step) const { return at(step).has_value(); }
};

/// A device that performs one operation at a time, when the test tells it to. Its streams are named "upload", "compute"
/// and "download", in the order of their creation.
class RecordingDevice final : public Device {
public:
    explicit RecordingDevice(Script& script, bool rings = true) : script_(script), rings_(rings) {}

    [[nodiscard]] std::string_view name() const noexcept override { return "recording"; }
    [[nodiscard]] bool rings() const noexcept override { return rings_; }
    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override {
        auto* const memory = new std::byte[std::max<std::size_t>(bytes, 1)]();
        return {{memory, bytes}, space, this, [](void* owner, std::span<std::byte> owned) noexcept {
                    auto& device = *static_cast<RecordingDevice*>(owner);
                    device.freed_under_work_ |= device.has_pending();
                    delete[] owned.data();
                }};
    }

    [[nodiscard]] const std::vector<RecordingStream*>& streams() const noexcept { return streams_; }
    [[nodiscard]] bool has_pending() const noexcept;

    /// Whether a buffer was freed while an operation was still queued.
    [[nodiscard]] bool freed_under_work() const noexcept { return freed_under_work_; }

private:
    friend class RecordingStream;

    Script& script_;
    bool rings_;
    bool freed_under_work_ = false;
    std::size_t made_ = 0;
    std::vector<RecordingStream*> streams_;
};

class RecordingStream final : public Stream {
public:
    RecordingStream(RecordingDevice& device, std::string name, const StreamOptions& options)
        : device_(device),
          name_(std::move(name)),
          room_(options.operations),
          completions_(options.records, device.rings() ? options.bell : nullptr) {
        device_.streams_.push_back(this);
    }
    ~RecordingStream() override {
        while (!pending_.empty()) {  // what it waits for is another stream's
            for (RecordingStream* const stream : device_.streams_) {
                if (stream->next()) {
                    stream->perform_next();
                }
            }
        }
        std::erase(device_.streams_, this);
    }

    void copy(std::span<std::byte> to, std::span<const std::byte> from) override {
        expects(to.size() == from.size(), "RecordingStream: sizes differ");
        enqueue(fmt::format("{} copy {}", name_, copies_++),
                [to, from] { std::memcpy(to.data(), from.data(), to.size()); });
    }
    void run(std::function<void()> task) { enqueue(fmt::format("{} run {}", name_, runs_++), std::move(task)); }
    void wait(const Event& event) override { pending_.push_back({.waits_for = event}); }
    /// Like a graph: enqueues again what the first call enqueued, without calling `work`.
    void launch(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) override {
        if (captured == nullptr) {
            const std::size_t before = pending_.size();
            work();
            auto tasks = std::make_unique<Tasks>();
            for (std::size_t i = before; i < pending_.size(); ++i) {
                tasks->all.push_back(pending_[i].task);
            }
            captured = std::move(tasks);
        } else {
            ++launches_;
            for (const std::function<void()>& task : dynamic_cast<const Tasks&>(*captured).all) {
                run(task);
            }
        }
    }
    void loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) override {
        const std::size_t before = pending_.size();
        body();
        std::vector<std::function<void()>> tasks;
        for (; pending_.size() > before; pending_.pop_back()) {
            tasks.insert(tasks.begin(), pending_.back().task);
        }
        run([more, most_rounds, tasks] {
            for (std::uint32_t round = 0; round < most_rounds && *more != 0; ++round) {
                std::ranges::for_each(tasks, [](const std::function<void()>& task) { task(); });
            }
        });
    }
    [[nodiscard]] Event record() override {
        pending_.push_back({.is_record = true});
        expects(pending_.size() <= room_, "RecordingStream: more operations than the stream was made for");
        return {completions_, ++recorded_};
    }
    [[nodiscard]] Event mark() override { return record(); }

    /// Its next operation; nullptr: none, or it has to wait.
    [[nodiscard]] const std::string* next() {
        skip_waits();
        return pending_.empty() || pending_.front().waits_for ? nullptr : &pending_.front().name;
    }

    /// Only if there is a next().
    void perform_next() {
        const Operation operation = std::move(pending_.front());
        pending_.pop_front();
        if (operation.is_record) {
            completions_.complete();
        } else if (!completions_.poisoned()) {
            device_.script_.log.push_back(operation.name);
            try {
                if (operation.name == device_.script_.fails) {
                    throw std::runtime_error(operation.name + " failed");
                }
                operation.task();
            } catch (...) {  // met by whoever looks at a later event
                completions_.poison(std::current_exception());
            }
        }
    }

    [[nodiscard]] std::size_t pending() const noexcept { return pending_.size(); }
    [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }

private:
    struct Tasks final : CapturedWork {
        std::vector<std::function<void()>> all;
    };
    struct Operation {
        std::string name{};
        std::function<void()> task{};
        std::optional<Event> waits_for{};
        bool is_record = false;
    };

    void enqueue(std::string name, std::function<void()> task) {
        device_.script_.log.push_back("enqueue " + name);
        pending_.push_back({.name = std::move(name), .task = std::move(task)});
    }

    void skip_waits() {
        while (!pending_.empty() && pending_.front().waits_for) {
            try {
                if (!pending_.front().waits_for->ready()) {
                    return;
                }
            } catch (...) {  // as on every device: the failure spreads to who waits
                completions_.poison(std::current_exception());
            }
            pending_.pop_front();
        }
    }

    RecordingDevice& device_;
    std::string name_;
    std::size_t room_;
    CompletionCounter completions_;
    std::deque<Operation> pending_;
    std::uint64_t recorded_ = 0;
    std::uint64_t copies_ = 0;
    std::uint64_t runs_ = 0;
    std::uint64_t launches_ = 0;
};

inline std::unique_ptr<Stream> RecordingDevice::make_stream(const StreamOptions& options) {
    static constexpr std::array<const char*, 3> names{"upload", "compute", "download"};
    return std::make_unique<RecordingStream>(*this, names.at(made_++), options);
}

inline bool RecordingDevice::has_pending() const noexcept {
    return std::any_of(streams_.begin(), streams_.end(), [](const auto* stream) { return stream->pending() > 0; });
}

}  // namespace sluice::test
