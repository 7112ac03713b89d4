#include "core/machine/gpu_visibility.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

struct Description {
    std::string pci;
    std::string digits;  ///< Of the UUID's end.
    int minor = 0;
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
        std::ofstream(dev() / fmt::format("nvidia{}", gpu.minor));
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

private:
    TemporaryFolder folder_;
};

using Ends = std::vector<std::string>;

TEST_F(DriverGpus, AreThoseOfTheKernelModuleByAddress) {
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 0});
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 1});

    const auto gpus = read_driver_gpus(proc(), dev());

    ASSERT_TRUE(gpus);
    ASSERT_EQ(gpus->size(), 2U);
    EXPECT_EQ(gpus->front().uuid, "GPU-00000000-0000-4000-8000-00000000000a");
    EXPECT_EQ(gpus->front().pci, "0000:17:00.0");
    EXPECT_EQ(gpus->front().name, "NVIDIA H200");
    EXPECT_EQ(uuid_ends(), (Ends{"0a", "0c"}));
}

TEST_F(DriverGpus, AreLeftOutWhereTheProcessMayNotOpenThem) {
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 0});
    add({.pci = "0000:2a:00.0", .digits = "00000000000b", .minor = 1, .excluded = "Yes"});
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 2});
    fs::remove(dev() / "nvidia0");

    EXPECT_EQ(uuid_ends(), Ends{"0c"});
}

TEST_F(DriverGpus, AreUnknownWithoutAModuleThatDescribesThem) {
    EXPECT_EQ(uuid_ends(), std::nullopt);
    add({.pci = "0000:17:00.0", .digits = "????????????"});
    EXPECT_EQ(uuid_ends(), std::nullopt) << "nobody has initialised it";
}

TEST_F(DriverGpus, AreUnknownWhereCudaHasAnOrderOfItsOwn) {
    add({.pci = "0000:17:00.0", .digits = "00000000000a", .minor = 0});
    add({.pci = "0000:ca:00.0", .digits = "00000000000c", .minor = 1, .model = "NVIDIA L4"});

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
