#include "slurm/run_status.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "core/clock.hpp"
#include "core/commit/file.hpp"
#include "core/commit/held_folder.hpp"
#include "core/files/paths.hpp"
#include "core/json_types.hpp"
#include "core/system/descriptor.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_file = std::size_t{64} << 20;

/// Rounded for readability; JSON has no NaN.
double rounded(double value) {
    constexpr double steps = 1000;
    return std::isfinite(value) ? std::round(value * steps) / steps : 0;
}

/// Adds members to the object `json`.
struct MemberWriter {
    Json& json;

    void operator()(const char* key, const auto& member) const { json[key] = member; }
    void operator()(const char* key, double member) const { json[key] = rounded(member); }
    void added(const char* key, const auto& member) const { json[key] = member; }
};

/// Reads members of the object `json`.
struct MemberReader {
    const Json& json;

    void operator()(const char* key, auto& member) const { json.at(key).get_to(member); }

    /// One that earlier versions did not have.
    void added(const char* key, auto& member) const {
        if (json.contains(key)) {
            json.at(key).get_to(member);
        }
    }
};

// What the file holds of each struct, in its order, for writing and for reading.

void visit_rank(auto& rank, const auto& visit) {
    visit("host", rank.host);
    visit("chunks", rank.chunks);
    visit("items", rank.items);
    visit("items_per_second", rank.items_per_second);
    visit("seconds_since_chunk", rank.seconds_since_chunk);
}

void visit_end(auto& end, const auto& visit) {
    visit("code", end.code);
    visit("again", end.again);
    visit("signal", end.signal);
    visit("id", end.text.id);
    visit("where", end.text.where);
    visit("what", end.text.what);
    visit("hint", end.text.hint);
}

void visit_status(auto& status, const auto& visit) {
    visit("job", status.job);
    visit("restarts", status.restarts);
    visit("attempt", status.attempt);
    visit("most_attempts", status.most_attempts);
    visit("host", status.host);
    visit("process", status.process);
    visit("output", status.output);
    visit("items", status.items);
    visit.added("items_estimated", status.items_estimated);
    visit("items_before", status.items_before);
    visit("items_done", status.items_done);
    visit.added("items_committed", status.items_committed);
    visit("chunks", status.chunks);
    visit("chunks_before", status.chunks_before);
    visit("chunks_done", status.chunks_done);
    visit.added("chunks_committed", status.chunks_committed);
    visit("items_per_second", status.items_per_second);
    visit("mean_items_per_second", status.mean_items_per_second);
    visit("seconds_left", status.seconds_left);
    visit("limit", status.limit);
    visit("started", status.started);
    visit("updated", status.updated);
    visit("ranks", status.ranks);
    visit("slowest", status.slowest);
    visit("end", status.end);
}

