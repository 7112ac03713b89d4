#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/config_jobs.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

JobConfig with_paths(const std::string& value, const std::filesystem::path& base = {}) {
    return parse(smallest_job, {{"input.path", value}}, base);
}

TEST(InputPaths, AreAStringOrAList) {
    const std::string listed =
        "app = \"classifier\"\ninput.path = [\"b.txt\", \"a*.txt\"]\nmodel.random = 1\noutput.path = \"labels.csv\"\n";

    EXPECT_EQ(parse(listed).input.paths, (Paths{"b.txt", "a*.txt"}));
    EXPECT_EQ(with_paths("parts/*.txt").input.paths, Paths{"parts/*.txt"});
    EXPECT_EQ(with_paths("[ab]?.txt").input.paths, Paths{"[ab]?.txt"});
    EXPECT_EQ(with_paths("['b.txt', \"a.txt\"]").input.paths, (Paths{"b.txt", "a.txt"}));
    EXPECT_EQ(with_paths("[\"[ab].txt\"]").input.paths, Paths{"[ab].txt"});
    EXPECT_EQ(with_paths("'[ab].txt'").input.paths, Paths{"[ab].txt"});
}

TEST(InputPaths, StartInTheJobFilesFolderWhateverItIsCalled) {
    EXPECT_EQ(with_paths("['a.txt', '/in/b*.txt']", "jobs").input.paths, (Paths{"jobs/a.txt", "/in/b*.txt"}));
    EXPECT_EQ(with_paths("*.txt", "jobs[1]").input.paths, Paths{"jobs[[]1]/*.txt"});
    EXPECT_EQ(parse(smallest_job, {{.key = "input.path", .value = "a.txt", .base = "/x*"}}, "jobs").input.paths,
              Paths{"/x[*]/a.txt"});
}

TEST(InputPaths, ReadBackAsTheyWereWritten) {
    for (const char* const value :
         {"a.txt", "[ab]*.txt", "['a.txt', 'b\"\\*.txt']", "['a.txt', 'a.txt', '[[]x.txt']"}) {
        const JobConfig job = with_paths(value);

        EXPECT_EQ(parse(to_toml(job)), job) << to_toml(job);
    }
    EXPECT_THAT(to_toml(with_paths("['a.txt']")), HasSubstr("path = \"a.txt\"\n"));
}

TEST(InputPaths, AreChangedInFrontOfWildcards) {
    JobConfig job = with_paths("['in/*.txt', 'a.txt']");

    change_paths(job, [](const std::filesystem::path& path) { return "/new" / path; });

    EXPECT_EQ(job.input.paths, (Paths{"/new/in/*.txt", "/new/a.txt"}));
    EXPECT_EQ(job.output.path, "/new/labels.csv");
}

TEST(InputPaths, HaveOneFormat) {
    EXPECT_EQ(with_paths("['a.npy', 'b*.NPY', '[cd].npy']").input.format, InputFormat::npy);
    EXPECT_EQ(parse(smallest_job, {set("input.path=['a.txt', 'b.csv', 'c/*']"), set("input.format=txt")}).input.format,
              InputFormat::txt);

    const Error mixed = refusal(smallest_job, {set("input.path=['a.txt', 'c*.txt', 'x/b.csv']")});
    EXPECT_EQ(mixed.text().id, "E-CFG-011");
    EXPECT_EQ(mixed.text().what, "input.path: got 'a.txt' and 'b.csv', expected files of one format");
    EXPECT_THAT(refusal(smallest_job, {set("input.path=parts/*")}).text().what, HasSubstr("got no extension"));
}

TEST(InputPaths, AreRefusedWhereTheyNameNothing) {
    for (const auto& [value, id] :
         {std::pair{"[]", "E-CFG-011"}, std::pair{"['a.txt', '']", "E-CFG-011"}, std::pair{"''", "E-CFG-011"},
          std::pair{"[1]", "E-CFG-010"}, std::pair{"[['a.txt']]", "E-CFG-010"}, std::pair{"[a.txt]", "E-CFG-010"},
          std::pair{"[\"a\\n.txt\"]", "E-CFG-017"}}) {
        const Error refused = refusal(smallest_job, {{"input.path", value}});

        EXPECT_EQ(refused.text().id, id) << value;
        EXPECT_EQ(refused.code(), ExitCode::configuration) << value;
    }
}

TEST(InputPaths, AreRefusedWhereARunCouldNotKeepThem) {
    std::string list = "[";
    for (int i = 0; i < 1000; ++i) {
        list += "'" + std::to_string(i) + ".txt',";
    }
    list += "]";

    EXPECT_EQ(with_paths(list, "/x").input.paths.size(), 1000U);
    const Error refused = test::error_of([&] { return with_paths(list, "/" + std::string(60, 'x')); });
    EXPECT_THAT(refused.text().what, HasSubstr("got a list of 1000 names"));
    EXPECT_THAT(refused.text().hint, HasSubstr("pattern"));
}

TEST(InputPaths, MatchNoOutput) {
    const auto refused = [](const char* paths, const char* output) {
        return refusal(smallest_job, {{"input.path", paths}, {"input.format", "txt"}, {"output.path", output}});
    };

    for (const char* const paths : {"['a.txt', 'labels.csv']", "*.csv", "x/../l*", "['a', '[k-m]abels.*']", "*"}) {
        EXPECT_EQ(refused(paths, "labels.csv").code(), ExitCode::refused) << paths;
        EXPECT_EQ(refused(paths, "labels.csv").text().id, "E-SEC-019") << paths;
    }
    EXPECT_EQ(refused("out/*.json", "out/labels.csv").code(), ExitCode::refused);  // the report
    const auto parts_of = [](const char* format) {
        return std::vector<Override>{set("input.path=in/*.csv"), set("output.path=in/"), {"output.format", format}};
    };
    EXPECT_EQ(refusal(smallest_job, parts_of("csv")).code(), ExitCode::refused);
    EXPECT_NO_THROW((void)parse(smallest_job, parts_of("npy")));
    EXPECT_NO_THROW((void)with_paths("in/*.txt"));
}

}  // namespace
}  // namespace sluice
