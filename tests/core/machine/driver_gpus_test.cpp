#include "core/machine/gpu_visibility.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <utility>

#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Files of Linux's own devices stand in for NVIDIA's: they have minor numbers, too, and one major number.
constexpr auto devices = std::to_array<std::pair<int, const char*>>({{3, "null"}, {5, "zero"}, {7, "full"}});

struct Description {
    std::string pci;
    std::string digits;  ///< Of the UUID's end.
    int minor = devices[0].first;
    std::string model = "NVIDIA H200";
    std::string excluded = "No";
};

/// What the kernel module shows, and the GPUs' device files.
class DriverGpus : public testing::Test {
protected:
    void add(const Description& gpu) const {
        const fs::path folder = proc() / "gpus" / gpu.pci;
        fs::create_directories(folder);
        std::ofstream(folder / "information")
            << "Model: \t\t " << gpu.model << "\nIRQ:   \t\t 41\nGPU UUID: \t GPU-00000000-0000-4000-8000-"
            << gpu.digits << "\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t " << gpu.pci << "\nDevice Minor: \t "
            << gpu.minor << "\nGPU Excluded:\t " << gpu.excluded << '\n';
        for (const auto& [minor, name] : devices) {
            if (minor == gpu.minor) {
                fs::create_symlink(fs::path("/dev") / name, file(minor));
            }
        }
    }

    [[nodiscard]] std::optional<std::vector<std::string>> uuid_ends() const {
        const auto gpus = read_driver_gpus(proc(), dev());
        if (!gpus) {
            return std::nullopt;
        }
        std::vector<std::string> ends;
        for (const CudaGpu& gpu : *gpus) {
            ends.push_back(gpu.uuid.substr(gpu.uuid.size() - 2));
        }
        return ends;
    }

    [[nodiscard]] fs::path proc() const { return folder_.path() / "proc"; }
    [[nodiscard]] const fs::path& dev() const { return folder_.path(); }
    [[nodiscard]] fs::path file(int minor) const { return dev() / fmt::format("nvidia{}", minor); }

private:
    void SetUp() override { fs::create_symlink("/dev/null", dev() / "nvidiactl"); }

    TemporaryFolder folder_;
};

using Ends = std::vector<std::string>;

TEST_F(DriverGpus, AreThoseOfTheKernelModuleByAddress) {
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 3});
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 5});

    const auto gpus = read_driver_gpus(proc(), dev());

    ASSERT_TRUE(gpus);
    ASSERT_EQ(gpus->size(), 2U);
    EXPECT_EQ(gpus->front().uuid, "GPU-00000000-0000-4000-8000-00000000000a");
    EXPECT_EQ(gpus->front().pci, "0000:17:00.0");
    EXPECT_EQ(gpus->front().name, "NVIDIA H200");
    EXPECT_EQ(uuid_ends(), (Ends{"0a", "0c"}));
}

TEST_F(DriverGpus, AreLeftOutWhereTheProcessMayNotOpenThem) {
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 3});
    add({.pci = "0000:2a:00.0", .digits = "00000000000b", .minor = 5, .excluded = "Yes"});
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 7});
    fs::remove(file(3));

    EXPECT_EQ(uuid_ends(), Ends{"0c"});
}

TEST_F(DriverGpus, AreUnknownWhereSomethingElseIsInTheirPlace) {
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 3});
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 5});
    ASSERT_EQ(uuid_ends(), (Ends{"0a", "0c"}));
    const auto replace_by = [&](const char* what) {
        fs::remove(file(3));
        fs::create_symlink(what, file(3));
    };

    replace_by("/dev/full");  // the minor number of none of them
    EXPECT_EQ(uuid_ends(), std::nullopt);
    fs::remove(file(3));
    std::ofstream(file(3)) << "no device";
    EXPECT_EQ(uuid_ends(), std::nullopt);
    replace_by("/dev/null");
    EXPECT_EQ(uuid_ends(), (Ends{"0a", "0c"}));
    fs::remove(dev() / "nvidiactl");
    EXPECT_EQ(uuid_ends(), std::nullopt) << "nothing says which major number is theirs";
    fs::create_symlink("/dev/tty", dev() / "nvidiactl");  // major 5
    EXPECT_EQ(uuid_ends(), std::nullopt) << "another driver's";
}

TEST_F(DriverGpus, AreUnknownWithoutAModuleThatDescribesThem) {
    EXPECT_EQ(uuid_ends(), std::nullopt);
    add({.pci = "0000:17:00.0", .digits = "????????????"});
    EXPECT_EQ(uuid_ends(), std::nullopt) << "nobody has initialised it";
}

TEST_F(DriverGpus, AreUnknownWhereCudaHasAnOrderOfItsOwn) {
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 3});
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 5, .model = "NVIDIA L4"});

    EXPECT_EQ(uuid_ends(), std::nullopt);
}

TEST_F(DriverGpus, AreUnknownWhereOneHasInstances) {
    add({.pci = "0000:17:00.0", .digits = "00000000000a"});
    fs::create_directories(proc() / "capabilities" / "gpu0" / "mig");
    EXPECT_EQ(uuid_ends(), Ends{"0a"});

    fs::create_directories(proc() / "capabilities" / "gpu0" / "mig" / "gi3");
    EXPECT_EQ(uuid_ends(), std::nullopt);
}

}  // namespace
}  // namespace sluice
