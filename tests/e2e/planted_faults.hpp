#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::test {

/// For as long as it lives, programs that this one starts obey it, and jobs lie where syncing takes no time: a busy
/// disk may take longer than what is planted.
class PlantedFaults {
public:
    explicit PlantedFaults(const std::string& faults) {
        EXPECT_EQ(::setenv("SLUICE_FAULT", faults.c_str(), 1), 0);
        if (std::filesystem::is_directory("/dev/shm")) {
            EXPECT_EQ(::setenv("TMPDIR", "/dev/shm", 1), 0);
        }
    }
    ~PlantedFaults() {
        EXPECT_EQ(::unsetenv("SLUICE_FAULT"), 0);
        EXPECT_EQ(usual_ ? ::setenv("TMPDIR", usual_->c_str(), 1) : ::unsetenv("TMPDIR"), 0);
    }
    PlantedFaults(const PlantedFaults&) = delete;
    PlantedFaults& operator=(const PlantedFaults&) = delete;

private:
    std::optional<std::string> usual_ = [] {
        const char* const folder = std::getenv("TMPDIR");
        return folder == nullptr ? std::nullopt : std::optional<std::string>(folder);
    }();
};

}  // namespace sluice::test
