#include <cstring>
#include <vector>

#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/cuda/philox_on_gpu.hpp"

namespace sluice {
namespace {

class PhiloxOnGpu : public OnGpu {
protected:
    template <class T>
    [[nodiscard]] static std::vector<T> values(const DeviceMemory& memory) {
        const std::vector<std::byte> bytes = memory.content();
        std::vector<T> result(bytes.size() / sizeof(T));
        std::memcpy(result.data(), bytes.data(), bytes.size());
        return result;
    }
};

TEST_F(PhiloxOnGpu, GivesTheWordsOfTheHost) {
    constexpr std::uint64_t seed = 0x299f31d0'a4093822;
    std::vector<Draw> draws{{.item = 0x85a308d3'243f6a88, .number = 0x13198a2e, .purpose = 0x03707344}};
    for (std::uint32_t i = 0; i < 1000; ++i) {
        draws.push_back({.item = std::uint64_t{i} << (i % 33), .number = i % 7, .purpose = i % 3});
    }
    std::vector<Random128> expected;
    for (const Draw& draw : draws) {
        expected.push_back(random_words(seed, draw));
    }
    const DeviceMemory on_device(std::as_bytes(std::span(draws)));
    const DeviceMemory out(draws.size() * sizeof(Random128));

    enqueue_random_words(seed, on_device.as<Draw>(), static_cast<std::uint32_t>(draws.size()), out.as<Random128>());

    EXPECT_EQ(values<Random128>(out), expected);
    EXPECT_EQ(expected[0], (Random128{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}})) << "the published answer";
}

TEST_F(PhiloxOnGpu, GivesTheUniformNumbersOfTheHost) {
    const std::vector<std::uint32_t> words{0, 1, 255, 256, 0x7fffffff, 0x80000000, 0xfffffeff, 0xffffffff, 12345678};
    std::vector<float> expected;
    for (const std::uint32_t word : words) {
        expected.push_back(uniform_below_one(word));
    }
    const DeviceMemory on_device(std::as_bytes(std::span(words)));
    const DeviceMemory out(expected.size() * sizeof(float));

    enqueue_uniforms(on_device.as<std::uint32_t>(), static_cast<std::uint32_t>(words.size()), out.as<float>());

    EXPECT_EQ(values<float>(out), expected);
}

}  // namespace
}  // namespace sluice