/// Returns 0 or an errno.
int replace(const std::filesystem::path& file, const FilePlace& place, const std::string& text) {
    constexpr mode_t file_mode = 0666;  // less the umask: access is controlled by the run's folder
    // Uniquely named: an attempt presumed dead may still write there, and would rename this one's file.
    const FilePlace next = FilePlace::entry(file.native() + "." + make_unique_id() + ".new");
    Descriptor to(::openat(next.base(), next.name(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file_mode));
    if (to.number() < 0) {
        return errno;
    }
    int error = write_all(to.number(), std::as_bytes(std::span(text)));
    if (const int problem = to.close(); error == 0) {
        error = problem;
    }
    if (error == 0 && ::renameat(next.base(), next.name(), place.base(), place.name()) != 0) {
        error = errno;
    }
    if (error != 0) {
        ::unlinkat(next.base(), next.name(), 0);
    }
    return error;
}

bool is_of_same_process(const std::filesystem::path& file, const RunStatus& status) {
    try {
        const std::optional<RunStatus> there = read_run_status(file);
        return there && there->host == status.host && there->process == status.process;
    } catch (const Error&) {  // a link, another user's, unreadable: nothing to write to
        return false;
    }
}

/// Where a full disk has no room for a second file, there may be some in the first one. Text that has to grow makes
/// sure of that with blanks, which JSON ignores, before it replaces anything. Returns 0 or an errno.
int write_over(const FilePlace& place, const std::string& text) {
    Descriptor to(::openat(place.base(), place.name(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat was {};
    if (to.number() < 0 || ::fstat(to.number(), &was) != 0) {
        return errno;
    }
    const auto old = static_cast<std::size_t>(was.st_size);
    const std::string blanks(text.size() - std::min(old, text.size()), ' ');
    if (::lseek(to.number(), 0, SEEK_END) < 0) {
        return errno;
    }
    if (const int error = write_all(to.number(), std::as_bytes(std::span(blanks))); error != 0) {
        return error;
    }
    if (::lseek(to.number(), 0, SEEK_SET) < 0) {
        return errno;
    }
    if (const int error = write_all(to.number(), std::as_bytes(std::span(text))); error != 0) {
        return error;
    }
    const int cut = ::ftruncate(to.number(), static_cast<off_t>(text.size())) == 0 ? 0 : errno;
    const int closed = to.close();
    return cut != 0 ? cut : closed;
}

}  // namespace

// Found by nlohmann::json through argument-dependent lookup.

void to_json(Json& json, const RankStatus& rank) {
    visit_rank(rank, MemberWriter{json});
}

void from_json(const Json& json, RankStatus& rank) {
    visit_rank(rank, MemberReader{json});
}

void to_json(Json& json, const RunEnd& end) {
    visit_end(end, MemberWriter{json});
}

void from_json(const Json& json, RunEnd& end) {
    visit_end(end, MemberReader{json});
}

double unix_seconds() {
    return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<std::uint32_t> find_slowest(const std::vector<RankStatus>& ranks) {
    constexpr double clearly = 0.9;  // chunks are discrete, so rates of equal ranks differ slightly
    if (ranks.size() < 2) {
        return std::nullopt;
    }
    const auto slowest = std::ranges::min_element(ranks, {}, &RankStatus::items_per_second);
    std::vector<double> others;
    for (const RankStatus& rank : ranks) {
        if (&rank != &*slowest) {
            others.push_back(rank.items_per_second);
        }
    }
    const auto median = others.begin() + static_cast<std::ptrdiff_t>((others.size() - 1) / 2);
    std::ranges::nth_element(others, median);
    return slowest->items_per_second < clearly * *median
               ? std::optional(static_cast<std::uint32_t>(slowest - ranks.begin()))
               : std::nullopt;
}

bool is_followed(const RunStatus& status) {
    return status.end && status.end->again && status.most_attempts && status.attempt < *status.most_attempts;
}

std::string encode(const RunStatus& status) {
    Json json{{"version", 1}, {"state", name_of(status.state)}};
    visit_status(status, MemberWriter{json});
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<RunStatus> decode_run_status(std::string_view text) {
    try {
        Json json = Json::parse(text);
        const auto state = enum_of<RunState>(json.at("state").get<std::string>());
        if (!state || json.at("version") != 1) {
            return std::nullopt;
        }
        json.emplace("attempt", 1);  // added later, like the next one
        json.emplace("most_attempts", nullptr);
        RunStatus status{.state = *state};
        visit_status(status, MemberReader{json});
        return status;
    } catch (const nlohmann::json::exception&) {  // of another program or version
        return std::nullopt;
    }
}

std::optional<RunStatus> read_run_status(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_text(file, longest_file);
    return text ? decode_run_status(*text) : std::nullopt;
}

int write_run_status(const std::filesystem::path& file, const RunStatus& status) {
    const std::string text = encode(status);
    const FilePlace place = FilePlace::entry(file);
    const int error = replace(file, place, text);
    if (error == 0 || !is_of_same_process(file, status)) {
        return error;
    }
    return write_over(place, text) == 0 ? 0 : error;
}

}  // namespace sluice
