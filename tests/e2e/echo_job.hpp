#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/held_items.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

/// A folder with a job of the app that obeys its items (tests/e2e/echo_app.cpp): items.txt to labels.csv, one host
/// device a rank, a hang after two seconds.
class EchoJob {
public:
    explicit EchoJob(const std::vector<std::string>& items);

    /// `ranks` 0: without a launcher.
    [[nodiscard]] std::unique_ptr<Process> start(int ranks, const std::vector<std::string>& settings = {}) const;
    [[nodiscard]] ProcessResult run(int ranks, const std::vector<std::string>& settings = {}) const;
    /// With `--retry`.
    [[nodiscard]] ProcessResult retry() const;

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
    [[nodiscard]] std::filesystem::path attempt(int number) const;

    /// Items that are held: as JobFolder's.
    [[nodiscard]] bool is_held(pid_t pid) const { return held_.is_held(pid); }
    void release() const { held_.release(); }
    void hold() const { held_.hold(); }

    /// Attempt `number` has written at least one chunk.
    [[nodiscard]] bool has_written(int number) const;

    [[nodiscard]] nlohmann::json report() const;

private:
    TemporaryFolder folder_;
    HeldItems held_;
};

}  // namespace sluice::test
