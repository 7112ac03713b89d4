#include "core/output/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/core/input/io_fixture.hpp"
#include "tests/support/without_descriptors.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* key = "output.path";
constexpr uid_t nobody = 65534;
constexpr int not_possible_here = 77;

class OutputFileTest : public IoTest {
protected:
    [[nodiscard]] static std::string failure(const std::filesystem::path& path) {
        return summary_of(error_of([&] { const OutputFile file(path, key); }));
    }
    [[nodiscard]] std::filesystem::path target() const { return folder() / "out.csv"; }
};

/// Ends the process with the error's code when its text begins with `wanted`, else with 2; with 0 when all goes well.
[[noreturn]] void exit_with_what_happens(const std::filesystem::path& path, std::size_t bytes,
                                         const std::string& wanted) {
    try {
        OutputFile file(path, key);
        file.write(std::string(bytes, 'x'));
        file.publish();
    } catch (const Error& error) {
        ::_exit(error.text().id + " " + error.text().what == wanted ? static_cast<int>(error.code()) : 2);
    }
    ::_exit(0);
}

bool write_to(const char* path, const std::string& text) {
    std::ofstream stream(path);
    stream << text << std::flush;
    return stream.good();
}

/// A file system of 64 KiB at `folder`, seen by this process alone: as root at once, else in a user namespace that
/// knows this user and group, where the kernel allows that.
bool mount_small_file_system(const std::filesystem::path& folder) {
    const std::string user = std::to_string(::geteuid());
    const std::string group = std::to_string(::getegid());
    const bool separate = ::geteuid() == 0 ? ::unshare(CLONE_NEWNS) == 0
                                           : ::unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
                                                 write_to("/proc/self/uid_map", user + " " + user + " 1") &&
                                                 write_to("/proc/self/setgroups", "deny") &&
                                                 write_to("/proc/self/gid_map", group + " " + group + " 1");
    return separate && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

TEST_F(OutputFileTest, AppearsWhenItIsPublished) {
    OutputFile file(target(), key);
    file.write("abc");
    file.write(std::string(3 << 20, 'x'));
    file.write("def");
    EXPECT_FALSE(std::filesystem::exists(target()));

    file.publish();

    EXPECT_EQ(contents(target()), "abc" + std::string(3 << 20, 'x') + "def");
    EXPECT_THAT(names_in_folder(), ElementsAre("out.csv"));
}

TEST_F(OutputFileTest, WaitsUnderATemporaryNameInTheSameFolder) {
    const OutputFile file(target(), key);

    EXPECT_THAT(names_in_folder(), ElementsAre(StartsWith(".out.csv.tmp-")));
}

TEST_F(OutputFileTest, LeavesNothingBehindWhenItIsNotPublished) {
    {
        OutputFile file(target(), key);
        file.write(std::string(5 << 20, 'x'));
    }
    EXPECT_THAT(names_in_folder(), IsEmpty());
}

TEST_F(OutputFileTest, ReplacesAnEarlierFileOnlyWhenItIsPublished) {
    write("out.csv", "earlier");
    { const OutputFile abandoned(target(), key); }
    EXPECT_EQ(contents(target()), "earlier");

    OutputFile file(target(), key);
    file.write("later");
    EXPECT_EQ(contents(target()), "earlier");
    file.publish();

    EXPECT_EQ(contents(target()), "later");
}

TEST_F(OutputFileTest, FollowsTheUmask) {
    const mode_t before = ::umask(027);
    OutputFile file(target(), key);
    file.publish();
    ::umask(before);

    struct stat status = {};
    ASSERT_EQ(::stat(target().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(OutputFileTest, WorksInTheCurrentFolderAndSurvivesAChangeOfIt) {
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder());
    OutputFile file("out.csv", key);
    std::filesystem::current_path(before);

    file.publish();

    EXPECT_THAT(names_in_folder(), ElementsAre("out.csv"));
}

TEST_F(OutputFileTest, AcceptsTheLongestName) {
    OutputFile file(folder() / std::string(255, 'x'), key);

    file.publish();

    EXPECT_THAT(names_in_folder(), ElementsAre(std::string(255, 'x')));
}

TEST_F(OutputFileTest, NeedsAFolderThatIsThere) {
    EXPECT_THAT(
        failure(folder() / "none" / "out.csv"),
        AllOf(StartsWith("73 E-OUT-021 out.csv: cannot open the folder "), EndsWith("No such file or directory")));
    EXPECT_THAT(failure(write("file", "") / "out.csv"),
                AllOf(StartsWith("73 E-OUT-021 out.csv: cannot open the folder "), EndsWith("Not a directory")));
    EXPECT_THAT(failure(folder() / std::string(256, 'x')), HasSubstr("73 E-OUT-021"));
}

TEST_F(OutputFileTest, NeedsAFolderThatItMayWriteTo) {
    ASSERT_EQ(::chmod(folder().c_str(), 0555), 0);
    const auto write_as_nobody = [&] {
        std::filesystem::current_path(folder());  // to which nobody's way may be barred
        if (::geteuid() == 0 && ::setuid(nobody) != 0) {
            ::_exit(1);
        }
        exit_with_what_happens(target().filename(), 1,
                               "E-OUT-021 cannot create a file in its folder: Permission denied");
    };

    EXPECT_EXIT(write_as_nobody(), testing::ExitedWithCode(73), "");
    ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
}

TEST_F(OutputFileTest, SaysThatItCannotGetItsName) {
    OutputFile file(target(), key);
    file.write("abc");
    std::filesystem::create_directory(target());

    EXPECT_THAT(summary_of(error_of([&] { file.publish(); })), HasSubstr("rename the finished file"));
}

TEST_F(OutputFileTest, NeverReplacesWhatIsNoFile) {
    std::filesystem::create_directory(folder() / "folder");
    std::filesystem::create_symlink(write("other", "abc"), folder() / "link");
    ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);

    EXPECT_EQ(failure(folder() / "folder"), "73 E-OUT-021 folder: is a folder (expected a file or nothing)");
    EXPECT_THAT(error_of([&] { OutputFile(folder() / "folder", key); }).text().hint, HasSubstr("ends with a slash"));
    EXPECT_EQ(error_of([&] { OutputFile(folder() / "link", "output.report"); }).text().hint,
              "choose another output.report");
    EXPECT_EQ(failure(folder() / "link"), "73 E-OUT-021 link: is a symbolic link (expected a file or nothing)");
    EXPECT_EQ(failure(folder() / "pipe"), "73 E-OUT-021 pipe: is a device or pipe (expected a file or nothing)");
    EXPECT_EQ(failure("/dev/null"), "73 E-OUT-021 null: is a device or pipe (expected a file or nothing)");
    EXPECT_EQ(failure(folder() / ""), "73 E-OUT-021 : not the path of a file");
    EXPECT_EQ(failure(folder() / ".."), "73 E-OUT-021 ..: is a folder (expected a file or nothing)");
    EXPECT_EQ(failure(""), "73 E-OUT-021 : not the path of a file");
    EXPECT_EQ(contents(folder() / "other"), "abc");
}

TEST_F(OutputFileTest, ReportsAFullFileSystem) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!mount_small_file_system(folder())) {
            ::_exit(not_possible_here);
        }
        exit_with_what_happens(target(), 4 << 20, "E-IO-002 cannot write the output: No space left on device");
    }

    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);

    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == not_possible_here) {
        GTEST_SKIP() << "no file system may be mounted here";
    }
    EXPECT_EQ(WEXITSTATUS(status), 74);
}

