#include "slurm/run_status.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/commit/file.hpp"
#include "core/commit/held_folder.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> state_names{"preparing", "running", "draining",
                                                      "complete",  "stopped", "failed"};
constexpr std::size_t longest_file = std::size_t{64} << 20;

/// Rounded for readability; JSON has no NaN.
double rounded(double value) {
    constexpr double steps = 1000;
    return std::isfinite(value) ? std::round(value * steps) / steps : 0;
}

Json to_json(const RankStatus& rank) {
    return {{"host", rank.host},
            {"chunks", rank.chunks},
            {"items", rank.items},
            {"items_per_second", rounded(rank.items_per_second)},
            {"seconds_since_chunk", rounded(rank.seconds_since_chunk)}};
}

RankStatus rank_of(const Json& json) {
    return {.host = json.at("host"),
            .chunks = json.at("chunks"),
            .items = json.at("items"),
            .items_per_second = json.at("items_per_second"),
            .seconds_since_chunk = json.at("seconds_since_chunk")};
}

Json to_json(const RunEnd& end) {
    return {{"code", end.code},        {"again", end.again},    {"signal", end.signal}, {"id", end.text.id},
            {"where", end.text.where}, {"what", end.text.what}, {"hint", end.text.hint}};
}

RunEnd end_of(const Json& json) {
    return {.code = json.at("code"),
            .again = json.at("again"),
            .signal = json.at("signal"),
            .text = {.id = json.at("id"), .where = json.at("where"), .what = json.at("what"), .hint = json.at("hint")}};
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

template <class Value>
std::optional<Value> maybe(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<Value>());
}

}  // namespace

bool operator==(const RunEnd& a, const RunEnd& b) {
    return a.code == b.code && a.again == b.again && a.signal == b.signal && a.text.id == b.text.id &&
           a.text.where == b.text.where && a.text.what == b.text.what && a.text.hint == b.text.hint;
}

std::string_view name_of(RunState state) {
    return state_names[static_cast<std::size_t>(state)];
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
    Json json{{"version", 1},
              {"state", name_of(status.state)},
              {"job", status.job},
              {"restarts", status.restarts},
              {"attempt", status.attempt},
              {"most_attempts", or_null(status.most_attempts)},
              {"host", status.host},
              {"process", status.process},
              {"output", status.output},
              {"items", status.items},
              {"items_before", status.items_before},
              {"items_done", status.items_done},
              {"chunks", status.chunks},
              {"chunks_before", status.chunks_before},
              {"chunks_done", status.chunks_done},
              {"items_per_second", rounded(status.items_per_second)},
              {"mean_items_per_second", rounded(status.mean_items_per_second)},
              {"seconds_left", or_null(status.seconds_left)},
              {"limit", or_null(status.limit)},
              {"started", rounded(status.started)},
              {"updated", rounded(status.updated)},
              {"ranks", Json::array()},
              {"slowest", or_null(status.slowest)},
              {"end", status.end ? to_json(*status.end) : Json(nullptr)}};
    for (const RankStatus& rank : status.ranks) {
        json["ranks"].push_back(to_json(rank));
    }
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<RunStatus> decode_run_status(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        const auto state = std::find(state_names.begin(), state_names.end(), json.at("state").get<std::string>());
        if (state == state_names.end() || json.at("version") != 1) {
            return std::nullopt;
        }
        RunStatus status{.state = static_cast<RunState>(state - state_names.begin()),
                         .job = json.at("job"),
                         .restarts = json.at("restarts"),
                         .attempt = json.value("attempt", std::uint64_t{1}),  // added later, like the next one
                         .most_attempts = maybe<std::uint64_t>(json.value("most_attempts", Json())),
                         .host = json.at("host"),
                         .process = json.at("process"),
                         .output = json.at("output"),
                         .items = json.at("items"),
                         .items_before = json.at("items_before"),
                         .items_done = json.at("items_done"),
                         .chunks = json.at("chunks"),
                         .chunks_before = json.at("chunks_before"),
                         .chunks_done = json.at("chunks_done"),
                         .items_per_second = json.at("items_per_second"),
                         .mean_items_per_second = json.at("mean_items_per_second"),
                         .seconds_left = maybe<double>(json.at("seconds_left")),
                         .limit = maybe<double>(json.at("limit")),
                         .started = json.at("started"),
                         .updated = json.at("updated"),
                         .slowest = maybe<std::uint32_t>(json.at("slowest"))};
        for (const Json& rank : json.at("ranks")) {
            status.ranks.push_back(rank_of(rank));
        }
        if (!json.at("end").is_null()) {
            status.end = end_of(json.at("end"));
        }
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
    constexpr mode_t file_mode = 0666;  // less the umask: access is controlled by the run's folder
    const std::string text = encode(status);
    const FilePlace place = FilePlace::entry(file);
    // Uniquely named: an attempt presumed dead may still write there, and would rename this one's file.
    const FilePlace next = FilePlace::entry(file.native() + "." + make_unique_id() + ".new");
    const int fd = ::openat(next.base(), next.name(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file_mode);
    if (fd < 0) {
        return errno;
    }
    int error = 0;
    for (std::size_t done = 0; done < text.size() && error == 0;) {
        const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
        if (written >= 0) {
            done += static_cast<std::size_t>(written);
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    if (::close(fd) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && ::renameat(next.base(), next.name(), place.base(), place.name()) != 0) {
        error = errno;
    }
    if (error != 0) {
        ::unlinkat(next.base(), next.name(), 0);
    }
    return error;
}

}  // namespace sluice
