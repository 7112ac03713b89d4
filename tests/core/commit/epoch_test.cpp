#include "core/commit/epoch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/commit/manifest.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class EpochTest : public testing::Test {
protected:
    EpochTest() { std::filesystem::create_directories(paths_.run_folder()); }

    [[nodiscard]] Epoch acquire(seconds alive_within = seconds(0)) const {
        return Epoch::acquire(paths_, this_process("", 0), alive_within);
    }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "out.csv", ".csv");
};

TEST_F(EpochTest, NumbersRiseFromOne) {
    EXPECT_EQ(acquire().number(), 1U);
    EXPECT_EQ(acquire().number(), 2U);
    EXPECT_EQ(acquire().number(), 3U);

    EXPECT_THAT(epochs_of(paths_), ElementsAre(1, 2, 3));
}

TEST_F(EpochTest, HasItsOwnerAndItsHeartbeatFromTheFirstMomentOn) {
    const Epoch epoch = acquire();

    EXPECT_EQ(read_owner(epoch.folder()).value().id, epoch.owner().id);
    EXPECT_TRUE(std::filesystem::exists(heartbeat_file(epoch.folder())));
    EXPECT_EQ(std::filesystem::status(epoch.folder()).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(EpochTest, IsRefusedWhileTheNewestOwnerLives) {
    const Epoch first = acquire();

    try {
        static_cast<void>(acquire(seconds(60)));
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::in_use);
        EXPECT_EQ(error.text().id, "E-OUT-079");
        EXPECT_THAT(error.text().what, HasSubstr(fmt::format("in use by process {} on ", ::getpid())));
        EXPECT_THAT(error.text().what, HasSubstr("seen alive 0 s ago"));
    }
    EXPECT_THAT(epochs_of(paths_), ElementsAre(1));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths_.epochs()), {}), 1);
}

TEST_F(EpochTest, OfAKilledProcessIsFollowedAtOnce) {
    Child child([&] {
        static_cast<void>(acquire());
        ::raise(SIGKILL);
    });
    ASSERT_EQ(child.wait().signal, SIGKILL);

    EXPECT_EQ(acquire(seconds(60)).number(), 2U);
}

TEST_F(EpochTest, GoesToOneOfManyThatStartAtOnce) {
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
        EXPECT_EQ(epochs_of(paths_).size(), static_cast<std::size_t>(round));
    }
}

TEST_F(EpochTest, IsFencedOffByTheNextOne) {
    const Epoch first = acquire();
    EXPECT_EQ(first.standing(), Standing::current);
    first.check_fence();

    const Epoch second = acquire();

    EXPECT_EQ(first.standing(), Standing::superseded);
    EXPECT_EQ(second.standing(), Standing::current);
    EXPECT_EQ(code_of([&] { first.check_fence(); }), "83 E-OUT-083");
}

TEST_F(EpochTest, IsGoneWithItsFolderUnlessANewerOneIsThere) {
    const Epoch epoch = acquire();

    std::filesystem::remove_all(epoch.folder());

    EXPECT_EQ(code_of([&] { epoch.check_fence(); }), "74 E-OUT-119");
    static_cast<void>(acquire());
    static_cast<void>(acquire());
    EXPECT_EQ(code_of([&] { epoch.check_fence(); }), "83 E-OUT-083");
}

TEST_F(EpochTest, IsGoneWithTheRunsFolder) {
    const Epoch epoch = acquire();
    const std::filesystem::path elsewhere = paths_.run_folder().native() + ".moved";

    std::filesystem::rename(paths_.run_folder(), elsewhere);
    EXPECT_EQ(code_of([&] { epoch.check_fence(); }), "74 E-OUT-119");
    std::filesystem::rename(elsewhere, paths_.run_folder());
    EXPECT_EQ(epoch.standing(), Standing::current);
    std::filesystem::remove_all(paths_.run_folder());
    EXPECT_EQ(epoch.standing(), Standing::gone);
}

TEST_F(EpochTest, IsFencedOffByAnyLaterOne) {
    const Epoch first = acquire();
    static_cast<void>(acquire());
    static_cast<void>(acquire());

    std::filesystem::remove_all(paths_.epoch(2));  // as the third one does when it has finished

    EXPECT_EQ(code_of([&] { first.check_fence(); }), "83 E-OUT-083");
}

// The run was removed and begun anew while its owner slept.
TEST_F(EpochTest, IsFencedOffByAnotherOwnerOfItsNumber) {
    const Epoch epoch = acquire();
    std::filesystem::remove_all(paths_.epochs());
    const Epoch other = acquire();
    ASSERT_EQ(other.number(), epoch.number());

    EXPECT_EQ(code_of([&] { epoch.check_fence(); }), "83 E-OUT-083");
    EXPECT_EQ(other.standing(), Standing::current);
}

TEST_F(EpochTest, IsFencedOffByTheManifestOfAnother) {
    const Epoch epoch = acquire();
    const auto write_manifest = [&](const std::string& owner) {
        write_contents(paths_.manifest(), encode(Manifest{.fingerprint = "x", .epoch = 1, .owner = owner}));
    };

    write_manifest(epoch.owner().id);
    EXPECT_EQ(epoch.standing(), Standing::current);
    write_manifest(make_unique_id());
    EXPECT_EQ(epoch.standing(), Standing::superseded);
}

TEST_F(EpochTest, PassesOverWhatIsNoEpoch) {
    static_cast<void>(acquire());
    for (const char* name : {"x", "1x", "0", "-1", "99999999999", ".new-abc", "4294967295"}) {
        std::filesystem::create_directory(paths_.epochs() / name);
    }

    EXPECT_THAT(epochs_of(paths_), ElementsAre(1));
}

}  // namespace
}  // namespace sluice::test
