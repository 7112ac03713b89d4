#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/echo_job.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

TEST(MpiAppKeys, ReachEveryRankAndAreTheRunsOwn) {
    std::vector<std::string> items;
    std::string expected = "item,label\n";
    for (std::size_t i = 0; i < 12; ++i) {
        items.emplace_back(i + 1, 'x');
        expected += std::to_string(i) + "," + std::to_string(i + 1 + 1000) + "\n";
    }
    const EchoJob job(items);

    const ProcessResult done = job.run(3, {"label.offset=1000", "pipeline.distribution=static"});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(contents(job.path() / "labels.csv"), expected);

    const ProcessResult other = job.run(0, {"label.offset=2"});

    EXPECT_EQ(other.exit_code, 73) << other.err;
    EXPECT_THAT(other.err, HasSubstr("label.offset (was '1000', is '2')"));
}

}  // namespace
}  // namespace sluice::test
