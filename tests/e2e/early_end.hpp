#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {

// Runs that end early: two chunks of 8 items are computed, the rest is held.

inline const std::vector<std::string> small_chunks = set({"pipeline.chunk_items=8"});

[[nodiscard]] inline std::vector<std::string> joined(std::vector<std::string> words,
                                                     const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

[[nodiscard]] inline std::vector<std::string> mostly_held_texts(std::size_t items) {
    return held_texts(items, 16);
}

/// Returns when it has written a chunk and waits.
[[nodiscard]] inline std::unique_ptr<Process> computing(const JobFolder& job, const std::vector<std::string>& words) {
    job.hold();
    auto process = job.start_alone(words);
    EXPECT_TRUE(eventually([&] { return job.has_written() && job.is_held(process->pid()); }));
    return process;
}

/// What the job gives when nothing is held.
[[nodiscard]] inline std::string whole_output(const JobFolder& job, int ranks, const std::vector<std::string>& words) {
    job.release();
    return job.output_of(ranks, words);
}

/// Starts the job alone and stops it when chunks were written; what was held is released then.
[[nodiscard]] inline ProcessResult stop_early(const JobFolder& job, const std::vector<std::string>& words) {
    const auto process = computing(job, words);
    process->send(SIGTERM);
    EXPECT_TRUE(eventually([&] { return process->err().find("finishing the chunks in flight") != std::string::npos; }));
    job.release();
    return process->wait();
}

/// Of the program with `words`, in `folder`, by default the job's.
[[nodiscard]] inline ProcessResult run_sluice(const JobFolder& job, std::vector<std::string> words,
                                              const std::filesystem::path& folder = {}) {
    words.insert(words.begin(), SLUICE_PROGRAM);
    return Process(words, {.folder = folder.empty() ? job.path() : folder}).wait();
}

}  // namespace sluice::test
