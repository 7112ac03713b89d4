#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <string>

#include "core/commit/committed_output.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {

/// A run in a folder of its own, as one file and as a folder of parts.
class CommittedOutputRun : public testing::TestWithParam<OutputLayout> {
protected:
    [[nodiscard]] std::string starting() const {
        return code_of([&] { const CommittedOutput run(run_.options()); });
    }

    /// An attempt that commits chunks up to `end` and is killed.
    void be_killed_after(std::uint64_t end) const { be_killed_after(end, run_); }

    static void be_killed_after(std::uint64_t end, const RunFolder& folder) {
        Child child([&] {
            CommittedOutput run(folder.options());
            append_until(run, folder.job(), end);
            run.commit();
            ::raise(SIGKILL);
        });
        ASSERT_EQ(child.wait().signal, SIGKILL);
    }

    RunFolder run_{FakeJob{.layout = GetParam()}};
};

inline std::string layout_name(const testing::TestParamInfo<OutputLayout>& test) {
    return test.param == OutputLayout::file ? "File" : "Folder";
}

}  // namespace sluice::test
