#include "core/commit/heartbeat.hpp"

#include <gtest/gtest.h>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

TEST(Heartbeat, TouchesItsFileAgainAndAgain) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "alive";
    write_contents(file, "");
    const Heartbeat heartbeat(file, std::chrono::milliseconds(1));

    for (int beat = 0; beat < 3; ++beat) {  // ends when it beats, or with the test's time limit
        std::filesystem::last_write_time(file, std::filesystem::file_time_type());
        while (std::filesystem::last_write_time(file) == std::filesystem::file_time_type()) {
            std::this_thread::yield();
        }
    }
}

TEST(Heartbeat, EndsAtOnceHoweverLongItsIntervalIs) {
    const Heartbeat heartbeat("/does/not/exist", std::chrono::hours(24));
}

TEST(Heartbeat, SurvivesThatItsFileIsGone) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "alive";
    const Heartbeat heartbeat(file, std::chrono::milliseconds(1));

    write_contents(file, "");
    std::filesystem::last_write_time(file, std::filesystem::file_time_type());
    while (std::filesystem::last_write_time(file) == std::filesystem::file_time_type()) {
        std::this_thread::yield();
    }
}

}  // namespace
}  // namespace sluice::test
