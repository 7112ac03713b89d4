#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// A file beside the job; `bytes` may be longer than its content, the rest is zeros (a hole).
struct TestFile {
    std::string name;
    std::string content;
    std::uint64_t bytes = 0;
};

/// One mistake and the message that it must get, from `sluice run` as from `sluice check`.
struct BadInput {
    std::string name;
    std::string job;                     ///< The text of job.toml.
    std::vector<TestFile> files;         ///< Beside articles.txt, which is good and always there.
    std::vector<std::string> arguments;  ///< After `run job.toml` and `check job.toml`.
    int exit_code = 0;
    std::string id;
    std::string where;  ///< What the place begins with.
    std::string what;   ///< Part of the rest of the line.
    bool while_reading =
        false;  ///< Shows in an item only: a run names the chunk before the place, as in "read of chunk 0".
};

[[nodiscard]] inline BadInput while_reading(BadInput bad) {
    bad.while_reading = true;
    return bad;
}

/// For GoogleTest's messages.
inline void PrintTo(const BadInput& bad, std::ostream* stream) {
    *stream << bad.name;
}

/// A job without a mistake: classifier, articles.txt, random weights, labels.csv.
extern const std::string good_job;

[[nodiscard]] std::vector<BadInput> bad_jobs();     // bad_jobs.cpp
[[nodiscard]] std::vector<BadInput> bad_texts();    // bad_texts.cpp
[[nodiscard]] std::vector<BadInput> bad_arrays();   // bad_arrays.cpp
[[nodiscard]] std::vector<BadInput> bad_weights();  // bad_weights.cpp
[[nodiscard]] std::vector<BadInput> bad_outputs();  // bad_jobs.cpp

/// `part`, `times` over.
[[nodiscard]] std::string repeated(std::string_view part, int times);

}  // namespace sluice::test
