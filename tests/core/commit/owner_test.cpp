#include "core/commit/owner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/commit/attempt_history.hpp"
#include "core/commit/json_text.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;

class OwnerTest : public testing::Test {
protected:
    OwnerTest() { std::filesystem::create_directories(attempt()); }

    [[nodiscard]] std::filesystem::path attempt() const { return folder_.path() / "attempts" / "1"; }

    /// An attempt of `owner` whose heartbeat is `age` old.
    void own(const Owner& owner, seconds age) const {
        write_file(owner_file(attempt()), encode(owner));
        write_file(heartbeat_file(attempt()), "");
        struct stat now = {};
        ASSERT_EQ(::stat(heartbeat_file(attempt()).c_str(), &now), 0);
        const std::array<timespec, 2> times{timespec{now.st_mtim.tv_sec - age.count(), 0},
                                            timespec{now.st_mtim.tv_sec - age.count(), 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, heartbeat_file(attempt()).c_str(), times.data(), 0), 0);
    }
    [[nodiscard]] Presence seen_by(const Owner& me) const {
        return look_for_owner(attempt(), me, seconds(60)).presence;
    }

    static Owner elsewhere(const std::string& job = "", std::uint64_t restarts = 0) {
        Owner owner = this_process(job, restarts);
        owner.host = "another";
        owner.boot = "0";
        return owner;
    }

private:
    TemporaryFolder folder_;
};

TEST_F(OwnerTest, ReadsBackAsItWasWritten) {
    const Owner owner = this_process("4711", 3);
    own(owner, seconds(0));

    const std::optional<Owner> read = read_owner(attempt());

    ASSERT_TRUE(read);
    EXPECT_EQ(encode(*read), encode(owner));
    EXPECT_EQ(read->process, ::getpid());
    EXPECT_NE(read->process_start, 0U);
    EXPECT_EQ(describe(*read), fmt::format("job 4711 (process {} on {})", ::getpid(), owner.host));
}

TEST_F(OwnerTest, OfAnEarlierVersionNamesNoRun) {
    Owner owner = this_process("4711", 3);
    owner.run = "run";
    Json json = open_sealed_text(encode(owner)).value();
    ASSERT_EQ(json.erase("run"), 1U);
    write_file(owner_file(attempt()), sealed_text(json));

    const std::optional<Owner> read = read_owner(attempt());

    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, owner.id);
    EXPECT_EQ(read->run, "");
}

TEST_F(OwnerTest, OfAnotherHostIsPresentWhileItsHeartbeatIsFresh) {
    own(elsewhere(), seconds(0));
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::present);

    own(elsewhere(), seconds(50));
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::present);

    own(elsewhere(), seconds(70));
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::silent);
}

TEST_F(OwnerTest, OfAnotherHostIsGoneAtOnceWhenItHasNotedItsEnd) {
    own(elsewhere(), seconds(0));

    note_end(attempt(), ExitCode::stopped_early, {.id = "E-RUN-075", .what = "stopped"});

    EXPECT_EQ(seen_by(this_process("", 0)), Presence::gone);
}

TEST_F(OwnerTest, WithoutAHeartbeatIsAsYoungAsItsFolder) {
    own(elsewhere(), seconds(1000));
    std::filesystem::remove(heartbeat_file(attempt()));

    EXPECT_EQ(seen_by(this_process("", 0)), Presence::present);
}

TEST_F(OwnerTest, WhoseHeartbeatLiesFarInTheFutureIsSilent) {
    own(elsewhere(), seconds(-30));
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::present) << "clocks differ a little";

    own(elsewhere(), seconds(-70));
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::silent);

    own(elsewhere(), seconds(-86'400));
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::silent);
}

TEST_F(OwnerTest, OnThisHostIsGoneAtOnceWhenItsProcessIs) {
    Owner dead = this_process("", 0);
    dead.process = 0x7FFFFFF0;  // beyond the largest number that Linux gives
    own(dead, seconds(0));

    EXPECT_EQ(seen_by(this_process("", 0)), Presence::gone);
}

TEST_F(OwnerTest, ThatWaitsForItsParentIsGone) {
    const TemporaryFolder scratch;
    const std::filesystem::path told = scratch.path() / "owner";
    Child child([&] {
        write_file(told.native() + ".new", encode(this_process("", 0)));
        std::filesystem::rename(told.native() + ".new", told);
        ::pause();
    });
    while (!std::filesystem::exists(told)) {
        ::sched_yield();
    }
    own(this_process("", 0), seconds(0));
    write_file(owner_file(attempt()), contents(told));
    const Owner owner = read_owner(attempt()).value();
    ASSERT_EQ(seen_by(this_process("", 0)), Presence::present);

    child.send(SIGKILL);
    siginfo_t info = {};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(owner.process), &info, WEXITED | WNOWAIT), 0);

    EXPECT_EQ(seen_by(this_process("", 0)), Presence::gone);
}

