#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/held_items.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

/// Lines of English words, all different, of 1 to 1200 characters; the same for the same count.
[[nodiscard]] std::vector<std::string> make_texts(std::size_t count);

/// The same, but those from `first` on are held (HeldItems). `order` "busy": without sleeping.
[[nodiscard]] std::vector<std::string> held_texts(std::size_t count, std::size_t first,
                                                  const std::string& order = "held");

/// A folder with a job in job.toml, of the app that the test was built for, SLUICE_TEST_APP: "classifier" or "echo"
/// (tests/e2e/echo_app.cpp); articles.txt, a line an item, to labels.csv with scores, one host device a rank. Arguments
/// are those after `sluice run job.toml`.
class JobFolder {
public:
    explicit JobFolder(std::size_t items);
    explicit JobFolder(const std::vector<std::string>& texts);

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

    [[nodiscard]] std::unique_ptr<Process> start_alone(const std::vector<std::string>& arguments) const;
    [[nodiscard]] std::unique_ptr<Process> start_ranks(int ranks, const std::vector<std::string>& arguments) const;
    [[nodiscard]] ProcessResult run_alone(const std::vector<std::string>& arguments) const;
    [[nodiscard]] ProcessResult run_ranks(int ranks, const std::vector<std::string>& arguments) const;

    /// Runs the job, expects success, and returns labels.csv, which it removes with its run folder. `ranks` 0: without
    /// a launcher.
    [[nodiscard]] std::string output_of(int ranks, const std::vector<std::string>& arguments) const;

    /// The first attempt at labels.csv has begun.
    [[nodiscard]] bool has_begun() const;

    /// It has written at least one chunk.
    [[nodiscard]] bool has_written() const;

    /// The process `pid` has met an item that is held, and waits for release().
    [[nodiscard]] bool is_held(pid_t pid) const { return held_.is_held(pid); }

    /// From now on no item is held, or all are again.
    void release() const { held_.release(); }
    void hold() const { held_.hold(); }

    /// So that the job begins anew.
    void remove_output() const;

    /// Expects that nobody has begun an output, nor written a report.
    void expect_nothing_left() const;

    /// Expects that nothing was published nor reported on; what is committed may be there.
    void expect_unfinished() const;

private:
    TemporaryFolder folder_;
    HeldItems held_;
};

/// "--set", "KEY=VALUE", …
[[nodiscard]] std::vector<std::string> set(const std::vector<std::string>& keys_and_values);

/// mpirun, its options, and sluice with `arguments`.
[[nodiscard]] std::vector<std::string> launch_words(int ranks, const std::vector<std::string>& arguments,
                                                    const std::string& program = SLUICE_PROGRAM);

/// What a user types to start the program that the test was built for.
[[nodiscard]] inline std::string program_name_of_runs() {
    return std::filesystem::path(SLUICE_PROGRAM).filename().native();
}

/// The label column; expects the item column to count from 0 without a gap.
[[nodiscard]] std::vector<std::string> labels_in(const std::string& csv, std::size_t items);

}  // namespace sluice::test
