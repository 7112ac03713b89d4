#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "core/device/host_stream.hpp"
#include "core/input/item_source.hpp"
#include "core/model.hpp"
#include "core/output/output_writer.hpp"

namespace sluice::test {

constexpr std::uint32_t fake_input_bytes = 12;
constexpr std::uint32_t fake_output_bytes = 8;

/// SplitMix64, so that all items differ.
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

/// The low half of the index that fake_item was given.
inline std::uint32_t index_in(std::span<const std::byte> item) {
    std::uint32_t low = 0;
    std::memcpy(&low, item.data() + sizeof(std::uint64_t), sizeof low);
    return low;
}

inline std::uint64_t fake_result(std::span<const std::byte> item) {
    std::uint64_t value = 0;
    std::memcpy(&value, item.data(), sizeof value);
    return mix(value ^ index_in(item));
}

inline std::uint64_t expected_result(std::uint64_t index) {
    std::vector<std::byte> item(fake_input_bytes);
    fake_item(index, item);
    return fake_result(item);
}

inline std::vector<std::uint64_t> expected_results(std::uint64_t items, std::uint64_t first = 0) {
    std::vector<std::uint64_t> results;
    for (std::uint64_t i = first; i < items; ++i) {
        results.push_back(expected_result(i));
    }
    return results;
}

/// Of the fake items [first, end) every third is cut.
inline std::uint32_t cut_in(std::uint64_t first, std::uint64_t end) {
    return static_cast<std::uint32_t>((end + 2) / 3 - (first + 2) / 3);
}

class FakeSource final : public ItemSource {
public:
    explicit FakeSource(std::uint64_t items) : items_(items) {}

    [[nodiscard]] std::uint64_t count() const noexcept override { return items_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return items_ * fake_input_bytes; }
    [[nodiscard]] InputReads reads() const noexcept override { return {}; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return step; }
    [[nodiscard]] std::string stamp() const override { return "fake"; }
    [[nodiscard]] std::vector<SourceFile> files() const override { return {}; }
    void check_content() const override {}

    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        if (on_read) {
            on_read(first);
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            fake_item(first + i, to.subspan(std::size_t{i} * fake_input_bytes, fake_input_bytes));
        }
        return cut_in(first, first + count);
    }

    std::function<void(std::uint64_t first)> on_read;
    std::uint32_t step = UINT32_MAX;  ///< Granularity: by default a chunk is one read.

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

}  // namespace sluice::test