TEST_F(OwnerTest, IsNotALaterProcessOfItsNumber) {
    Owner earlier = this_process("", 0);
    earlier.process_start -= 1;
    own(earlier, seconds(0));

    EXPECT_EQ(seen_by(this_process("", 0)), Presence::gone);
}

TEST_F(OwnerTest, OfAnotherPidNamespaceIsNotLookedForInThisOne) {
    Owner contained = this_process("", 0);
    contained.process_space = "pid:[1]";
    contained.process = 0x7FFFFFF0;
    own(contained, seconds(0));

    EXPECT_EQ(seen_by(this_process("", 0)), Presence::present);
}

TEST_F(OwnerTest, IsHereWithTheSameHostBootAndPidNamespaceOnly) {
    const Owner me = this_process("", 0);
    ASSERT_FALSE(me.boot.empty());
    ASSERT_FALSE(me.process_space.empty());
    EXPECT_TRUE(is_here(me, me));

    for (std::string Owner::*const place : {&Owner::host, &Owner::boot, &Owner::process_space}) {
        Owner other = me;
        other.*place = "another";
        EXPECT_FALSE(is_here(other, me));
    }
}

TEST_F(OwnerTest, ThatIsAnEarlierRunOfTheSameJobIsGone) {
    own(elsewhere("4711", 1), seconds(0));

    EXPECT_EQ(seen_by(this_process("4711", 2)), Presence::gone);
    EXPECT_EQ(seen_by(this_process("4711", 1)), Presence::present) << "two steps of one job";
    EXPECT_EQ(seen_by(this_process("4712", 2)), Presence::present);
    EXPECT_EQ(seen_by(this_process("", 2)), Presence::present);
}

TEST_F(OwnerTest, ThatCannotBeReadIsJudgedByItsHeartbeat) {
    own(this_process("", 0), seconds(0));
    write_file(owner_file(attempt()), "{");
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::present);

    own(this_process("", 0), seconds(100));
    write_file(owner_file(attempt()), "{");
    EXPECT_EQ(seen_by(this_process("", 0)), Presence::silent);
}

TEST_F(OwnerTest, IsGlimpsedByItsProcessOrItsHeartbeat) {
    const Owner me = this_process("", 0);
    const auto is_glimpsed = [&] { return glimpse_owner(attempt(), me, seconds(60)).has_value(); };

    own(this_process("", 0), seconds(1000));
    EXPECT_TRUE(is_glimpsed()) << "it may be suspended";
    own(elsewhere(), seconds(1000));
    EXPECT_FALSE(is_glimpsed());
    own(elsewhere(), seconds(0));
    EXPECT_TRUE(is_glimpsed());
    write_file(owner_file(attempt()), "{");
    EXPECT_FALSE(is_glimpsed());
}

TEST_F(OwnerTest, LeavesNoFileWhereItLooked) {
    own(elsewhere(), seconds(0));
    static_cast<void>(seen_by(this_process("", 0)));

    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(attempt().parent_path()), {}), 1);
}

TEST(Heartbeat, TouchesItsFileAgainAndAgain) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "alive";
    write_file(file, "");
    const std::jthread heartbeat = send_heartbeats(file, std::chrono::milliseconds(1));

    for (int beat = 0; beat < 3; ++beat) {  // ends when it beats, or with the test's time limit
        std::filesystem::last_write_time(file, std::filesystem::file_time_type());
        while (std::filesystem::last_write_time(file) == std::filesystem::file_time_type()) {
            std::this_thread::yield();
        }
    }
}

TEST(Heartbeat, EndsAtOnceHoweverLongItsIntervalIs) {
    const std::jthread heartbeat = send_heartbeats("/does/not/exist", std::chrono::hours(24));
}

TEST(Heartbeat, SurvivesThatItsFileIsGone) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "alive";
    const std::jthread heartbeat = send_heartbeats(file, std::chrono::milliseconds(1));

    write_file(file, "");
    std::filesystem::last_write_time(file, std::filesystem::file_time_type());
    while (std::filesystem::last_write_time(file) == std::filesystem::file_time_type()) {
        std::this_thread::yield();
    }
}

TEST_F(OwnerTest, IsNotKnownToHaveEndedWhereTheSystemDoesNotTellWhenProcessesStart) {
    const Owner me = this_process("", 0);
    Owner owner = me;
    owner.process_start = 0;

    EXPECT_FALSE(has_ended(owner, me)) << "its process may be the one with this number";
}

TEST_F(OwnerTest, IsNotKnownToBeHereWhereTheSystemDoesNotTellHostsApart) {
    for (std::string Owner::*part : {&Owner::boot, &Owner::process_space}) {
        Owner me = this_process("", 0);
        me.*part = "";

        EXPECT_FALSE(is_here(me, me));
    }
}

}  // namespace
}  // namespace sluice::test
