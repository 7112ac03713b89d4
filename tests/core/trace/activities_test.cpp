#include "core/trace/activities.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {
namespace {

TEST(Activities, HaveAGroupOfTheirOwnUnlessOneIsNamed) {
    Activities activities;
    const std::uint32_t device = activities.new_group();
    static_cast<void>(activities.add(ActivityKind::reader, "reader 0"));
    static_cast<void>(activities.add(ActivityKind::device, "device 0", device));
    static_cast<void>(activities.add(ActivityKind::stream, "device 0 upload stream", device));
    static_cast<void>(activities.add(ActivityKind::reader, "reader 1"));

    const std::vector<Activities::View> views = activities.look();

    ASSERT_EQ(views.size(), 4U);
    EXPECT_EQ(views[1].group, device);
    EXPECT_EQ(views[2].group, device);
    EXPECT_NE(views[0].group, device);
    EXPECT_NE(views[3].group, device);
    EXPECT_NE(views[0].group, views[3].group);
}

TEST(Activities, AreSaidInTheOrderInWhichTheyWereAdded) {
    Activities activities;
    Activity& reader = activities.add(ActivityKind::reader, "reader 0");
    Activity& writer = activities.add(ActivityKind::writer, "writer");
    Activity& device = activities.add(ActivityKind::device, "device 1");
    const auto said = [&] {
        std::vector<std::string> all;
        for (const Activities::View& view : activities.look()) {
            all.push_back(describe(view));
        }
        return all;
    };

    reader.work(Stage::read, 12);
    writer.wait(Stage::gather, 7);
    device.wait(Stage::scatter);
    EXPECT_EQ(said(), (std::vector<std::string>{"reader 0: reads chunk 12", "writer: waits for the results of chunk 7",
                                                "device 1: waits for a chunk"}));

    reader.wait(Stage::read, 13);
    writer.work(Stage::write, 7);
    device.wait(Stage::gather, 6);
    EXPECT_EQ(said(), (std::vector<std::string>{"reader 0: waits for room for chunk 13", "writer: writes chunk 7",
                                                "device 1: waits for rank 0 to take the results of chunk 6"}));

    device.work(Stage::scatter, 9);
    EXPECT_EQ(said().back(), "device 1: copies the items of chunk 9");
    device.work(Stage::compute, 8);
    EXPECT_EQ(said().back(), "device 1: computes chunk 8");
}

TEST(Activities, ShowThatTheyGetOn) {
    Activities activities;
    Activity& device = activities.add(ActivityKind::device, "device 0");
    const auto moves = [&] { return activities.look().front().state.moves; };

    const std::uint64_t begun = moves();
    device.work(Stage::compute, 3);
    const std::uint64_t at_work = moves();
    device.move();

    EXPECT_GT(at_work, begun);
    EXPECT_GT(moves(), at_work);
}

}  // namespace
}  // namespace sluice
