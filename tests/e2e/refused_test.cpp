// Runs to which the system refuses a thread or memory at a moment that the test chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// One rank of three, whose watcher is refused: the others are on their way to meet it.
TEST(RankWithoutAThread, EndsTheOthersToo) {
    for (const std::size_t place : {0, 2}) {
        const JobFolder job(20);
        std::vector<std::string> words{SLUICE_MPIEXEC, "--oversubscribe"};
        for (std::size_t rank = 0; rank < 3; ++rank) {
            if (rank != 0) {
                words.emplace_back(":");
            }
            words.insert(words.end(), {"-n", "1"});
            if (rank == place) {
                words.insert(words.end(),
                             {"/usr/bin/env", "LD_PRELOAD=" SLUICE_REFUSED_THREAD, "SLUICE_REFUSED_THREAD=2"});
            }
            words.insert(words.end(), {SLUICE_PROGRAM, "run", "job.toml"});
        }

        const ProcessResult result = Process(words, {.folder = job.path()}).wait();

        EXPECT_EQ(result.exit_code, 71) << result.err;
        ASSERT_EQ(result.errors().size(), 1U) << result.err;
        EXPECT_THAT(result.errors().front(), HasSubstr("error[E-MEM-108]: rank " + std::to_string(place) + " on "));
        job.expect_nothing_left();
    }
}

/// In turn each text as long as the path of the attempt's folder, which is that path: the first ones are needed when
/// the attempt has just begun, others where threads already wait for work, the last ones when all is committed.
TEST(RefusedMemory, EndsTheRunAndLeavesNothingButWhatIsCommitted) {
    const JobFolder job(20);
    const std::filesystem::path output = std::filesystem::canonical(job.path()) / std::string(200, 'x');
    const std::string attempt = output.native() + ".csv.sluice/attempts/1";
    int refused = 0;
    for (int piece = 1;; ++piece) {
        const std::vector<std::string> words{"/usr/bin/env",
                                             "LD_PRELOAD=" SLUICE_REFUSED_MEMORY,
                                             "SLUICE_REFUSED_BYTES=" + std::to_string(attempt.size() + 1),
                                             "SLUICE_REFUSED_PIECE=" + std::to_string(piece),
                                             SLUICE_PROGRAM,
                                             "run",
                                             "job.toml",
                                             "--set",
                                             "output.path=" + output.native() + ".csv"};

        const ProcessResult result = Process(words, {.folder = job.path()}).wait();

        if (result.exit_code == 0) {
            break;
        }
        ++refused;
        EXPECT_EQ(result.exit_code, 71) << piece << ": " << result.err;
        ASSERT_EQ(result.errors().size(), 1U) << piece << ": " << result.err;
        EXPECT_THAT(result.errors().front(), HasSubstr("error[E-MEM-068]"));
        if (std::error_code missing; std::filesystem::file_size(attempt + "/w0.jrn", missing) != 0 && !missing) {
            std::filesystem::remove_all(output.native() + ".csv.sluice");
            std::filesystem::remove(output.native() + ".csv");
        }
        job.expect_nothing_left();
    }
    EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace sluice::test