TEST_F(OutputFileTest, ReportsTheLimitOfFileSizesAndLeavesNothingBehind) {
    const auto write_too_much = [&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        exit_with_what_happens(target(), 8192, "E-IO-004 cannot write the output: File too large");
    };

    EXPECT_EXIT(write_too_much(), testing::ExitedWithCode(74), "");
    EXPECT_THAT(names_in_folder(), IsEmpty());
}

TEST_F(OutputFileTest, IsNotAtFaultWhereTooManyFilesAreOpen) {
    EXPECT_EXIT(exit_without_descriptors([&] { const OutputFile file(target(), key); }), testing::ExitedWithCode(71),
                "E-IO-005");
}

TEST_F(OutputFileTest, IsUsedNoMoreAfterAFailureOrAfterPublishing) {
    const auto use_after_failure = [&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        OutputFile file(target(), key);
        try {
            file.write(std::string(4 << 20, 'x'));
        } catch (const Error&) {
            try {
                file.publish();
            } catch (const ContractViolation&) {
                ::_exit(74);
            }
        }
        ::_exit(0);
    };
    EXPECT_EXIT(use_after_failure(), testing::ExitedWithCode(74), "");

    OutputFile file(target(), key);
    file.publish();
    EXPECT_THROW(file.write("x"), ContractViolation);
    EXPECT_THROW(file.publish(), ContractViolation);
}

}  // namespace
}  // namespace sluice::test
