#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "comm/local_hub.hpp"
#include "comm/serve.hpp"
#include "core/host_device.hpp"
#include "core/host_stream.hpp"
#include "core/io/item_source.hpp"
#include "core/io/output_writer.hpp"
#include "scheduler/pipeline.hpp"

namespace sluice::test {

constexpr std::uint32_t fake_input_bytes = 12;
constexpr std::uint32_t fake_output_bytes = 8;

/// SplitMix64: every item's bytes are different and none is zero for long.
inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

inline void fake_item(std::uint64_t index, std::span<std::byte> to) {
    const std::uint64_t value = mix(index);
    std::memcpy(to.data(), &value, sizeof value);
    const auto low = static_cast<std::uint32_t>(index);
    std::memcpy(to.data() + sizeof value, &low, sizeof low);
}

inline std::uint64_t fake_result(std::span<const std::byte> item) {
    std::uint64_t value = 0;
    std::uint32_t low = 0;
    std::memcpy(&value, item.data(), sizeof value);
    std::memcpy(&low, item.data() + sizeof value, sizeof low);
    return mix(value ^ low);
}

inline std::uint64_t expected_result(std::uint64_t index) {
    std::vector<std::byte> item(fake_input_bytes);
    fake_item(index, item);
    return fake_result(item);
}

class FakeSource final : public ItemSource {
public:
    explicit FakeSource(std::uint64_t items) : items_(items) {}

    [[nodiscard]] std::uint64_t count() const noexcept override { return items_; }

    void read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        if (on_read) {
            on_read(first);
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            fake_item(first + i, to.subspan(std::size_t{i} * fake_input_bytes, fake_input_bytes));
        }
    }

    std::function<void(std::uint64_t first)> on_read;

private:
    std::uint64_t items_;
};

class MemoryWriter final : public OutputWriter {
public:
    void append(std::uint32_t count, std::span<const std::byte> outputs) override {
        if (on_append) {
            on_append(results.size());
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint64_t value = 0;
            std::memcpy(&value, outputs.data() + std::size_t{i} * fake_output_bytes, sizeof value);
            results.push_back(value);
        }
    }
    void publish() override {}

    std::function<void(std::uint64_t first)> on_append;
    std::vector<std::uint64_t> results;
};

/// out = fake_result(in); on_chunk, if given, runs on the compute stream before.
class FakeModel final : public Model {
public:
    using OnChunk = void (*)(std::span<const std::byte> first_item);

    explicit FakeModel(OnChunk on_chunk = nullptr) : on_chunk_(on_chunk) {}

    [[nodiscard]] IoShape shape() const noexcept override { return {fake_input_bytes, fake_output_bytes}; }

    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        as_host(stream).run([on_chunk = on_chunk_, items, in, out] {
            if (on_chunk != nullptr) {
                on_chunk(in.first(fake_input_bytes));
            }
            for (std::size_t i = 0; i < items; ++i) {
                const std::uint64_t value = fake_result(in.subspan(i * fake_input_bytes, fake_input_bytes));
                std::memcpy(out.data() + i * fake_output_bytes, &value, sizeof value);
            }
        });
    }

private:
    OnChunk on_chunk_;
};

struct LocalJob {
    std::uint32_t devices = 2;
    std::uint32_t chunk_items = 7;
    std::uint32_t depth = 3;
    std::uint32_t staged = 5;
    std::uint32_t readers = 2;
    std::uint32_t window = 16;
    Distribution distribution = Distribution::pull;
    FakeModel::OnChunk on_chunk = nullptr;
};

/// Runs a job in this process: drivers, readers and writer on threads of their own, the comm loop on the caller's.
/// Returns the devices' traces.
inline std::deque<DeviceTrace> run_locally(const LocalJob& job, const ItemSource& source, OutputWriter& writer) {
    Doorbell bell;
    const StopRequest stop(bell);
    const ChunkGrid grid(source.count(), job.chunk_items);
    std::deque<Endpoint> endpoints;
    std::deque<DeviceTrace> traces;
    std::vector<std::thread> drivers;
    {
        ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = job.staged, .readers = job.readers},
                        bell);
        OrderedResults results(writer, grid, fake_output_bytes, job.window, bell);
        ChunkServer server(grid, input, results,
                           {.distribution = job.distribution, .devices_of_rank = {job.devices}, .depth = job.depth});
        for (std::uint32_t d = 0; d < job.devices; ++d) {
            endpoints.emplace_back(job.depth, bell);
            traces.emplace_back("host", grid.chunks());
        }
        RankRecord record;
        LocalHub hub(endpoints, server, record, 0);
        for (std::uint32_t d = 0; d < job.devices; ++d) {
            drivers.emplace_back([&job, &endpoint = endpoints[d], &trace = traces[d], d] {
                std::exception_ptr failure;
                try {
                    HostDevice device(d);
                    FakeModel model(job.on_chunk);
                    Pipeline(device, endpoint, model, {.depth = job.depth, .chunk_items = job.chunk_items}, trace)
                        .run();
                } catch (...) {
                    failure = std::current_exception();
                }
                endpoint.close(failure);
            });
        }
        std::exception_ptr failure;
        try {
            serve(server, hub, nullptr, bell, stop);
        } catch (...) {
            failure = std::current_exception();
            for (Endpoint& endpoint : endpoints) {
                endpoint.abandon(failure);
            }
        }
        for (std::thread& driver : drivers) {
            driver.join();
        }
        if (failure != nullptr) {
            std::rethrow_exception(failure);
        }
    }
    return traces;
}

}  // namespace sluice::test
