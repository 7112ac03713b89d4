#include "scheduler/rank_report.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST(LinkTimes, AreThoseOfTheReceiversWhereTheyAreLonger) {
    std::vector<RankReport> ranks(3);
    ranks[0].breakdown.run = 10s;
    ranks[0].breakdown.instances = {{.stage = Stage::scatter, .name = "send", .busy = 4s},
                                    {.stage = Stage::gather, .name = "receive", .busy = 1s}};
    ranks[1].rank = 1;
    ranks[1].breakdown.receiving = 3s;
    ranks[2].rank = 2;
    ranks[2].breakdown.receiving = 9s;
    std::vector<LinkTraffic> links{{.rank = 1, .sending = 4s}, {.rank = 2, .sending = 2s}};

    count_receipts(ranks, links);

    EXPECT_EQ(links[0].sending, 4s);
    EXPECT_EQ(links[1].sending, 9s);
    EXPECT_EQ(ranks[0].breakdown.instances[0].busy, 9s);
    EXPECT_EQ(ranks[0].breakdown.instances[1].busy, 1s);

    ranks[2].breakdown.receiving = 11s;
    count_receipts(ranks, links);
    EXPECT_EQ(ranks[0].breakdown.instances[0].busy, 10s) << "never longer than the run";
    count_receipts({}, links);
}

}  // namespace
}  // namespace sluice
