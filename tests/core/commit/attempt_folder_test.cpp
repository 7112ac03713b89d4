#include "core/commit/attempt_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/commit/manifest.hpp"
#include "core/files/paths.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class AttemptFolderTest : public testing::Test {
protected:
    AttemptFolderTest() { std::filesystem::create_directories(paths_.run_folder()); }

    [[nodiscard]] AttemptFolder acquire(seconds alive_within = seconds(0)) const {
        return AttemptFolder::acquire(paths_, this_process("", 0), alive_within);
    }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "out.csv", ".csv");
};

TEST_F(AttemptFolderTest, NumbersRiseFromOne) {
    EXPECT_EQ(acquire().number(), 1U);
    EXPECT_EQ(acquire().number(), 2U);
    EXPECT_EQ(acquire().number(), 3U);

    EXPECT_THAT(attempts_of(paths_), ElementsAre(1, 2, 3));
}

TEST_F(AttemptFolderTest, HasItsOwnerAndItsHeartbeatFromTheFirstMomentOn) {
    const AttemptFolder attempt = acquire();

    EXPECT_EQ(read_owner(attempt.folder()).value().id, attempt.owner().id);
    EXPECT_TRUE(std::filesystem::exists(heartbeat_file(attempt.folder())));
    EXPECT_EQ(std::filesystem::status(attempt.folder()).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(AttemptFolderTest, IsRefusedWhileTheNewestOwnerLives) {
    const AttemptFolder first = acquire();

    const Error error = error_of([&] { return acquire(seconds(60)); });

    EXPECT_EQ(error.code(), ExitCode::in_use);
    EXPECT_EQ(error.text().id, "E-OUT-079");
    EXPECT_THAT(error.text().what, HasSubstr(fmt::format("in use by process {} on ", ::getpid())));
    EXPECT_THAT(error.text().what, HasSubstr("seen alive 0 s ago"));
    EXPECT_THAT(error.text().hint, testing::StartsWith("wait for it: ")) << "it is no use to wait for its death";
    EXPECT_THAT(attempts_of(paths_), ElementsAre(1));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths_.attempts()), {}), 1);
}

/// An attempt of a process on another host.
AttemptFolder attempt_elsewhere(const RunPaths& paths) {
    Owner owner = this_process("4711", 0);
    owner.host = "n07";
    owner.boot = "another";
    return AttemptFolder::acquire(paths, owner, seconds(0));
}

void set_heartbeat(const AttemptFolder& attempt, seconds ago) {
    std::filesystem::last_write_time(heartbeat_file(attempt.folder()),
                                     std::filesystem::file_time_type::clock::now() - ago);
}

