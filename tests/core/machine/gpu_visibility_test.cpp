#include "core/machine/gpu_visibility.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string first = "GPU-5b2f1c00-0000-4000-8000-00000000000a";
const std::string second = "GPU-5b2f7d00-0000-4000-8000-00000000000b";
const std::string third = "GPU-c0ffee00-0000-4000-8000-00000000000c";

Topology three_gpus() {
    return {.gpus = {{.pci = "0000:31:00.0", .uuid = first},
                     {.pci = "0000:b1:00.0", .uuid = second},
                     {.pci = "0000:ca:00.0", .uuid = third}}};
}

std::vector<std::string> visible_in(const std::optional<std::string>& value, const Topology& topology = three_gpus()) {
    std::vector<std::string> ids;
    for (const VisibleGpu& gpu : visible_gpus(topology, value).gpus) {
        ids.push_back(gpu.id);
    }
    return ids;
}

std::string note(const std::string& value, const Topology& topology = three_gpus()) {
    const std::vector<std::string> notes = visible_gpus(topology, value).notes;
    return notes.empty() ? "" : notes.front();
}

std::vector<CudaGpu> three_of_cuda() {
    return {{.uuid = first, .pci = "0000:31:00.0", .name = "NVIDIA H200"},
            {.uuid = second, .pci = "0000:b1:00.0", .name = "NVIDIA H200"},
            {.uuid = third, .pci = "0000:ca:00.0", .name = "NVIDIA H200"}};
}

TEST(GpuVisibility, IsToldWithoutCudaWhereTheVariableLeavesNoDoubt) {
    const auto uuids_seen = [](const std::optional<std::string>& variable) {
        std::vector<std::string> uuids;
        const std::vector<CudaGpu> gpus = seen_by_cuda(three_of_cuda(), variable).value();
        for (const CudaGpu& gpu : gpus) {
            uuids.push_back(gpu.uuid);
        }
        return uuids;
    };
    EXPECT_THAT(uuids_seen(std::nullopt), ElementsAre(first, second, third));
    EXPECT_THAT(uuids_seen("2,0"), ElementsAre(third, first));
    EXPECT_THAT(uuids_seen("GPU-c0"), ElementsAre(third));
    EXPECT_THAT(uuids_seen(""), IsEmpty());
    EXPECT_FALSE(seen_by_cuda(three_of_cuda(), "0,7"));
    EXPECT_FALSE(seen_by_cuda(three_of_cuda(), "MIG-GPU-c0ffee00/3/0"));
}

TEST(GpuVisibility, IsNarrowedToTheGpusThatAProcessDrives) {
    EXPECT_EQ(variable_for(std::vector{second}, three_of_cuda()), second);
    EXPECT_EQ(variable_for(std::vector{third, first}, three_of_cuda()), third + "," + first);
    EXPECT_EQ(variable_for(std::vector{third, first, second}, three_of_cuda()), std::nullopt) << "all that it sees";
}

TEST(GpuVisibility, NumbersGpusAsCudaShowsThem) {
    EXPECT_EQ(numbers_of(std::vector{third, first}, three_of_cuda()), (std::vector<std::uint32_t>{2, 0}));
    EXPECT_EQ(numbers_of(std::vector{first, std::string("GPU-gone")}, three_of_cuda()), std::nullopt);
}

TEST(GpuVisibility, IsAllWithoutTheVariableAndNoneWhenItIsEmpty) {
    EXPECT_THAT(visible_in(std::nullopt), ElementsAre(first, second, third));
    EXPECT_THAT(visible_in(""), IsEmpty());
    EXPECT_THAT(visible_in(" "), IsEmpty());
}

TEST(GpuVisibility, FollowsIndexesInTheirOrder) {
    EXPECT_THAT(visible_in("2,0"), ElementsAre(third, first));
    EXPECT_THAT(visible_in(" 1 , 2 "), ElementsAre(second, third));
    EXPECT_EQ(note("2,0"), "");
}

TEST(GpuVisibility, EndsAtTheFirstEntryThatNamesNothing) {
    EXPECT_THAT(visible_in("0,2,-1,1"), ElementsAre(first, third)) << "the guide's own example";
    EXPECT_EQ(note("0,2,-1,1"), "");
    EXPECT_THAT(visible_in("0,3,1"), ElementsAre(first));
    EXPECT_THAT(note("0,3,1"), HasSubstr("'3' is not an index of this machine's 3 GPUs"));
    EXPECT_THAT(visible_in("x,0"), IsEmpty());
    EXPECT_THAT(note("\x1b,0"), HasSubstr("'\\x1b' is neither an index nor a UUID"));
    EXPECT_THAT(visible_in("0,,1"), ElementsAre(first));
    EXPECT_THAT(visible_in("99999999999999999999"), IsEmpty());
    EXPECT_THAT(visible_in("NoDevFiles"), IsEmpty());
}

TEST(GpuVisibility, EndsAtAGpuThatWasNamedBefore) {
    EXPECT_THAT(visible_in("1,1,2"), ElementsAre(second));
    EXPECT_THAT(note("1," + second), HasSubstr("was already named"));
}

TEST(GpuVisibility, TakesUuidsAndTheirUniqueBeginnings) {
    EXPECT_THAT(visible_in(third + "," + first), ElementsAre(third, first));
    EXPECT_THAT(visible_in("GPU-c0,GPU-5b2f7"), ElementsAre(third, second));
    EXPECT_THAT(visible_in("GPU-5b2f"), IsEmpty());
    EXPECT_THAT(note("GPU-5b2f"), HasSubstr("begins the UUIDs of several GPUs"));
    EXPECT_THAT(note("GPU-dead"), HasSubstr("is not the UUID of any GPU here"));
}

TEST(GpuVisibility, SaysWhenTheTopologyHoldsNoUuids) {
    const Topology topology{.gpus = {{.pci = "0000:31:00.0"}}};

    EXPECT_THAT(visible_in("0", topology), ElementsAre("0000:31:00.0"));
    EXPECT_THAT(visible_in(first, topology), IsEmpty());
    EXPECT_THAT(note(first, topology), HasSubstr("this topology does not record its GPUs' UUIDs"));
}

TEST(GpuVisibility, KnowsWhereAnInstanceIsWhenItsNameHoldsItsGpu) {
    const std::string name = "MIG-" + third + "/3/0";
    const VisibleGpus visible = visible_gpus(three_gpus(), name);

    ASSERT_EQ(visible.gpus.size(), 1U);
    EXPECT_EQ(visible.gpus[0], (VisibleGpu{.id = name, .pci = "0000:ca:00.0"}));
}

TEST(GpuVisibility, KnowsWhereANamelessInstanceIsOnAMachineOfOneGpu) {
    const std::string name = "MIG-11112222-0000-4000-8000-000000000001";
    const Topology one{.gpus = {{.pci = "0000:31:00.0", .uuid = first}}};

    EXPECT_EQ(visible_gpus(one, name).gpus.at(0).pci, "0000:31:00.0");
    EXPECT_EQ(visible_gpus(three_gpus(), name).gpus.at(0).pci, "");
    EXPECT_THAT(visible_gpus(Topology{}, name).gpus, IsEmpty());
}

TEST(GpuVisibility, ShowsOneInstanceAtMost) {
    const std::string name = "MIG-" + third + "/3/0";

    EXPECT_THAT(visible_in(name + ",MIG-" + third + "/4/0"), ElementsAre(name));
    EXPECT_THAT(note(name + ",0"), HasSubstr("a process sees one instance at most"));
}

}  // namespace
}  // namespace sluice
