#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <vector>

#include "core/chunk.hpp"
#include "core/error.hpp"

namespace sluice {

/// A failure on a chunk's way: which stage, which chunk, and the exception behind it.
class StageError : public std::runtime_error {
public:
    /// `cause` is not null. `beside`: ids of chunks that shared the work, so that the failure may be one of theirs.
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

/// What to print and return for `failure`: the cause's own code and id where it is an Error; `who` ("rank 3 on n07",
/// may be empty), the stage and the chunk are put before its text where they are known.
struct Failure {
    ExitCode code = ExitCode::internal;
    ErrorText text;
    std::vector<std::uint64_t> chunks{};  ///< Where a device failed: those that it may have failed on.
};
[[nodiscard]] Failure describe(const std::exception_ptr& failure, const std::string& who);

}  // namespace sluice
