#include "core/commit/attempt_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/file.hpp"
#include "core/commit/journal.hpp"
#include "core/commit/owner.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

constexpr const char* begin_name = "begin";
constexpr const char* end_name = "end";
constexpr const char* fresh_start_name = "fresh-start";
constexpr const char* lone_ranges_name = "alone";
constexpr std::string_view lost_prefix = "lost.";
constexpr std::string_view crash_prefix = "crash.";
constexpr std::size_t most_history_bytes = std::size_t{1} << 24;

/// Takes the next word of a line; what is no such number is nobody's.
std::optional<std::uint64_t> take_number(std::string_view& line) {
    return parse_number<std::uint64_t>(take_until(line, ' '));
}

/// The whole lines of a file, their first words apart; a line without its end was cut by a death.
template <class Visit>
void for_each_line(const std::filesystem::path& path, Visit visit) {
    const std::optional<std::string> text = read_text(path, most_history_bytes);
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (rest.find('\n') != std::string_view::npos) {
        std::string_view line = take_until(rest, '\n');
        const std::string_view word = take_until(line, ' ');
        visit(word, line);
    }
}

std::optional<Attempt::Time> time_of(const std::filesystem::path& file) {
    const auto status = status_of(file);
    if (!status) {
        return std::nullopt;
    }
    return Attempt::Time(std::chrono::duration_cast<Attempt::Time::duration>(
        std::chrono::seconds(status->st_mtim.tv_sec) + std::chrono::nanoseconds(status->st_mtim.tv_nsec)));
}

/// "ranks 4 devices 8".
void read_begin(const std::filesystem::path& folder, Attempt& attempt) {
    for_each_line(folder / begin_name, [&](std::string_view word, std::string_view line) {
        const auto ranks = parse_number<std::uint32_t>(take_until(line, ' '));
        const std::string_view next_word = take_until(line, ' ');
        const auto devices = parse_number<std::uint32_t>(take_until(line, ' '));
        if (word == "ranks" && ranks && next_word == "devices" && devices) {
            attempt.ranks = ranks;
            attempt.devices = devices;
        }
    });
}

void add_cause(std::string& causes, std::string_view cause) {
    causes += fmt::format("{}{}", causes.empty() ? "" : "; ", escaped(cause));
}

void read_lost_rank(const std::filesystem::path& file, std::string& causes, std::set<std::uint64_t>& chunks) {
    for_each_line(file, [&](std::string_view word, std::string_view line) {
        if (word == "cause") {
            add_cause(causes, line);
        } else if (const auto chunk = word == "chunk" ? take_number(line) : std::nullopt) {
            chunks.insert(*chunk);
        }
    });
}

/// nullopt: nothing was said.
std::optional<std::uint64_t> read_end(const std::filesystem::path& attempt, std::string& causes) {
    std::optional<std::uint64_t> code;
    for_each_line(attempt / end_name, [&](std::string_view word, std::string_view line) {
        if (word == "code") {
            code = take_number(line);
        } else if (word == "text") {
            add_cause(causes, line);
        }
    });
    return code;
}

/// Returns whether the last one was not said to be over.
bool read_lone_ranges(const std::filesystem::path& attempt, std::vector<ItemRange>& ranges) {
    bool open = false;
    for_each_line(attempt / lone_ranges_name, [&](std::string_view word, std::string_view line) {
        const auto first = take_number(line);
        const auto count = take_number(line);
        open = word == "begin" && first && count && *count <= std::numeric_limits<std::uint32_t>::max();
        if (open) {
            ranges.push_back({.first = *first, .count = static_cast<std::uint32_t>(*count)});
        }
    });
    return open;
}

/// What the ranks that were lost died of; empty: none was. Adds the chunks that they held.
std::string read_lost_ranks(const std::filesystem::path& folder, std::set<std::uint64_t>& chunks) {
    std::string lost;
    std::string unused;
    for (const std::string& name : names_in_folder(folder)) {
        if (name.starts_with(crash_prefix)) {
            read_lost_rank(folder / name, lost, chunks);
        } else if (name.starts_with(lost_prefix)) {  // a rank that has said itself what it died of knows best
            const bool said =
                status_of(folder / fmt::format("{}{}", crash_prefix, name.substr(lost_prefix.size()))).has_value();
            read_lost_rank(folder / name, said ? unused : lost, chunks);
        }
    }
    return lost;
}

void write_note(const std::filesystem::path& path, const std::string& text) {
    File file = File::create(path);
    file.write_at(0, text);
    file.close();
}

}  // namespace

bool has_lost_ranks(const std::filesystem::path& attempt) {
    std::set<std::uint64_t> unused;
    return !read_lost_ranks(attempt, unused).empty();
}

std::optional<std::string> cause_of_loss(const std::filesystem::path& attempt, int rank) {
    std::set<std::uint64_t> unused;
    std::string cause;
    for (const std::string_view prefix : {crash_prefix, lost_prefix}) {
        const std::filesystem::path file = attempt / fmt::format("{}{}", prefix, rank);
        if (cause.empty() && status_of(file)) {
            read_lost_rank(file, cause, unused);
        }
    }
    return cause.empty() ? std::nullopt : std::optional(cause);
}

