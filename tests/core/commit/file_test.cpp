#include "core/commit/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <vector>

#include "core/files/paths.hpp"
#include "core/system/descriptor.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/fault_injection.hpp"
#include "tests/support/kept_effects.hpp"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class FileTest : public testing::Test {
protected:
    ~FileTest() override { disarm_faults(); }

    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "file"; }

    TemporaryFolder folder_;
};

Error error_for(int error) {
    try {
        fail_on_file("/data/part", "write", error);
    } catch (const Error& thrown) {
        return thrown;
    }
}

TEST_F(FileTest, SaysWhereWhatAndWhatToDo) {
    const Error error = error_for(ENOSPC);

    EXPECT_EQ(error.code(), ExitCode::io_error);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("error[E-IO-002]: /data/part: cannot write it: No space left on device"),
                                    HasSubstr("hint: free space")));
}

TEST_F(FileTest, GivesEveryErrorItsIdAndCode) {
    const auto code_for = [](int error) { return code_of([&] { fail_on_file("x", "write", error); }); };

    EXPECT_EQ(code_for(EDQUOT), "74 E-IO-002");
    EXPECT_EQ(code_for(EIO), "74 E-IO-003");
    EXPECT_EQ(code_for(ESTALE), "74 E-IO-003");
    EXPECT_EQ(code_for(EFBIG), "74 E-IO-004");
    EXPECT_EQ(code_for(EMFILE), "71 E-IO-005");
    EXPECT_EQ(code_for(EROFS), "73 E-OUT-021");
    EXPECT_EQ(code_for(EACCES), "73 E-OUT-021");
}

TEST_F(FileTest, WritesAndReadsAtOffsets) {
    File file = File::create(path());
    file.write_at(3, std::string_view("def"));
    file.write_at(0, std::string_view("abc"));

    std::string text(6, '\0');
    EXPECT_TRUE(file.read_at(0, std::as_writable_bytes(std::span(text))));
    EXPECT_EQ(text, "abcdef");
    EXPECT_FALSE(file.read_at(1, std::as_writable_bytes(std::span(text)))) << "it ends before";
    EXPECT_EQ(file.size(), 6U);
    file.close();
    EXPECT_THROW(file.close(), ContractViolation);
}

TEST_F(FileTest, NeverOpensOneThatIsThereAsNew) {
    write_file(path(), "abc");

    EXPECT_EQ(code_of([&] { static_cast<void>(File::create(path())); }), "73 E-OUT-021");
    EXPECT_FALSE(File::create_if_absent(path()));
    EXPECT_EQ(contents(path()), "abc");
}

TEST_F(FileTest, FollowsNoLink) {
    std::filesystem::create_symlink(path(), folder_.path() / "link");
    write_file(path(), "abc");

    EXPECT_EQ(code_of([&] { static_cast<void>(File::open(folder_.path() / "link")); }), "77 E-SEC-118");
}

TEST_F(FileTest, OpensNoSocket) {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(path().native().size(), sizeof address.sun_path);
    path().native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

    EXPECT_EQ(code_of([&] { static_cast<void>(File::open(path())); }), "77 E-SEC-118");
}

TEST_F(FileTest, FailsWithEveryCallThatFails) {
    const auto failing = [&](const char* fault, const auto& action) {
        arm_fault(fault);
        return code_of(action);
    };
    File file = File::create(path());

    EXPECT_EQ(failing("write=errno:ENOSPC", [&] { file.write_at(0, std::string_view("x")); }), "74 E-IO-002");
    EXPECT_EQ(failing("writeback=errno:EIO", [&] { file.start_writing_back(0, 1); }), "74 E-IO-003");
    EXPECT_EQ(failing("fdatasync=errno:EIO", [&] { file.sync_data(); }), "74 E-IO-003");
    EXPECT_EQ(failing("fsync=errno:EDQUOT", [&] { file.sync(); }), "74 E-IO-002");
    EXPECT_EQ(failing("fsync=errno:EIO", [&] { sync_folder(folder_.path()); }), "74 E-IO-003");
    EXPECT_EQ(failing("close=errno:EIO", [&] { file.close(); }), "74 E-IO-003");
    EXPECT_EQ(failing("mkdir=errno:ENOSPC", [&] { make_folder(folder_.path() / "x"); }), "74 E-IO-002");
    EXPECT_EQ(failing("unlink=errno:EIO", [&] { remove_file(path()); }), "74 E-IO-003");
    EXPECT_EQ(failing("rename=errno:ENOSPC", [&] { static_cast<void>(rename_to(path(), folder_.path() / "y")); }),
              "74 E-IO-002");
    EXPECT_EQ(failing("link=errno:ENOSPC", [&] { static_cast<void>(link_to(path(), folder_.path() / "y")); }),
              "74 E-IO-002");
    EXPECT_EQ(failing("open=errno:EMFILE", [&] { static_cast<void>(File::open(path())); }), "71 E-IO-005");
    EXPECT_EQ(failing("stat=errno:EIO", [&] { static_cast<void>(status_of(path())); }), "74 E-IO-003");
}

TEST_F(FileTest, ReportsTheLimitOfFileSizes) {
    Child child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        File::create(path()).write_at(0, std::string(8192, 'x'));
    });

    EXPECT_EQ(child.wait().exit_code, 74);
}

TEST_F(FileTest, WritesATextThatIsDurableUnderItsNameInEachOfItsSteps) {
    using Kind = FileEffect::Kind;
    start_keeping_effects();

    write_text_durably(path(), "text");

    std::vector<Kind> kinds;
    std::ranges::transform(kept_effects(), std::back_inserter(kinds), &FileEffect::kind);
    stop_keeping_effects();
    EXPECT_THAT(kinds, ElementsAre(Kind::create, Kind::write, Kind::sync, Kind::rename, Kind::sync_folder));
}

TEST_F(FileTest, WritesATextWholeOrNotAtAll) {
    write_text_durably(path(), "first");
    arm_fault("rename=errno:EIO");
    EXPECT_EQ(code_of([&] { write_text_durably(path(), "second"); }), "74 E-IO-003");
    EXPECT_EQ(contents(path()), "first");
    EXPECT_THAT(names_in_folder(folder_.path()), ElementsAre("file"));

    write_text_durably(path(), "third");

    EXPECT_EQ(contents(path()), "third");
    EXPECT_THAT(names_in_folder(folder_.path()), ElementsAre("file"));
}

TEST_F(FileTest, ReadsATextUpToItsLimit) {
    write_file(path(), "abcdef");

    EXPECT_EQ(read_text(path(), 6), "abcdef");
    EXPECT_EQ(read_text(path(), 2), "abc") << "one byte more than allowed: whoever asks sees that it is too long";
    EXPECT_EQ(read_text(folder_.path() / "none", 6), std::nullopt);
}

TEST_F(FileTest, MakesIdsThatDiffer) {
    EXPECT_NE(make_unique_id(), make_unique_id());
    EXPECT_EQ(make_unique_id().size(), 32U);
}

}  // namespace
}  // namespace sluice::test
