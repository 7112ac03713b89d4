#include "core/machine/cpu_throttling.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;

void write_stat(const std::filesystem::path& folder, const std::string& text) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cpu.stat") << text;
}

TEST(CpuThrottling, IsReadOfBothVersions) {
    const CpuThrottling taken{.periods = 40, .throttled = 9, .time = 1'500us};

    EXPECT_EQ(throttling_in("usage_usec 77\nuser_usec 70\nnr_periods 40\nnr_throttled 9\nthrottled_usec 1500\n"),
              taken);
    EXPECT_EQ(throttling_in("nr_periods 40\nnr_throttled 9\nthrottled_time 1500000\nnr_bursts 0\n"), taken);
    for (const char* const none : {"", "usage_usec 77\n", "nr_periods x\n", "nr_periods 4\n", "nr_throttled 1"}) {
        EXPECT_EQ(throttling_in(none), std::nullopt) << none;
    }
}

TEST(ThrottleMeter, TellsWhatTheGroupTookSinceItsConstructionThatTookMost) {
    const TemporaryFolder folder;
    write_stat(folder.path() / "job", "nr_periods 10\nnr_throttled 5\nthrottled_usec 1000\n");
    write_stat(folder.path() / "job/step", "nr_periods 10\nnr_throttled 1\nthrottled_usec 100\n");
    const ThrottleMeter meter({folder.path() / "job/step", folder.path() / "job", folder.path() / "none"});

    EXPECT_EQ(meter.read(), std::nullopt) << "nothing ran yet";

    write_stat(folder.path() / "job", "nr_periods 30\nnr_throttled 20\nthrottled_usec 5000\n");
    write_stat(folder.path() / "job/step", "nr_periods 30\nnr_throttled 1\nthrottled_usec 100\n");
    EXPECT_EQ(meter.read(), (CpuThrottling{.periods = 20, .throttled = 15, .time = 4ms}));
}

TEST(ThrottleMeter, TellsNothingWithoutAQuota) {
    const TemporaryFolder folder;
    const ThrottleMeter meter({folder.path()});
    EXPECT_EQ(meter.read(), std::nullopt);

    write_stat(folder.path() / "job", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    EXPECT_EQ(ThrottleMeter({folder.path() / "job"}).read(), std::nullopt);
}

}  // namespace
}  // namespace sluice
