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

/// So many attempts in a row that die without a new chunk, or over the same chunk, are enough.
inline constexpr std::size_t most_deaths = 3;

/// Items, counted from 0 over the whole input.
struct ItemRange {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    friend bool operator==(const ItemRange&, const ItemRange&) = default;
};

/// What an earlier attempt's folder says of its size, its length and how it went, whatever ended it.
struct Attempt {
    using Time = std::chrono::system_clock::time_point;

    std::uint32_t number = 0;
    std::optional<Time> begin{};  ///< By the file system's clock, both.
    std::optional<Time> last_heartbeat{};
    std::optional<std::uint32_t> ranks{};  ///< nullopt: it did not come so far as to compute.
    std::optional<std::uint32_t> devices{};
    std::uint64_t items = 0;                 ///< That it has committed itself.
    std::uint64_t committed = 0;             ///< The same in chunks.
    bool died = false;                       ///< By a crash, a hang or a defect, or nobody knows how: not by a wish.
    std::optional<int> code{};               ///< That it has ended with by itself.
    std::string end{};                       ///< What ended it, for people.
    std::vector<std::uint64_t> in_flight{};  ///< Chunks that the ranks held over which it died.
    std::vector<ItemRange> tried_alone{};    ///< Ranges that it has computed alone, in their order …
    bool died_alone = false;                 ///< … and it died over the last one.
};

/// The attempts before the `before`th that count, oldest first: those since the last one that was told to forget the
/// others.
[[nodiscard]] std::vector<Attempt> read_attempts(const RunPaths& paths, std::uint32_t before);

/// That one attempt.
[[nodiscard]] Attempt read_attempt(const RunPaths& paths, std::uint32_t number);

/// A rank's death is noted in the attempt's folder.
[[nodiscard]] bool has_lost_ranks(const std::filesystem::path& attempt);

/// What was noted of the loss of `rank`, by it or by another process; nullopt: nothing.
[[nodiscard]] std::optional<std::string> cause_of_loss(const std::filesystem::path& attempt, int rank);

// What an attempt leaves in its own folder, for those after it: plain lines, not synced, because they are about ends of
// processes. A lost node leaves none.

/// The attempt begins to compute.
void note_begin(const std::filesystem::path& attempt, std::uint32_t ranks, std::uint32_t devices);

/// A rank was lost, by what `cause` says, and held `chunks`.
void note_lost_rank(const std::filesystem::path& attempt, int rank, const std::string& cause,
                    std::span<const std::uint64_t> chunks);

/// The attempt ends by itself, with this code and message.
void note_end(const std::filesystem::path& attempt, ExitCode code, const ErrorText& text);

/// Earlier attempts do not count any more.
void note_fresh_start(const std::filesystem::path& attempt);

/// The file that a dying process writes itself: "cause TEXT", then "chunk NUMBER" lines.
[[nodiscard]] std::filesystem::path crash_file(const std::filesystem::path& attempt, int rank);

/// Which ranges are computed alone: known to later attempts whatever becomes of this process.
class LoneRanges {
public:
    explicit LoneRanges(const std::filesystem::path& attempt);
    void begin(const ItemRange& range);
    /// The process lives.
    void end(const ItemRange& range);

private:
    void write(std::string_view word, const ItemRange& range);

    File file_;
    std::uint64_t size_ = 0;
};

// Decisions; pure.

/// How many have died, in a row up to the last one, without a new chunk and without narrowing down what they die over.
[[nodiscard]] std::size_t deaths_without_progress(std::span<const Attempt> attempts);

/// Whether another attempt would only die like the last ones: most_deaths without progress, and either no chunk is
/// suspected, or trying it alone has not helped. `suspects` are the suspected chunks that are not finished.
[[nodiscard]] bool is_hopeless(std::span<const Attempt> attempts, std::span<const std::uint64_t> suspects);

/// Chunks that most_deaths attempts at least have died over, in order.
[[nodiscard]] std::vector<std::uint64_t> suspected_chunks(std::span<const Attempt> attempts);

/// Whether an attempt has died while it computed this range alone.
[[nodiscard]] bool is_deadly(const ItemRange& range, std::span<const Attempt> attempts);

}  // namespace sluice
