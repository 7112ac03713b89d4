#include "core/machine/provenance.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Provenance, FindsTheModelOfTheFirstCpu) {
    EXPECT_EQ(cpu_model_in("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) "
                           "Platinum 8480+\nstepping\t: 8\n\nprocessor\t: 1\nmodel name\t: Another\n"),
              "Intel(R) Xeon(R) Platinum 8480+");
    EXPECT_EQ(cpu_model_in("model name\t: At the start"), "At the start");
    EXPECT_EQ(cpu_model_in("processor\t: 0\nCPU implementer\t: 0x41\n"), "");
    EXPECT_EQ(cpu_model_in(""), "");
    EXPECT_EQ(cpu_model_in("x\nmodel name\t: a\x1b[2Jb\n"), "a\\x1b[2Jb");
}

TEST(Provenance, FindsTheVersionOfTheDriver) {
    EXPECT_EQ(driver_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
                        "GCC version:  gcc version 12.2.0\n"),
              "535.104.05");
    EXPECT_EQ(driver_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"),
              "580.65.06");
    EXPECT_EQ(driver_in(""), "");
}

}  // namespace
}  // namespace sluice