constexpr seconds patience{100'000};

TEST_F(AttemptFolderTest, SaysHowLongADeadOwnerOnAnotherHostCountsAsAlive) {
    const AttemptFolder killed = attempt_elsewhere(paths_);
    set_heartbeat(killed, seconds(1010));

    const Error error = error_of([&] { return acquire(patience); });

    EXPECT_THAT(error.text().hint, testing::ContainsRegex("again in 989[0-9][0-9] s"));
}

TEST_F(AttemptFolderTest, WaitsUntilAKilledOwnerOnAnotherHostCountsAsDead) {
    const AttemptFolder killed = attempt_elsewhere(paths_);
    set_heartbeat(killed, seconds(1010));
    std::vector<std::string> said;

    const AttemptFolder next =
        AttemptFolder::acquire(paths_, this_process("", 0), patience, [&](const std::string& what) {
            said.push_back(what);
            set_heartbeat(killed, patience);  // as if it had waited
        });

    EXPECT_EQ(next.number(), 2U);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_THAT(said.front(), testing::MatchesRegex("is in use by job 4711 .process [0-9]+ on n07., seen alive 1[0-9]+ "
                                                    "s ago; waiting up to 9[0-9]+ s, in case it was killed"));
}

TEST_F(AttemptFolderTest, WaitsForAnOwnerOnAnotherHostOnlyUntilItsNextHeartbeat) {
    const AttemptFolder alive = attempt_elsewhere(paths_);
    set_heartbeat(alive, seconds(1000));

    const Error error = error_of([&] {
        return AttemptFolder::acquire(paths_, this_process("", 0), patience,
                                      [&](const std::string&) { set_heartbeat(alive, seconds(0)); });
    });

    EXPECT_EQ(error.text().id, "E-OUT-079");
    EXPECT_THAT(error.text().hint, HasSubstr("wait for it: "));
    EXPECT_THAT(attempts_of(paths_), ElementsAre(1));
}

TEST_F(AttemptFolderTest, WaitsForNobodyWhoseProcessIsSeenAlive) {
    const AttemptFolder first = acquire();

    EXPECT_THROW(static_cast<void>(AttemptFolder::acquire(paths_, this_process("", 0), seconds(60),
                                                          [](const std::string& what) { ADD_FAILURE() << what; })),
                 Error);
}

TEST_F(AttemptFolderTest, OfAKilledProcessIsFollowedAtOnce) {
    Child child([&] {
        static_cast<void>(acquire());
        ::raise(SIGKILL);
    });
    ASSERT_EQ(child.wait().signal, SIGKILL);

    EXPECT_EQ(acquire(seconds(60)).number(), 2U);
}

TEST_F(AttemptFolderTest, GoesToOneOfManyThatStartAtOnce) {
    constexpr int starters = 8;
    for (int round = 1; round <= 10; ++round) {
        std::vector<std::unique_ptr<Child>> children;
        std::array<int, 2> gate{};
        ASSERT_EQ(::pipe(gate.data()), 0);
        for (int i = 0; i < starters; ++i) {
            children.push_back(std::make_unique<Child>([&] {
                char byte = 0;
                ::close(gate[1]);
                EXPECT_EQ(::read(gate[0], &byte, 1), 0);  // opens for all when the parent closes it
                static_cast<void>(acquire(seconds(60)));
                ::kill(::getpid(), SIGSTOP);  // lives until all have tried
            }));
        }
        ::close(gate[0]);
        ::close(gate[1]);

        int winners = 0;
        for (const auto& child : children) {
            const ChildEnd end = child->wait_for_end_or_stop();
            winners += end.stopped ? 1 : 0;
            EXPECT_TRUE(end.stopped || end.exit_code == 79) << end.exit_code;
        }

        EXPECT_EQ(winners, 1);
        EXPECT_EQ(attempts_of(paths_).size(), static_cast<std::size_t>(round));
    }
}

TEST_F(AttemptFolderTest, IsFencedOffByTheNextOne) {
    const AttemptFolder first = acquire();
    EXPECT_EQ(first.standing(), Standing::current);
    first.check_fence();

    const AttemptFolder second = acquire();

    EXPECT_EQ(first.standing(), Standing::superseded);
    EXPECT_EQ(second.standing(), Standing::current);
    EXPECT_EQ(code_of([&] { first.check_fence(); }), "83 E-OUT-083");
}

TEST_F(AttemptFolderTest, IsGoneWithItsFolderUnlessANewerOneIsThere) {
    const AttemptFolder attempt = acquire();

    std::filesystem::remove_all(attempt.folder());

    EXPECT_EQ(code_of([&] { attempt.check_fence(); }), "74 E-OUT-119");
    static_cast<void>(acquire());
    static_cast<void>(acquire());
    EXPECT_EQ(code_of([&] { attempt.check_fence(); }), "83 E-OUT-083");
}

TEST_F(AttemptFolderTest, IsGoneWithTheRunsFolder) {
    const AttemptFolder attempt = acquire();
    const std::filesystem::path elsewhere = paths_.run_folder().native() + ".moved";

    std::filesystem::rename(paths_.run_folder(), elsewhere);
    EXPECT_EQ(code_of([&] { attempt.check_fence(); }), "74 E-OUT-119");
    std::filesystem::rename(elsewhere, paths_.run_folder());
    EXPECT_EQ(attempt.standing(), Standing::current);
    std::filesystem::remove_all(paths_.run_folder());
    EXPECT_EQ(attempt.standing(), Standing::gone);
}

TEST_F(AttemptFolderTest, IsFencedOffByAnyLaterOne) {
    const AttemptFolder first = acquire();
    static_cast<void>(acquire());
    static_cast<void>(acquire());

    std::filesystem::remove_all(paths_.attempt(2));  // as the third one does when it has finished

    EXPECT_EQ(code_of([&] { first.check_fence(); }), "83 E-OUT-083");
}

// The run was removed and begun anew while its owner slept.
TEST_F(AttemptFolderTest, IsFencedOffByAnotherOwnerOfItsNumber) {
    const AttemptFolder attempt = acquire();
    std::filesystem::remove_all(paths_.attempts());
    const AttemptFolder other = acquire();
    ASSERT_EQ(other.number(), attempt.number());

    EXPECT_EQ(code_of([&] { attempt.check_fence(); }), "83 E-OUT-083");
    EXPECT_EQ(other.standing(), Standing::current);
}

TEST_F(AttemptFolderTest, IsFencedOffByTheManifestOfAnother) {
    const AttemptFolder attempt = acquire();
    const auto write_manifest = [&](const std::string& owner) {
        write_file(paths_.manifest(), encode(Manifest{.fingerprint = "x", .attempt = 1, .owner = owner}));
    };

    write_manifest(attempt.owner().id);
    EXPECT_EQ(attempt.standing(), Standing::current);
    write_manifest(make_unique_id());
    EXPECT_EQ(attempt.standing(), Standing::superseded);
}

TEST_F(AttemptFolderTest, PassesOverWhatIsNoAttempt) {
    static_cast<void>(acquire());
    for (const char* name : {"x", "1x", "0", "-1", "99999999999", ".new-abc", "4294967295"}) {
        std::filesystem::create_directory(paths_.attempts() / name);
    }

    EXPECT_THAT(attempts_of(paths_), ElementsAre(1));
}

}  // namespace
}  // namespace sluice::test
