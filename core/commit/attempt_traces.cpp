#include "core/commit/attempt_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "core/commit/file.hpp"
#include "core/commit/journal.hpp"
#include "core/commit/owner.hpp"

namespace sluice {
namespace {

using Time = AttemptTraces::Time;

constexpr const char* begin_name = "begin";
constexpr std::size_t most_note_bytes = 4096;

std::optional<Time> time_of(const std::filesystem::path& file) {
    const auto status = status_of(file);
    if (!status) {
        return std::nullopt;
    }
    return Time(std::chrono::duration_cast<Time::duration>(std::chrono::seconds(status->st_mtim.tv_sec) +
                                                           std::chrono::nanoseconds(status->st_mtim.tv_nsec)));
}

/// "ranks 4 devices 8".
void read_begin(const std::filesystem::path& attempt, AttemptTraces& traces) {
    std::istringstream words(read_text(attempt / begin_name, most_note_bytes).value_or(""));
    std::string ranks_word;
    std::string devices_word;
    std::uint32_t ranks = 0;
    std::uint32_t devices = 0;
    if (words >> ranks_word >> ranks >> devices_word >> devices && ranks_word == "ranks" && devices_word == "devices") {
        traces.ranks = ranks;
        traces.devices = devices;
    }
}

}  // namespace

AttemptTraces read_traces(const RunPaths& paths, std::uint32_t attempt) {
    const std::filesystem::path folder = paths.attempt(attempt);
    AttemptTraces traces{.begin = time_of(owner_file(folder))};
    for (const std::filesystem::path& file :
         std::array{owner_file(folder), heartbeat_file(folder), journal_file(folder), folder / begin_name}) {
        traces.last_heartbeat = std::max(traces.last_heartbeat, time_of(file));
    }
    read_begin(folder, traces);
    for (const JournalEntry& entry : read_journal(journal_file(folder), attempt).entries) {
        traces.items += entry.type == EntryType::commit ? entry.items : 0;
    }
    return traces;
}

void note_begin(const std::filesystem::path& attempt, std::uint32_t ranks, std::uint32_t devices) {
    File file = File::create(attempt / begin_name);
    file.write_at(0, fmt::format("ranks {} devices {}\n", ranks, devices));
    file.close();
}

}  // namespace sluice
