#include "core/config/slurm_option.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace sluice {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(Duration, IsReadInEveryForm) {
    EXPECT_EQ(parse_duration("04:00:00"), seconds(14'400));
    EXPECT_EQ(parse_duration("100:00:01"), seconds(360'001));
    EXPECT_EQ(parse_duration("1-12:00:00"), seconds(129'600));
    EXPECT_EQ(parse_duration("240s"), seconds(240));
    EXPECT_EQ(parse_duration("90m"), seconds(5'400));
    EXPECT_EQ(parse_duration("4h"), seconds(14'400));
    EXPECT_EQ(parse_duration("2d"), seconds(172'800));
}

TEST(Duration, OfAnotherFormIsNone) {
    for (const char* text : {"",
                             "1",
                             "04:00",
                             "4:60:00",
                             "4:00:60",
                             "-1:00:00",
                             "1-",
                             "1-2",
                             "h",
                             "-4h",
                             "4 h",
                             "4H",
                             "1.5h",
                             "366d",
                             "99999999999999999999s",
                             "1-00:00:00:00",
                             " 04:00:00",
                             "04:00:00 ",
                             "0x10s",
                             "04:00:0x"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(Duration, IsWrittenAsItIsRead) {
    EXPECT_EQ(duration_text(seconds(0)), "00:00:00");
    EXPECT_EQ(duration_text(seconds(86'399)), "23:59:59");
    EXPECT_EQ(duration_text(seconds(93'784)), "1-02:03:04");
    for (const int count : {1, 59, 60, 3'599, 86'400, 31'536'000}) {
        EXPECT_EQ(parse_duration(duration_text(seconds(count))), seconds(count));
    }
}

TEST(ExtraOption, MayBeWhatSluiceDoesNotSet) {
    for (const char* option : {"--switches=1@00:30:00", "--time-min=10", "--nice", "--licenses=a:1", "--core-spec=2"}) {
        EXPECT_EQ(problem_with_option(option), "") << option;
    }
}

TEST(ExtraOption, ThatSluiceSetsOrThatStandsForItIsRefused) {
    for (const char* option :
         {"--output=x", "--outp=x", "--export=ALL", "--exp=ALL", "--wrap=x", "--wra=x", "--array=1",
          "--gpus-per-task=1", "--mem-per-cpu=1", "--uid=0", "--chdir=/", "--exc", "--nodes=2"}) {
        EXPECT_NE(problem_with_option(option), "") << option;
    }
}

TEST(ExtraOption, IsOneLongOptionOfHarmlessCharacters) {
    for (const char* option : {"", "-", "--", "---", "--=", "-N2", "x", "--a=b c", "--aa=b c", "--aa=\"b\"", "--aa='b",
                               "--aa=\\", "--aa=#", "--Aa", "--aa\n", "--aa=\x7f", "--aa=\xc3\xa9", "--a a"}) {
        EXPECT_NE(problem_with_option(option), "") << option;
    }
    EXPECT_NE(problem_with_option("--aa=" + std::string(600, 'a')), "");
}

TEST(UserOption, MaySetAnewWhatKeysHaveSetButNotWhatTheJobNeeds) {
    const auto problem = [](const char* option) { return problem_with_option(option, OptionOrigin::command_line); };

    for (const char* option : {"--qos=high", "--nodes=2", "--time=10", "--mem=1G", "--job-name=a b",
                               "--dependency=afterok:1", "--kill-on-invalid-dep=yes"}) {
        EXPECT_EQ(problem(option), "") << option;
    }
    for (const char* option :
         {"--output=x", "--export=ALL", "--wrap=x", "--requeue", "--me=1G", "script.sh", "-N2", "--qos=\n"}) {
        EXPECT_NE(problem(option), "") << option;
    }
}

TEST(KeptOption, IsRefusedEverywhereAndListedForUsers) {
    std::ifstream file(SLUICE_SOURCE_DIR "/docs/slurm.md");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t begin = text.find("\n| options | what they would change |\n");
    ASSERT_NE(begin, std::string::npos);
    std::vector<std::string> listed;  // in the first column of the table
    std::istringstream table(text.substr(begin + 1, text.find("\n\n", begin) - begin));
    for (std::string line; std::getline(table, line);) {
        const std::string cell = line.substr(0, line.find('|', 1));
        for (std::size_t at = cell.find("`--"); at != std::string::npos; at = cell.find("`--", at + 1)) {
            listed.push_back(cell.substr(at + 3, cell.find('`', at + 1) - at - 3));
        }
    }
    std::ranges::sort(listed);

    const std::vector<std::string_view> kept = kept_options();
    EXPECT_EQ(listed, std::vector<std::string>(kept.begin(), kept.end()));
    for (const std::string& name : listed) {
        EXPECT_NE(problem_with_option("--" + name + "=1", OptionOrigin::command_line), "") << name;
        EXPECT_NE(problem_with_option("--" + name + "=1", OptionOrigin::job_file), "") << name;
    }
}

TEST(Option, ThatIsRefusedIsToldWhy) {
    EXPECT_THAT(problem_with_option("--nodes=2"), HasSubstr("a key of their own in [slurm]"));
    EXPECT_THAT(problem_with_option("--hold"), HasSubstr("leaves tasks, script, log"));
    EXPECT_THAT(problem_with_option("--dependency=afterok:1"),
                HasSubstr("sluice submit JOB.toml -- --dependency=afterok:1"));
}

}  // namespace
}  // namespace sluice
