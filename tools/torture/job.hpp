#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files/paths.hpp"
#include "tools/torture/attempt.hpp"

namespace sluice::torture {

/// How a job is started.
struct Start {
    std::filesystem::path output{};
    int ranks = 0;  ///< 0: without mpirun.
    std::uint32_t depth = 2;
    std::vector<std::string> settings{};  ///< "KEY=VALUE" of the job.
    std::vector<std::string> variables{};
    std::vector<std::string> faults{};  ///< In the syntax of SLUICE_FAULT.
    std::vector<std::string> before{};  ///< Words before the program, such as strace's.
};

struct JobOptions {
    std::filesystem::path sluice{};
    std::string mpirun = "mpirun";
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    std::uint32_t files = 1;         ///< That the input consists of; at least 1.
    bool is_indexed_beside = false;  ///< Computing begins before all files are indexed (input.index).
    /// The program has fault points; each chunk is then committed at once, so that a kill finds something committed.
    bool has_faults = false;
    bool generates = false;     ///< The job is of the generator that holds chunks back (tests/e2e/generator_app.cpp).
    std::string wrong_order{};  ///< Fault point name of a wrong protocol; empty: the right one.
};

/// A small job in its own folder: of the classifier with random weights, or of the tests' generator.
class Job {
public:
    Job(std::filesystem::path folder, JobOptions options);

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    [[nodiscard]] const JobOptions& options() const noexcept { return options_; }
    [[nodiscard]] std::uint64_t chunks() const noexcept;

    [[nodiscard]] Attempt::Command command(const Start& start) const;
    /// Output of the last attempt.
    [[nodiscard]] std::string log() const;

private:
    std::filesystem::path folder_;
    JobOptions options_;
};

/// Damage of a finished output; all zero and empty: none.
struct Damage {
    std::uint64_t lost = 0;       ///< Missing items.
    std::uint64_t doubled = 0;    ///< Items that occur more than once.
    std::uint64_t different = 0;  ///< Items with other results.
    std::string manifest{};       ///< Problem of the manifest or the files as such.

    [[nodiscard]] bool none() const { return lost == 0 && doubled == 0 && different == 0 && manifest.empty(); }
};

/// Compares the output with `references`, the outputs of undisturbed runs: each chunk has to match one of them as a
/// whole, and the manifest has to be correct.
[[nodiscard]] Damage inspect(const Job& job, const std::filesystem::path& output,
                             const std::vector<std::string>& references);

/// Removes an output with its run's folder.
void remove_output(const std::filesystem::path& output);

/// Chunks that the newest attempt has committed or taken over, by its journal; nullopt: no attempt has begun.
[[nodiscard]] std::optional<std::uint64_t> committed_chunks(const std::filesystem::path& output);

}  // namespace sluice::torture
