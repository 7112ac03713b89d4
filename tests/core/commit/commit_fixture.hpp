#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/commit/committed_output.hpp"
#include "core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/output_codecs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// A fresh number a run, which the test prints when it fails.
inline std::uint64_t fresh_seed() {
    const std::uint64_t seed = std::random_device{}();
    testing::Test::RecordProperty("seed", std::to_string(seed));
    return seed;
}

/// "73 E-OUT-022" of what `action` throws; "none".
template <class Action>
std::string code_of(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        return std::to_string(static_cast<int>(error.code())) + " " + error.text().id;
    }
    return "none";
}

inline const TextCodec fake_codec(32, "line");

/// A job whose results are lines of a length that varies, so that no chunk has the size of another one; as csv.
struct FakeJob {
    OutputLayout layout = OutputLayout::file;
    std::uint64_t items = 100;
    std::uint32_t chunk_items = 9;
    std::uint64_t chunks_per_part = 4;

    [[nodiscard]] ChunkGrid grid() const { return {items, chunk_items}; }

    [[nodiscard]] static std::string header(std::uint64_t /*items*/) { return "item,line\n"; }

    /// `variant` stands for an attempt whose results are not those of another one.
    [[nodiscard]] static std::string line(std::uint64_t item, std::uint64_t variant) {
        std::mt19937_64 random(item * 1000 + variant);
        return fmt::format("{} {:x}", variant, random() >> (random() % 60));
    }

    [[nodiscard]] std::string chunk(std::uint64_t id, std::uint64_t variant = 0) const {
        const Chunk place = grid().at(id);
        std::string text;
        for (std::uint64_t item = place.first; item < place.first + place.count; ++item) {
            text += fmt::format("{},{}\n", item, line(item, variant));
        }
        return text;
    }

    /// What that is made of.
    [[nodiscard]] std::vector<std::byte> results(std::uint64_t id, std::uint64_t variant = 0) const {
        const Chunk place = grid().at(id);
        std::vector<std::string> lines;
        for (std::uint64_t item = place.first; item < place.first + place.count; ++item) {
            lines.push_back(line(item, variant));
        }
        return fake_codec.results(lines);
    }

    /// What undisturbed runs publish: one file, or as many as there are parts.
    [[nodiscard]] std::vector<std::string> files() const {
        const PartPlan plan(grid(), chunks_per_part);
        std::vector<std::string> files;
        for (std::uint32_t part = 0; part < plan.parts(); ++part) {
            if (layout == OutputLayout::folder || part == 0) {
                files.push_back(header(layout == OutputLayout::folder ? plan.items_of(part) : items));
            }
            for (std::uint64_t id = plan.first_chunk(part); id < plan.end_chunk(part); ++id) {
                files.back() += chunk(id);
            }
        }
        return files;
    }
};

/// A run in a folder of its own.
class RunFolder {
public:
    explicit RunFolder(const FakeJob& job = {}) : job_(job) {}

    [[nodiscard]] const FakeJob& job() const noexcept { return job_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }
    [[nodiscard]] std::filesystem::path output() const {
        return path() / (job_.layout == OutputLayout::file ? "out.csv" : "out/");
    }
    [[nodiscard]] RunPaths paths() const { return run_paths(output(), ".csv"); }

    /// Commits after every `group_bytes` bytes.
    [[nodiscard]] CommittedOutputOptions options(std::uint64_t group_bytes = 400) const {
        CommittedOutputOptions options{.path = output(),
                                       .codec = &fake_codec,
                                       .items = job_.items,
                                       .chunk_items = job_.chunk_items,
                                       .chunks_per_part = job_.chunks_per_part,
                                       .settings = {{"app", "fake"}, {"input", "17 bytes"}},
                                       .me = this_process("", 0)};
        options.policy.interval = std::chrono::hours(1);
        options.policy.bytes = group_bytes;
        return options;
    }

    [[nodiscard]] std::vector<std::string> published() const {
        std::vector<std::string> files;
        const RunPaths run = paths();
        for (std::uint32_t part = 0; part < PartPlan(job_.grid(), job_.chunks_per_part).parts(); ++part) {
            const std::filesystem::path file = run.published_folder() / run.published_name(part);
            if ((part == 0 || job_.layout == OutputLayout::folder) && std::filesystem::exists(file)) {
                files.push_back(contents(file));
            }
        }
        return files;
    }

private:
    FakeJob job_;
    TemporaryFolder folder_;
};

/// Appends the chunks that are not there yet, up to chunk `end`.
inline void append_until(CommittedOutput& run, const FakeJob& job, std::uint64_t end, std::uint64_t variant = 0) {
    for (std::uint64_t id = run.next_chunk(); id < end; ++id) {
        run.append(job.grid().at(id).count, job.results(id, variant));
    }
}

/// A whole attempt.
inline void run_to_the_end(const RunFolder& folder, CommittedOutputOptions options, std::uint64_t variant = 0) {
    CommittedOutput run(std::move(options));
    if (run.complete() == nullptr) {
        append_until(run, folder.job(), folder.job().grid().chunks(), variant);
        run.publish();
    }
}

}  // namespace sluice::test
