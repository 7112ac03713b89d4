#include "core/files/paths.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(HintForMissing, NamesThePartThatAShellWouldExpand) {
    const char* const note = " is taken as it is: a job's paths have no variables and no ~";

    EXPECT_EQ(hint_for_missing("look", "run/$SCRATCH/in.csv"), std::string("look; '$SCRATCH'") + note);
    EXPECT_EQ(hint_for_missing("look", "a${USER}.csv"), std::string("look; 'a${USER}.csv'") + note);
    EXPECT_EQ(hint_for_missing("look", "/home/~/in.csv"), std::string("look; '~'") + note);
    for (const char* const path : {"", "in.csv", "$", "a$/in.csv", "cost$5.csv", "~.csv", "a~/b"}) {
        EXPECT_EQ(hint_for_missing("look", path), "look") << path;
    }
}

}  // namespace
}  // namespace sluice
