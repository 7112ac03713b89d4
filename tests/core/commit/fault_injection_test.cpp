#include "tests/support/fault_injection.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "core/process/fault_point.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

std::string arming(std::string_view text) {
    return code_of([&] { arm_fault(text); });
}

TEST(FaultInjection, FailsTheNthCallOfItsName) {
    arm_fault("write::3=errno:ENOSPC");

    EXPECT_EQ(fault_at_call("write"), 0);
    EXPECT_EQ(fault_at_call("fsync"), 0);
    EXPECT_EQ(fault_at_call("write"), 0);
    EXPECT_EQ(fault_at_call("write"), ENOSPC);
    EXPECT_EQ(fault_at_call("write"), 0);
    EXPECT_EQ(times_met("write"), 4U);
}

TEST(FaultInjection, FailsTheNthOfAllCalls) {
    arm_fault("call::2=errno:EIO");

    fault_point("seal");
    EXPECT_EQ(fault_at_call("write"), 0);
    EXPECT_EQ(fault_at_call("close"), EIO);
}

TEST(FaultInjection, FailsEveryTimeAndSeveralCalls) {
    arm_fault("link::*=errno:EPERM,write::2=errno:EIO");

    EXPECT_EQ(fault_at_call("link"), EPERM);
    EXPECT_EQ(fault_at_call("write"), 0);
    EXPECT_EQ(fault_at_call("link"), EPERM);
    EXPECT_EQ(fault_at_call("write"), EIO);
}

TEST(FaultInjection, IsMeantForOneRank) {
    arm_fault("write:1=errno:EIO", 0);
    EXPECT_EQ(fault_at_call("write"), 0);

    arm_fault("write:1=errno:EIO", 1);
    EXPECT_EQ(fault_at_call("write"), EIO);
}

TEST(FaultInjection, EndsOrStopsTheProcess) {
    const auto meet = [](const char* fault) {
        Child child([&] {
            arm_fault(fault);
            fault_point("seal");
        });
        return child.wait_for_end_or_stop();
    };

    EXPECT_EQ(meet("seal=kill").signal, SIGKILL);
    EXPECT_EQ(meet("seal=exit:75").exit_code, 75);
    EXPECT_TRUE(meet("any=stop").stopped);
    EXPECT_EQ(meet("seal::2=kill").exit_code, 0);
}

TEST(FaultInjection, BreaksTheProtocolWithoutAPointOfItsOwn) {
    arm_fault("rename-over=break,any::1=errno:EIO");

    EXPECT_TRUE(is_broken("rename-over"));
    EXPECT_FALSE(is_broken("shared-folder"));
    EXPECT_EQ(points_met(), 0U);
    EXPECT_EQ(fault_at_call("write"), EIO);
    disarm_faults();
    EXPECT_FALSE(is_broken("rename-over"));
}

TEST(FaultInjection, RefusesWhatItCannotDo) {
    for (const char* text : {"", "seal", "seal=", "seal=explode", "nowhere=kill", "seal:x=kill", "seal::0=kill",
                             "seal::x=kill", "seal=kill,x", "any=stop,any=stop,any=stop,any=stop,any=stop",
                             "seal=exit:", "seal=exit:256", "seal=errno:ENOTHING", "=kill", "seal=break", "any=break",
                             "shared-folder=kill", "shared-folder::2=break", "shared-folder:0=break"}) {
        EXPECT_EQ(arming(text), "64 E-USE-098") << text;
    }
    EXPECT_EQ(arming("seal=kill"), "none");
    disarm_faults();
}

}  // namespace
}  // namespace sluice::test
