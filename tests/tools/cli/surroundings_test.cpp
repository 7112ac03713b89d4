#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/process.hpp"
#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

/// What a user's machine may do to any command: the program, a job and a place of its own.
class Surroundings : public testing::Test {
protected:
    Surroundings() {
        std::filesystem::copy_file(SLUICE_PROGRAM, program());  // where any user may start it
        std::ofstream(folder_.path() / "articles.txt") << "one\ntwo\nthree\n";
        std::ofstream(folder_.path() / "job.toml") << good_job;
        std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    }

    [[nodiscard]] std::filesystem::path program() const { return folder_.path() / "sluice"; }

    [[nodiscard]] ProcessResult run(std::vector<std::string> words, const std::vector<std::string>& arguments) const {
        words.push_back(program());
        words.insert(words.end(), arguments.begin(), arguments.end());
        return Process(words, {.folder = folder_.path()}).wait();
    }

    TemporaryFolder folder_;
};

/// Root may do everything: a user who may not.
std::vector<std::string> as_nobody() {
    return ::geteuid() == 0
               ? std::vector<std::string>{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
               : std::vector<std::string>{"/usr/bin/env"};
}

const std::vector<std::string> in_a_folder_that_is_gone{"/bin/sh", "-c",
                                                        "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\""};

TEST_F(Surroundings, WithoutAWorkingFolderRefuseRelativePaths) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"resume", "labels.csv"},
                                               {"verify", "labels.csv"},
                                               {"status", "labels.csv"},
                                               {"drain", "labels.csv"},
                                               {"cancel", "labels.csv"},
                                               {"script", "job.toml"},
                                               {"submit", "job.toml"},
                                               {"exec", "--plan", "plan.toml"},
                                               {"stop-reason", "--plan", "plan.toml", "--srun-rc", "0"}}) {
        const ProcessResult result = run(in_a_folder_that_is_gone, command);

        EXPECT_EQ(result.exit_code, 66) << command.front();
        EXPECT_THAT(result.errors(), SizeIs(1));
        EXPECT_THAT(result.err, StartsWith("sluice: error[E-IO-007]: ")) << command.front();
    }
}

TEST_F(Surroundings, WithoutAWorkingFolderLeaveAbsolutePathsAlone) {
    const ProcessResult result = run(in_a_folder_that_is_gone, {"run", folder_.path() / "job.toml", "--quiet"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "labels.csv"));
}

TEST_F(Surroundings, WithARunFolderThatMayNotBeReadSayWhatIsToBeOpened) {
    const std::filesystem::path run_folder = folder_.path() / "labels.csv.sluice";
    std::filesystem::create_directory(run_folder);
    ASSERT_TRUE(::geteuid() != 0 || ::chown(run_folder.c_str(), 65534, 65534) == 0);
    ASSERT_EQ(::chmod(run_folder.c_str(), 0), 0);

    for (const char* command : {"resume", "status", "verify", "cancel"}) {
        const ProcessResult result = run(as_nobody(), {command, "labels.csv"});

        EXPECT_EQ(result.exit_code, 66) << command;
        EXPECT_THAT(result.err, HasSubstr("error[E-IO-008]: ")) << command;
        EXPECT_THAT(result.err, HasSubstr(": Permission denied\n")) << command;
    }
    EXPECT_EQ(::chmod(run_folder.c_str(), 0700), 0) << "or it cannot be removed";
}

TEST_F(Surroundings, WithAFolderOfPartsThatMayNotBeWrittenSayItBeforeARun) {
    const std::filesystem::path parts = folder_.path() / "labels";
    std::filesystem::create_directory(parts);
    ASSERT_EQ(::chmod(parts.c_str(), 0555), 0);

    for (std::vector<std::string> command :
         std::vector<std::vector<std::string>>{{"check"}, {"doctor"}, {"submit", "--dry-run"}, {"run"}}) {
        command.insert(command.end(), {"job.toml", "--set", "output.path=labels/", "--set", "output.format=csv"});
        const ProcessResult result = run(as_nobody(), command);

        EXPECT_EQ(result.exit_code, 73) << command.front();
        EXPECT_THAT(result.out + result.err, HasSubstr("E-OUT-021")) << command.front();
        EXPECT_THAT(result.out + result.err, HasSubstr(": Permission denied")) << command.front();
    }
}

