#include "core/machine/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/machine/gpu_sampler.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

const Instant first_look{};

/// tests/support/fake_nvml.cpp with what it is to play.
class PlayedNvml {
public:
    explicit PlayedNvml(const std::string& script) {
        test::write_file(folder_.path() / "script", script);
        EXPECT_EQ(::setenv("SLUICE_FAKE_NVML", (folder_.path() / "script").c_str(), 1), 0);
    }
    ~PlayedNvml() { EXPECT_EQ(::unsetenv("SLUICE_FAKE_NVML"), 0); }
    PlayedNvml(const PlayedNvml&) = delete;
    PlayedNvml& operator=(const PlayedNvml&) = delete;

private:
    TemporaryFolder folder_;
};

TEST(Nvml, ReadsAGpuByItsUuidOrItsAddress) {
    const PlayedNvml played(
        "GPU-a 0000:17:00.0 1755 300000 5000 0x4\n"
        "GPU-b 0000:2a:00.0 1410 - - -\n");
    Nvml nvml(SLUICE_FAKE_NVML_LIBRARY);
    ASSERT_EQ(nvml.problem(), "");

    Nvml::Gpu const a = nvml.find("GPU-a");
    Nvml::Gpu const b = nvml.find("0000:2a:00.0");

    ASSERT_NE(a, nullptr);
    EXPECT_EQ(nvml.read(a), (GpuReading{.clock_mhz = 1755, .watts = 300, .joules = 5, .limits = 4}));
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(nvml.read(b), (GpuReading{.clock_mhz = 1410})) << "what a GPU does not tell is not 0";
}

TEST(Nvml, SaysWhatIsMissing) {
    EXPECT_THAT(Nvml("/nowhere/libnvidia-ml.so.1").problem(), HasSubstr("libnvidia-ml.so.1: cannot open"));
    EXPECT_THAT(Nvml("libm.so.6").problem(), HasSubstr("lacks nvmlInit_v2"));
    EXPECT_EQ(Nvml(SLUICE_FAKE_NVML_LIBRARY).problem(), "nvmlInit_v2: Driver Not Loaded");

    const PlayedNvml played("GPU-a 0000:17:00.0 1755 300000 5000 0\n");
    Nvml nvml(SLUICE_FAKE_NVML_LIBRARY);
    EXPECT_EQ(nvml.find("GPU-c"), nullptr);
    EXPECT_EQ(nvml.problem(), "nvmlDeviceGetHandleByUUID of GPU-c: Not Found");
}

TEST(GpuUse, IsMadeOfSamplesAndOfTheEnergyBetweenTheEnds) {
    GpuUseBuilder builder("GPU-a");
    builder.mark({.clock_mhz = 210, .watts = 60, .joules = 1000, .limits = 1}, first_look);
    builder.add({.clock_mhz = 1980, .watts = 700, .joules = 1700, .limits = 0}, first_look + 1s);
    builder.add({.clock_mhz = 1410, .watts = 500, .joules = 2200, .limits = 0x44}, first_look + 2s);
    builder.mark({.clock_mhz = 210, .watts = 60, .joules = 2500, .limits = 1}, first_look + 3s);

    const GpuUse use = builder.use();

    EXPECT_EQ(use.samples, 2U);
    EXPECT_EQ(use.time, 3s);
    EXPECT_EQ(use.clock_mhz, (GpuClock{.least = 1410, .mean = 1695, .most = 1980}));
    EXPECT_THAT(use.watts, Optional(DoubleEq(600)));
    EXPECT_THAT(use.joules, Optional(DoubleEq(1500)));
    EXPECT_TRUE(use.joules_are_counted);
    EXPECT_THAT(use.limit_shares, ElementsAre(0, 0, 0.5, 0, 0, 0, 0.5, 0, 0));
}

