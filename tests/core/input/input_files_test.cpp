#include "core/input/input_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

#include "core/files/checksum.hpp"
#include "tests/core/input/io_fixture.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t other_user = 65534;

class InputFilesTest : public IoTest {
protected:
    using Paths = std::vector<std::filesystem::path>;

    void write_all(const std::vector<std::string>& names) const {
        for (const std::string& name : names) {
            std::filesystem::create_directories((folder() / name).parent_path());
            write(name, name);
        }
    }

    [[nodiscard]] Paths in_folder(const std::vector<std::string>& names) const {
        Paths paths;
        for (const std::string& name : names) {
            paths.push_back(folder() / name);
        }
        return paths;
    }

    /// Their names in the folder.
    [[nodiscard]] std::vector<std::string> found(const std::vector<std::string>& names) const {
        std::vector<std::string> found;
        for (const auto& file : open_input_files(in_folder(names))) {
            found.push_back(file->path().lexically_relative(folder()).native());
        }
        return found;
    }

    [[nodiscard]] Error refusal(const std::vector<std::string>& names) const {
        return error_of([&] { static_cast<void>(open_input_files(in_folder(names))); });
    }
};

TEST_F(InputFilesTest, AreInTheOrderOfTheListAndMatchesInThatOfTheirBytes) {
    write_all({"b.csv", "B.csv", "a10.csv", "a9.csv", "_.csv", "\xC3\xA9.csv", "z/1.csv", "z-/1.csv", "other.txt"});

    EXPECT_THAT(found({"*.csv"}), ElementsAre("B.csv", "_.csv", "a10.csv", "a9.csv", "b.csv", "\xC3\xA9.csv"));
    EXPECT_THAT(found({"b.csv", "a?.csv", "a1*.csv", "[A-Z].csv"}), ElementsAre("b.csv", "a9.csv", "a10.csv", "B.csv"));
    EXPECT_THAT(found({"*/1.csv"}), ElementsAre("z-/1.csv", "z/1.csv"));
    EXPECT_THAT(found({"[!a-z]*.csv"}), ElementsAre("B.csv", "_.csv", "\xC3\xA9.csv"));
}

TEST_F(InputFilesTest, ThatAreHiddenAndFoldersAreNotMatched) {
    write_all({".hidden.csv", "a.csv", "folder.csv/x.csv", ".folder/y.csv"});

    EXPECT_THAT(found({"*.csv"}), ElementsAre("a.csv"));
    EXPECT_THAT(found({"*/*.csv"}), ElementsAre("folder.csv/x.csv"));
    EXPECT_THAT(found({".*.csv"}), ElementsAre(".hidden.csv"));
}

TEST_F(InputFilesTest, WhoseNameHasWildcardsAreTakenByThatName) {
    write_all({"a[1].csv", "a1.csv", "*.csv", "[x]/b*.csv", "x/bc.csv"});

    EXPECT_THAT(found({"a[1].csv"}), ElementsAre("a[1].csv"));
    EXPECT_THAT(found({"*.csv"}), ElementsAre("*.csv"));
    EXPECT_THAT(found({"a[12].csv", "?[[]1].csv", "[*].csv"}), ElementsAre("a1.csv", "a[1].csv", "*.csv"));
    EXPECT_THAT(found({"[[]x]/b*.csv"}), ElementsAre("[x]/b*.csv"));
    EXPECT_THAT(found({"[[]x]/b?.csv"}), ElementsAre("[x]/b*.csv"));
    EXPECT_THAT(found({"[x]/b?.csv"}), ElementsAre("x/bc.csv"));
    write_all({"[*].csv"});
    EXPECT_THAT(found({"[*].csv"}), ElementsAre("[*].csv"));
}

