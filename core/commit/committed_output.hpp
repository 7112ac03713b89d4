#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/output_run.hpp"
#include "core/output/output_writer.hpp"
#include "core/output/row_encoder.hpp"

namespace sluice {

struct CommittedOutputOptions {
    std::filesystem::path path{};  ///< As the job names it; with a slash at its end, a folder of parts.
    OutputFormat format = OutputFormat::csv;
    std::vector<OutputField> fields{};
    std::uint64_t items = 0;
    std::uint32_t chunk_items = 1;
    /// What else decides the bytes; format and fields are added.
    std::vector<std::pair<std::string, std::string>> settings{};
    Owner me{};
    ResumeVerify verify = ResumeVerify::open;
    NonfinitePolicy nonfinite = NonfinitePolicy::error;
    CommitPolicy policy{};
    std::vector<std::pair<std::string, std::string>> provenance{};
};

/// An output that survives its writer: every chunk is encoded, written and committed by the protocol of
/// docs/output-protocol.md, and the next run with the same options continues it. It outlives an abandoned run: the
/// destructor removes nothing.
class CommittedOutput final : public OutputWriter {
public:
    /// Throws Error as OutputRun.
    explicit CommittedOutput(CommittedOutputOptions options);

    /// Null while the run is not complete.
    [[nodiscard]] const Manifest* complete() const noexcept { return run_.complete() ? &*run_.complete() : nullptr; }
    [[nodiscard]] std::uint64_t first_chunk() const noexcept { return run_.first_chunk(); }
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return run_.dropped(); }
    [[nodiscard]] const std::vector<std::string>& damaged_parts() const noexcept { return run_.damaged_parts(); }
    [[nodiscard]] const std::vector<ErrorText>& warnings() const noexcept { return run_.warnings(); }
    [[nodiscard]] OutputRun& run() noexcept { return run_; }

    /// These items have no result, and fill_with_no_result() stands for it in what append() gets. In order.
    void leave_out(std::vector<std::uint64_t> items) { left_out_ = std::move(items); }

    /// Items without a result so far, those of earlier attempts included.
    [[nodiscard]] std::vector<std::uint64_t> failed_items() const;

    /// The next chunk, whole; chunk first_chunk() is the first. With NonfinitePolicy::error throws Error (numeric,
    /// E-NUM-081) for one that has a value which is not finite, when everything before it is committed.
    void append(std::uint32_t count, std::span<const std::byte> outputs) override;
    void commit() override { run_.writer().commit(); }
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_to_commit() const override {
        return run_.writer().time_to_commit();
    }
    void publish() override { run_.publish(); }

private:
    [[nodiscard]] std::span<const std::byte> salted(std::span<const std::byte> outputs, int salt);

    std::vector<OutputField> fields_;
    NonfinitePolicy nonfinite_;
    std::vector<std::byte> salted_;
    std::vector<std::byte> unmarked_;
    std::vector<std::uint64_t> left_out_{};
    RowEncoder rows_;
    OutputRun run_;
};

/// What such an output would find there, with nothing changed. Throws Error as its constructor does, but for what only
/// an attempt notices: one that is alive, too little space.
[[nodiscard]] OutputState look_at_output(const CommittedOutputOptions& options);

}  // namespace sluice