TEST(GpuUse, IntegratesPowerWhereEnergyIsNotCounted) {
    GpuUseBuilder builder("GPU-a");
    builder.mark({}, first_look);
    builder.add({.watts = 100}, first_look + 1s);
    builder.add({.watts = 300}, first_look + 2s);

    EXPECT_THAT(builder.use().joules, Optional(DoubleEq(400)));
    EXPECT_FALSE(builder.use().joules_are_counted);
}

TEST(GpuUse, HasNoNumberThatIsNotKnown) {
    GpuUseBuilder builder("GPU-a");
    builder.mark({}, first_look);
    builder.add({}, first_look + 1s);

    EXPECT_EQ(builder.use(), (GpuUse{.gpu = "GPU-a", .samples = 1, .time = 1s}));
}

TEST(GpuSampler, LooksAtEachGpuEvenInAShortRun) {
    const PlayedNvml played(
        "GPU-a 0000:17:00.0 210 60000 1000000 1\n"
        "GPU-a 0000:17:00.0 1980 700000 1500000 4\n");
    GpuSampler sampler({.gpus = {"GPU-a", "GPU-c"}, .period = 1h, .library = SLUICE_FAKE_NVML_LIBRARY});

    const GpuUses uses = sampler.finish();

    ASSERT_EQ(uses.gpus.size(), 1U);
    EXPECT_EQ(uses.gpus[0].samples, 1U);
    EXPECT_THAT(uses.gpus[0].joules, Optional(DoubleEq(500)));
    EXPECT_EQ(uses.gpus[0].clock_mhz->mean, 1980);
    EXPECT_THAT(uses.note, HasSubstr("GPU-c: Not Found"));
}

TEST(GpuSampler, SaysWhyItKnowsNothing) {
    GpuSampler sampler({.gpus = {"GPU-a"}, .library = "/nowhere/libnvidia-ml.so.1"});

    const GpuUses uses = sampler.finish();

    EXPECT_THAT(uses.gpus, IsEmpty());
    EXPECT_THAT(uses.note, HasSubstr("cannot open"));
}

TEST(GpuSampler, DoesNothingWithoutGpus) {
    GpuSampler sampler({.library = "/nowhere/libnvidia-ml.so.1"});

    EXPECT_EQ(sampler.finish(), GpuUses{});
}

/// Two ranks of a node that see the same GPUs.
struct TwoRanks {
    TwoRanks(std::vector<std::uint32_t> first, std::vector<std::uint32_t> second) {
        const std::vector<VisibleGpu> gpus{{.id = "GPU-a", .pci = "0000:17:00.0"},
                                           {.id = "GPU-b", .pci = "0000:2a:00.0"},
                                           {.id = "MIG-x", .pci = "0000:3c:00.0"},
                                           {.id = "MIG-y", .pci = "0000:3c:00.0"}};
        layout.ranks.assign(2, {.gpus = gpus});
        placement.ranks.resize(2);
        for (const std::uint32_t number : first) {
            placement.ranks[0].devices.push_back({.number = number});
        }
        for (const std::uint32_t number : second) {
            placement.ranks[1].devices.push_back({.number = number});
        }
    }
    RankLayout layout;
    Placement placement;
};

TEST(GpusToSample, AreEachRanksOwn) {
    const TwoRanks node({0}, {1, 0});

    EXPECT_THAT(gpus_to_sample(node.layout, node.placement, 0), ElementsAre("GPU-a"));
    EXPECT_THAT(gpus_to_sample(node.layout, node.placement, 1), ElementsAre("GPU-b"));
}

TEST(GpusToSample, AreWholeGpusOnceWhereInstancesAreUsed) {
    const TwoRanks node({2, 3}, {3});

    EXPECT_THAT(gpus_to_sample(node.layout, node.placement, 0), ElementsAre("0000:3c:00.0"));
    EXPECT_THAT(gpus_to_sample(node.layout, node.placement, 1), IsEmpty());
}

}  // namespace
}  // namespace sluice
