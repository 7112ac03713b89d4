#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/layers/include_rules.hpp"

namespace sluice {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::filesystem::path sources_root = SLUICE_SOURCE_DIR;

/// Lines of `text` with a string that names a command of sluice: the program may have another name (program_name()).
std::vector<std::string> commands_in_strings(const std::string& text) {
    static const std::regex command(
        "^[^/]*\"[^\"]*\\bsluice (…|--help|(run|resume|verify|check|apps|topo|doctor|script|submit|status|drain|cancel|"
        "ladder|exec|follow|stop-reason|help|completion|version)\\b)");
    static const std::regex name_of_a_format("\"sluice run\"");
    std::vector<std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, command) && !std::regex_search(line, name_of_a_format)) {
            found.push_back(line);
        }
    }
    return found;
}

TEST(ProgramName, IsAskedForWhereverAMessageNamesACommand) {
    for (const std::string& source : sources_under(sources_root)) {
        if (!source.starts_with("tests/")) {
            EXPECT_THAT(commands_in_strings(text_of(sources_root / source)), IsEmpty()) << source;
        }
    }
}

TEST(ProgramName, IsFoundInStringsAlone) {
    EXPECT_THAT(commands_in_strings("    hint = \"`sluice status` shows it\";\n"), SizeIs(1));
    EXPECT_THAT(commands_in_strings("/// What \"x\" is for `sluice status`.\n{\"format\", \"sluice run\"}\n"),
                IsEmpty());
}

}  // namespace
}  // namespace sluice
