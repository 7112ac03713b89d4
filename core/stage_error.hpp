#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <vector>

#include "core/chunk.hpp"
#include "core/error.hpp"

namespace sluice {

/// Failure of a chunk in a stage, with the exception that caused it.
class StageError : public std::runtime_error {
public:
    /// `cause` is not null. `beside` are ids of chunks in flight together with `chunk`, which may be the failing ones.
    StageError(Stage stage, const Chunk& chunk, std::exception_ptr cause, std::vector<std::uint64_t> beside = {});

    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    [[nodiscard]] const Chunk& chunk() const noexcept { return chunk_; }
    [[nodiscard]] const std::vector<std::uint64_t>& beside() const noexcept { return beside_; }
    [[nodiscard]] const std::exception_ptr& cause() const noexcept { return cause_; }

private:
    Stage stage_;
    Chunk chunk_;
    std::exception_ptr cause_;
    std::vector<std::uint64_t> beside_;
};

/// Exit code and message for a failure. An Error keeps its code and id; its text is prefixed by `who` ("rank 3 on n07",
/// may be empty), stage and chunk as far as known.
struct Failure {
    ExitCode code = ExitCode::internal;
    ErrorText text;
    std::vector<std::uint64_t> chunks{};  ///< If a device failed: chunks that may have caused it.
};
[[nodiscard]] Failure describe(const std::exception_ptr& failure, const std::string& who);

}  // namespace sluice
