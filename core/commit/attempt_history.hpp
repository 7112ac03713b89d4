#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/commit/file.hpp"
#include "core/commit/run_paths.hpp"
#include "core/error.hpp"

namespace sluice {

/// After this many deaths in a row without a new chunk, or on the same chunk, something else has to be tried.
inline constexpr std::size_t most_deaths = 3;

/// Consecutive items, by their numbers in the input, from 0.
struct ItemRange {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    friend bool operator==(const ItemRange&, const ItemRange&) = default;
};

/// Size, duration and end of an earlier attempt, as recorded in its folder.
struct Attempt {
    using Time = std::chrono::system_clock::time_point;

    std::uint32_t number = 0;
    std::optional<Time> begin{};  ///< Both by the file system's clock.
    std::optional<Time> last_heartbeat{};
    std::optional<std::uint32_t> ranks{};  ///< nullopt: it ended before it computed.
    std::optional<std::uint32_t> devices{};
    std::uint64_t items = 0;      ///< Committed by this attempt.
    std::uint64_t committed = 0;  ///< The same, in chunks.
    bool died = false;  ///< It crashed, hung, met a defect or ended for an unknown reason; false: it was stopped.
    std::optional<int> code{};               ///< Its exit code, if it recorded one.
    std::string end{};                       ///< What ended it, human-readable.
    std::vector<std::uint64_t> in_flight{};  ///< Chunks held by the ranks that died.
    std::vector<ItemRange> tried_alone{};    ///< Ranges that it computed alone, in order, …
    bool died_alone = false;                 ///< … the last of which killed it.
};

/// Attempts before number `before`, oldest first, starting with the last one that was told to ignore earlier ones
/// (note_fresh_start).
[[nodiscard]] std::vector<Attempt> read_attempts(const RunPaths& paths, std::uint32_t before);

/// The attempt `number`.
[[nodiscard]] Attempt read_attempt(const RunPaths& paths, std::uint32_t number);

/// Whether the loss of a rank is recorded in the attempt's folder.
[[nodiscard]] bool has_lost_ranks(const std::filesystem::path& attempt);

/// The recorded cause of the loss of `rank`, by itself or another process; nullopt: none.
[[nodiscard]] std::optional<std::string> cause_of_loss(const std::filesystem::path& attempt, int rank);

// Notes that an attempt leaves in its folder for later ones: plain lines, not synced, because they have to survive
// processes only. A lost node leaves none.

/// Records that the attempt begins to compute.
void note_begin(const std::filesystem::path& attempt, std::uint32_t ranks, std::uint32_t devices);

/// Records that a rank, which held `chunks`, was lost.
void note_lost_rank(const std::filesystem::path& attempt, int rank, const std::string& cause,
                    std::span<const std::uint64_t> chunks);

/// Records that the attempt ends by itself.
void note_end(const std::filesystem::path& attempt, ExitCode code, const ErrorText& text);
[[nodiscard]] bool has_noted_end(const std::filesystem::path& attempt);

/// Records that earlier attempts no longer count.
void note_fresh_start(const std::filesystem::path& attempt);

/// The file written by a crashing process: a line "cause TEXT", then lines "chunk NUMBER".
[[nodiscard]] std::filesystem::path crash_file(const std::filesystem::path& attempt, int rank);

/// Records which ranges are computed alone, so that later attempts know which one killed this process.
class LoneRanges {
public:
    explicit LoneRanges(const std::filesystem::path& attempt);
    void begin(const ItemRange& range);
    /// The process has survived `range`.
    void end(const ItemRange& range);

private:
    void write(std::string_view word, const ItemRange& range);

    File file_;
    std::uint64_t size_ = 0;
};

// Decisions; pure.

/// Whether an attempt that ends with `code` has died: a later one may end the same way.
[[nodiscard]] bool counts_as_death(ExitCode code);

/// Number of deaths in a row, up to the last attempt, without a new chunk and without narrowing down their cause.
[[nodiscard]] std::size_t deaths_without_progress(std::span<const Attempt> attempts);

/// Whether another attempt would only die like the last ones: most_deaths without progress, and either no chunk is
/// suspected, or computing it alone has not helped. `suspects`: suspected chunks that are not finished.
[[nodiscard]] bool is_hopeless(std::span<const Attempt> attempts, std::span<const std::uint64_t> suspects);

/// Chunks on which at least most_deaths attempts have died, ascending.
[[nodiscard]] std::vector<std::uint64_t> suspected_chunks(std::span<const Attempt> attempts);

/// Whether an attempt has died while computing `range` alone.
[[nodiscard]] bool is_deadly(const ItemRange& range, std::span<const Attempt> attempts);

}  // namespace sluice