Attempt read_attempt(const RunPaths& paths, std::uint32_t number) {
    const std::filesystem::path folder = paths.attempt(number);
    Attempt attempt{.number = number, .begin = time_of(owner_file(folder))};
    for (const std::filesystem::path& file :
         {owner_file(folder), heartbeat_file(folder), journal_file(folder), folder / begin_name}) {
        attempt.last_heartbeat = std::max(attempt.last_heartbeat, time_of(file));
    }
    read_begin(folder, attempt);
    for (const JournalEntry& entry : read_journal(journal_file(folder), number).entries) {
        if (entry.type == EntryType::commit) {
            attempt.items += entry.items;
            ++attempt.committed;
        }
    }
    std::set<std::uint64_t> chunks;
    const std::string lost = read_lost_ranks(folder, chunks);
    std::string said;
    const std::optional<std::uint64_t> code = read_end(folder, said);
    attempt.code = code ? std::optional(static_cast<int>(*code)) : std::nullopt;
    const auto end = status_of(folder / end_name);
    const bool ended = end && end->st_size == 0;  // on a full disk, which has no room to say why
    attempt.died = !lost.empty() || (attempt.code ? counts_as_death(static_cast<ExitCode>(*attempt.code)) : !ended);
    attempt.end = !lost.empty()   ? lost
                  : !said.empty() ? said
                  : ended         ? "could not write why it ended"
                                  : "killed, or its node was lost";
    const std::optional<Owner> owner = read_owner(folder);
    if (!owner || !owner->run.empty()) {  // else it had not counted its items: its chunks may have been other ones
        attempt.in_flight.assign(chunks.begin(), chunks.end());
    }
    attempt.died_alone = read_lone_ranges(folder, attempt.tried_alone) && attempt.died;
    return attempt;
}

std::vector<Attempt> read_attempts(const RunPaths& paths, std::uint32_t before) {
    std::vector<Attempt> attempts;
    for (const std::uint32_t number : attempts_of(paths)) {
        if (number >= before) {
            break;
        }
        if (status_of(paths.attempt(number) / fresh_start_name)) {
            attempts.clear();
        }
        attempts.push_back(read_attempt(paths, number));
    }
    return attempts;
}

void note_begin(const std::filesystem::path& attempt, std::uint32_t ranks, std::uint32_t devices) {
    write_note(attempt / begin_name, fmt::format("ranks {} devices {}\n", ranks, devices));
}

void note_lost_rank(const std::filesystem::path& attempt, int rank, const std::string& cause,
                    std::span<const std::uint64_t> chunks) {
    std::string text = fmt::format("cause {}\n", cause);
    for (const std::uint64_t chunk : chunks) {
        text += fmt::format("chunk {}\n", chunk);
    }
    write_note(attempt / fmt::format("{}{}", lost_prefix, rank), text);
}

void note_end(const std::filesystem::path& attempt, ExitCode code, const ErrorText& text) {
    write_note(attempt / end_name, fmt::format("code {}\ntext {}: {}{}{}\n", static_cast<int>(code), text.id,
                                               text.where, text.where.empty() ? "" : ": ", text.what));
}

bool has_noted_end(const std::filesystem::path& attempt) {
    return status_of(attempt / end_name).has_value();
}

void note_fresh_start(const std::filesystem::path& attempt) {
    write_note(attempt / fresh_start_name, "");
}

std::filesystem::path crash_file(const std::filesystem::path& attempt, int rank) {
    return attempt / fmt::format("{}{}", crash_prefix, rank);
}

LoneRanges::LoneRanges(const std::filesystem::path& attempt) : file_(File::create(attempt / lone_ranges_name)) {}

void LoneRanges::begin(const ItemRange& range) {
    write("begin", range);
}

void LoneRanges::end(const ItemRange& range) {
    write("end", range);
}

void LoneRanges::write(std::string_view word, const ItemRange& range) {
    const std::string line = fmt::format("{} {} {}\n", word, range.first, range.count);
    file_.write_at(size_, line);
    size_ += line.size();
}

bool counts_as_death(ExitCode code) {
    return code == ExitCode::internal || code == ExitCode::communication;
}

std::size_t deaths_without_progress(std::span<const Attempt> attempts) {
    std::size_t deaths = 0;
    for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
        if (attempt->committed != 0 || attempt->died_alone) {
            break;
        }
        deaths += attempt->died ? 1 : 0;
    }
    return deaths;
}

bool is_hopeless(std::span<const Attempt> attempts, std::span<const std::uint64_t> suspects) {
    if (deaths_without_progress(attempts) < most_deaths) {
        return false;
    }
    return suspects.empty() || std::ranges::all_of(attempts.last(most_deaths),
                                                   [](const Attempt& attempt) { return !attempt.tried_alone.empty(); });
}

std::vector<std::uint64_t> suspected_chunks(std::span<const Attempt> attempts) {
    std::map<std::uint64_t, std::size_t> deaths;
    for (const Attempt& attempt : attempts) {
        for (const std::uint64_t chunk : attempt.in_flight) {
            ++deaths[chunk];
        }
    }
    std::vector<std::uint64_t> suspects;
    for (const auto& [chunk, count] : deaths) {
        if (count >= most_deaths) {
            suspects.push_back(chunk);
        }
    }
    return suspects;
}

bool is_deadly(const ItemRange& range, std::span<const Attempt> attempts) {
    return std::ranges::any_of(
        attempts, [&](const Attempt& attempt) { return attempt.died_alone && attempt.tried_alone.back() == range; });
}

}  // namespace sluice
