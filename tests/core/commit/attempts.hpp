#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/commit/manifest.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {

/// Small enough that a run takes milliseconds, large enough that it commits in groups, seals several parts and puts
/// them together.
inline FakeJob small_job(OutputLayout layout) {
    return {.layout = layout, .items = 60, .chunk_items = 6, .chunks_per_part = 4};
}

/// A whole attempt in a process of its own, in which `fault` happens; "": none.
template <class Attempt>
ChildEnd attempt_with(const std::string& fault, Attempt&& attempt) {
    Child child([&] {
        if (!fault.empty()) {
            arm_fault(fault);
        }
        attempt();
    });
    return child.wait_for_end_or_stop();
}

/// How many fault points an undisturbed attempt meets.
template <class Attempt>
std::uint64_t points_of(Attempt&& attempt) {
    disarm_faults();
    attempt();
    const std::uint64_t points = points_met();
    EXPECT_GT(points, 10U);
    return points;
}

/// With which an attempt ends that has made fewer calls than the one that was to fail.
inline constexpr int nothing_failed = 98;

/// System calls that this process has made, or that have failed in their place.
inline std::uint64_t calls_met() {
    std::uint64_t calls = 0;
    for (const char* call : {"close", "copy", "fdatasync", "fsync", "link", "list", "mkdir", "open", "read", "rename",
                             "renameat2", "rmdir", "stat", "unlink", "write", "writeback"}) {
        calls += times_met(call);
    }
    return calls;
}

/// Empty when the output is there, byte for byte, with a manifest that says so; else what is wrong.
inline std::string problem_of(const RunFolder& folder) {
    if (!std::filesystem::exists(folder.paths().manifest())) {
        return "no manifest";
    }
    const Verification verification = verify_output(folder.paths());
    if (!verification.problems.empty()) {
        return verification.problems.front();
    }
    return folder.published() == folder.job().files() ? std::string() : "other bytes than an undisturbed run's";
}

inline std::string name_of(const testing::TestParamInfo<OutputLayout>& test) {
    return test.param == OutputLayout::file ? "File" : "Folder";
}

}  // namespace sluice::test