TEST_F(Surroundings, WithAFolderOfPartsInOneThatMayNotBeWrittenRun) {
    const std::filesystem::path outer = folder_.path() / "of-the-project";
    std::filesystem::create_directories(outer / "labels");
    ASSERT_TRUE(::geteuid() != 0 || ::chown((outer / "labels").c_str(), 65534, 65534) == 0);
    ASSERT_EQ(::chmod(outer.c_str(), 0555), 0);
    std::filesystem::create_directory(folder_.path() / "mine");
    ASSERT_TRUE(::geteuid() != 0 || ::chown((folder_.path() / "mine").c_str(), 65534, 65534) == 0);

    const ProcessResult result =
        run(as_nobody(), {"run", "job.toml", "--quiet", "--set", "output.path=of-the-project/labels/", "--set",
                          "output.format=csv", "--set", "output.report=mine/report.json"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(outer / "labels" / "MANIFEST.json"));
    EXPECT_EQ(::chmod(outer.c_str(), 0755), 0) << "or it cannot be removed";
}

TEST_F(Surroundings, WithAUmaskThatLocksTheirOwnerOutRunAllTheSame) {
    std::vector<std::string> words = as_nobody();
    words.insert(words.end(), {"/bin/sh", "-c", "umask 0177; exec \"$0\" \"$@\""});

    const ProcessResult done = run(words, {"run", "job.toml", "--quiet"});
    const ProcessResult again = run(words, {"run", "job.toml", "--quiet"});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(again.exit_code, 0) << again.err;
    struct stat made {};
    ASSERT_EQ(::stat((folder_.path() / "labels.csv").c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777, 0600U) << "others get no more than the umask allows";
}

TEST_F(Surroundings, WithoutThreadsSayWhatToRaise) {
    std::vector<std::string> words = as_nobody();
    words.insert(words.end(), {"/usr/bin/prlimit", "--nproc=1", "./sluice", "run", "job.toml"});

    const ProcessResult result = Process(words, {.folder = folder_.path()}).wait();

    EXPECT_EQ(result.exit_code, 71);
    EXPECT_THAT(result.err,
                HasSubstr("error[E-MEM-108]: the system starts no more threads\n  hint: raise `ulimit -u`"));
}

TEST_F(Surroundings, WithTooLittleMemoryForTheLaddersMatricesSayWhatMakesThemSmaller) {
    constexpr const char* two_gibibytes = "--as=2147483648";

    const ProcessResult result = run({"/usr/bin/prlimit", two_gibibytes},
                                     {"ladder", "--host", "--m", "65536", "--n", "65536", "--k", "1", "--json"});

    EXPECT_EQ(result.exit_code, 71);
    EXPECT_EQ(result.err,
              "sluice: error[E-MEM-068]: sluice ladder: out of memory\n  hint: choose a smaller --m, --n or --k\n");
}

TEST_F(Surroundings, WithTooFewOpenFilesSayWhatToRaise) {
    constexpr int not_even_its_libraries = 127;
    int refused = 0;
    for (int limit = 4, code = 1; code != 0; ++limit) {
        ASSERT_LT(limit, 64);
        const ProcessResult result =
            run({"/usr/bin/prlimit", "--nofile=" + std::to_string(limit)}, {"run", "job.toml", "--quiet"});
        code = result.exit_code;
        if (code != 0 && code != not_even_its_libraries) {
            EXPECT_EQ(code, 71) << result.err;
            EXPECT_THAT(result.err, HasSubstr("error[E-IO-005]: ")) << limit;
            ++refused;
        }
        std::filesystem::remove_all(folder_.path() / "labels.csv.sluice");
    }
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace sluice::test