TEST_F(InputFilesTest, AreRefusedWhereThereAreNone) {
    write_all({"a.csv", "folder.csv/x.txt"});

    const Error none = refusal({"a.csv", "b*.csv"});
    EXPECT_EQ(summary_of(none), "66 E-INP-180 b*.csv: the pattern matches no file");
    EXPECT_EQ(refusal({"f*.csv"}).text().id, "E-INP-180");
    EXPECT_EQ(refusal({"none/*.csv"}).text().id, "E-INP-180");
    std::string long_pattern;
    for (int i = 0; i < 100'000; ++i) {
        long_pattern += "*/";
    }
    EXPECT_THAT(refusal({long_pattern}).text().what, HasSubstr(" bytes, and no file's path has more than 4095"));
    EXPECT_EQ(refusal({"a.csv/*.csv"}).text().id, "E-INP-180");
    EXPECT_EQ(refusal({"b.csv", "a.csv"}).text().id, "E-INP-028");
    EXPECT_THAT(refusal({"a.csv", "b[.csv"}).text().what, HasSubstr("No such file"));

    const Error is_folder = refusal({"a.csv", "folder.csv"});
    EXPECT_EQ(is_folder.code(), ExitCode::no_input);
    EXPECT_EQ(is_folder.text().hint, "name its files, as in " + (folder() / "folder.csv/*.csv").native());
}

TEST_F(InputFilesTest, AreRefusedAtAMatchThatCannotBeRead) {
    write_all({"a.csv", "c.csv"});
    std::filesystem::create_symlink("missing", folder() / "b.csv");
    EXPECT_THAT(refusal({"*.csv"}).text().where, HasSubstr("b.csv"));

    std::filesystem::remove(folder() / "b.csv");
    ASSERT_EQ(::mkfifo((folder() / "b.csv").c_str(), 0600), 0);
    EXPECT_THAT(refusal({"*.csv"}).text().what, HasSubstr("got a pipe"));
}

/// Otherwise what is in it would be missing from the input without a word.
TEST_F(InputFilesTest, AreRefusedAtAFolderThatCannotBeSearched) {
    write_all({"a/d.csv", "b/c/d.csv", "file"});
    std::filesystem::create_symlink("missing", folder() / "dangling");
    std::filesystem::create_symlink("loop", folder() / "loop");
    std::filesystem::create_directory_symlink("b/c", folder() / "link");
    ASSERT_THAT(found({"*/d.csv"}), ElementsAre("a/d.csv", "link/d.csv"));
    ASSERT_EQ(::chmod((folder() / "b").c_str(), 0), 0);
    const auto open_as_other = [&](const std::string& pattern) {
        if (::geteuid() == 0 && (::chmod(folder().c_str(), 0755) != 0 || ::setuid(other_user) != 0)) {
            ::_exit(1);
        }
        try {
            static_cast<void>(open_input_files(in_folder({pattern})));
        } catch (const Error& error) {
            ::fputs(summary_of(error).c_str(), stderr);
            ::_exit(static_cast<int>(error.code()));
        }
        ::_exit(0);
    };
    const auto refused = testing::ExitedWithCode(66);

    EXPECT_EXIT(open_as_other("[ab]/d.csv"), refused, "E-INP-028 b: cannot read the folder: Permission denied");
    EXPECT_EXIT(open_as_other("[ab]/c/d.csv"), refused, "E-INP-028 b: cannot read the folder: Permission denied");
    EXPECT_EXIT(open_as_other("[al]*/d.csv"), refused, "E-INP-028 link: cannot read the folder: Permission denied");
    EXPECT_EXIT(open_as_other("[a]/d.csv"), testing::ExitedWithCode(0), "");
    ASSERT_EQ(::chmod((folder() / "b").c_str(), 0700), 0);
}

