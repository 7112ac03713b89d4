#include "comm/mpi_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PeersToProbe, AreAsManyAsTakeLittleOfTheRun) {
    using namespace std::chrono_literals;
    EXPECT_THAT(peers_to_probe(4, 4s), IsEmpty());
    EXPECT_THAT(peers_to_probe(1, 1h), IsEmpty());
    EXPECT_THAT(peers_to_probe(2, 5s), ElementsAre(1));
    EXPECT_THAT(peers_to_probe(9, 10s), ElementsAre(1, 5));
    EXPECT_THAT(peers_to_probe(4, 1h), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace sluice
