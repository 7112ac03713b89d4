#include "core/weights/packed_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/error.hpp"

namespace sluice {
namespace {

PackedWeights::Part writes(std::uint8_t value, std::size_t offset, std::size_t count) {
    return [=](std::byte* room) { std::memset(room + offset, value, count); };
}

void pack_alone(PackedWeights& weights, std::uint32_t threads = 1) {
    weights.pack(NodeMemory::of_process(weights.bytes()), {}, threads);
}

TEST(PackedWeights, HoldWhatThePartsHaveWritten) {
    for (const std::uint32_t threads : {1U, 2U, 7U}) {
        PackedWeights weights;
        const auto first = weights.reserve(100, {writes(1, 0, 60), writes(2, 60, 40)});
        const auto second = weights.reserve(3, {writes(3, 0, 3)});

        pack_alone(weights, threads);

        for (std::size_t i = 0; i < 100; ++i) {
            EXPECT_EQ(first.data()[i], std::byte(i < 60 ? 1 : 2)) << i;
        }
        EXPECT_EQ(second.data()[2], std::byte{3});
    }
}

TEST(PackedWeights, GiveEveryLayerRoomOfItsOwnOnACacheLine) {
    PackedWeights weights;
    const auto first = weights.reserve(1, {writes(1, 0, 1)});
    const auto empty = weights.reserve(0, {});
    const auto last = weights.reserve(65, {writes(2, 0, 65)});

    pack_alone(weights);

    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(last.data()) % 64, 0U);
    EXPECT_GT(last.data(), first.data());
    EXPECT_GE(empty.data(), first.data() + 1);
    EXPECT_EQ(first.data()[0], std::byte{1});
}

TEST(PackedWeights, AreCompleteWhenEveryRankHasWrittenItsShare) {
    constexpr std::uint32_t ranks = 3;
    constexpr std::size_t parts = 10;
    NodeMemory shared = NodeMemory::for_node(parts * 64);
    const NodeMemory::Ticket ticket = shared.ticket().value();
    std::vector<int> written(parts);

    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        PackedWeights weights;
        for (std::size_t i = 0; i < parts; ++i) {
            static_cast<void>(weights.reserve(64, {[&written, i](std::byte* room) {
                                                  ++written[i];
                                                  std::memset(room, static_cast<int>(i) + 1, 64);
                                              }}));
        }
        weights.pack(NodeMemory::map(ticket).value(), {rank, ranks}, 1);
    }

    EXPECT_EQ(written, std::vector<int>(parts, 1));
    for (std::size_t i = 0; i < parts; ++i) {
        EXPECT_EQ(shared.bytes()[i * 64 + 63], std::byte(i + 1));
    }
}

TEST(PackedWeights, ThrowWhatAPartThrows) {
    PackedWeights weights;
    static_cast<void>(weights.reserve(8, {[](std::byte*) { throw std::runtime_error("no room"); }, writes(1, 0, 8)}));

    EXPECT_THROW(pack_alone(weights, 2), std::runtime_error);
}

TEST(PackedWeights, AreNotReadBeforeTheyArePackedNorReservedAfter) {
    PackedWeights weights;
    const auto room = weights.reserve(8, {writes(1, 0, 8)});

    EXPECT_THROW(static_cast<void>(room.data()), ContractViolation);
    EXPECT_THROW(weights.pack(NodeMemory::of_process(8), {}, 1), ContractViolation);  // not rounded up to a line
    pack_alone(weights);
    EXPECT_THROW(static_cast<void>(weights.reserve(8, {})), ContractViolation);
    EXPECT_THROW(pack_alone(weights), ContractViolation);
    EXPECT_EQ(room.data()[7], std::byte{1});
}

}  // namespace
}  // namespace sluice