TEST_F(InputFilesTest, AreRefusedAtAFolderWhoseNamesCannotAllBeRead) {
    write_all({"a/1.csv", "a/2.csv", "b/3.csv"});
    const auto refused_at = [&](int name) {
        arm_fault(fmt::format("list::{}=errno:EIO", name));
        const std::string said = summary_of(refusal({"*/*.csv"}));
        disarm_faults();
        return said;
    };

    install_faults();
    EXPECT_EQ(refused_at(2),
              "66 E-INP-028 " + folder().filename().native() + ": cannot read the folder: Input/output error");
    EXPECT_THAT(refused_at(8), HasSubstr(": cannot read the folder: Input/output error"));  // of "a" or "b"
    EXPECT_EQ(open_input_files(in_folder({"*/*.csv"})).size(), 3U);
}

TEST_F(InputFilesTest, AreRefusedTwice) {
    write_all({"a.csv", "b.csv", "c/d.csv"});
    std::filesystem::create_hard_link(folder() / "a.csv", folder() / "z.csv");
    std::filesystem::create_directory_symlink("c", folder() / "link");

    EXPECT_EQ(summary_of(refusal({"b.csv", "[ab].csv"})), "78 E-INP-181 b.csv: input.path names this file twice");
    EXPECT_THAT(refusal({"c/../b.csv", "b.csv"}).text().what, HasSubstr("is the same file as"));
    EXPECT_THAT(refusal({"*.csv"}).text().where, HasSubstr("z.csv"));
    EXPECT_EQ(refusal({"*/d.csv"}).text().id, "E-INP-181");
}

TEST_F(InputFilesTest, HaveAStampOfContentsAndOrder) {
    write_all({"a.csv", "b.csv", "copy/a.csv", "copy/b.csv"});
    write("copy/a.csv", "a.csv");
    write("copy/b.csv", "b.csv");
    const auto stamp = [&](const std::vector<std::string>& names) {
        return stamp_of(open_input_files(in_folder(names)));
    };

    EXPECT_EQ(stamp({"a.csv"}), open_input_files(in_folder({"a.csv"})).front()->stamp());
    EXPECT_EQ(stamp({"*.csv"}), stamp({"copy/*.csv"}));
    EXPECT_THAT(stamp({"*.csv"}), testing::StartsWith("2 files, 10 bytes, XXH3 "));
    EXPECT_NE(stamp({"a.csv", "b.csv"}), stamp({"b.csv", "a.csv"}));
    EXPECT_NE(stamp({"a.csv", "b.csv"}), stamp({"a.csv", "copy/a.csv"}));
}

TEST_F(InputFilesTest, MayBeMoreThanTheSoftLimitOfOpenFiles) {
    constexpr rlim_t low = 100;
    rlimit limit = {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit before = limit;
    limit.rlim_cur = low;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    constexpr std::size_t many = 300;
    for (std::size_t i = 0; i < many; ++i) {
        write(fmt::format("{:03}.csv", i), fmt::format("{}", i));
    }

    const InputFiles files = open_input_files(in_folder({"*.csv"}));

    EXPECT_EQ(files.size(), many);
    EXPECT_EQ(files[many - 1]->path(), folder() / "299.csv");
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(limit.rlim_cur, low + many);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(ForAllFiles, ReportsTheFirstFailureWhateverTheThreads) {
    constexpr std::size_t files = 500;
    for (const std::size_t first : {std::size_t{0}, std::size_t{17}, files - 1}) {
        std::vector<std::atomic<int>> calls(files);
        const auto work = [&](std::size_t i) {
            ++calls[i];
            if (i >= first) {
                throw std::runtime_error(std::to_string(i));
            }
        };
        try {
            for_all_files(files, work);
            FAIL() << "nothing was thrown";
        } catch (const std::runtime_error& error) {
            EXPECT_EQ(error.what(), std::to_string(first));
        }
        for (std::size_t i = 0; i <= first; ++i) {
            EXPECT_EQ(calls[i], 1) << i;
        }
    }
    const auto never = [](std::size_t) { FAIL(); };
    for_all_files(0, never);
}

}  // namespace
}  // namespace sluice::test
