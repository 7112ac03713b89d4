#include "core/text/program_name.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

class ProgramName : public testing::Test {
protected:
    void TearDown() override { name_program(before_); }

private:
    const std::string before_ = program_name();
};

TEST_F(ProgramName, IsWhatItWasCalledWithoutFolders) {
    const struct {
        const char* argv0;
        const char* name;
    } rows[] = {{"my-app", "my-app"}, {"./build/my-app", "my-app"}, {"/opt/my apps/my app", "my app"},
                {"", "sluice"},       {"folder/", "sluice"},        {"a\x1b[2J", "a\\x1b[2J"}};
    for (const auto& row : rows) {
        name_program(row.argv0);

        EXPECT_EQ(program_name(), row.name) << row.argv0;
    }
}

TEST(UnnamedProgram, IsSluice) {
    EXPECT_EQ(program_name(), "sluice");
}

}  // namespace
}  // namespace sluice
