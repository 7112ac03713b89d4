#include "tests/support/fault_injection.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/process/fault_point.hpp"
#include "tests/support/drifting_clock.hpp"

namespace sluice {
namespace {

constexpr std::string_view any_point = "any";
constexpr std::string_view any_call = "call";

constexpr std::array<std::string_view, 36> point_names{"counted",
                                                       "abandon",
                                                       "abandoned",
                                                       "attempt.made",
                                                       "adopt.listed",
                                                       "adopt.copied",
                                                       "data.written",
                                                       "data.synced",
                                                       "jrn.half",
                                                       "jrn.written",
                                                       "jrn.synced",
                                                       "seal",
                                                       "publish.assembled",
                                                       "publish.link",
                                                       "publish.manifest",
                                                       "finalize",
                                                       "mpi.finalize",
                                                       "result",
                                                       "due",
                                                       "close",
                                                       "copy",
                                                       "copy.read",
                                                       "fdatasync",
                                                       "fsync",
                                                       "link",
                                                       "list",
                                                       "mkdir",
                                                       "open",
                                                       "read",
                                                       "rename",
                                                       "renameat2",
                                                       "rmdir",
                                                       "stat",
                                                       "unlink",
                                                       "write",
                                                       "writeback"};

/// Where work can be made to take longer; these count as no moment and no call.
constexpr std::array<std::string_view, 12> delay_names{"index",  "block",   "attempt",  "disk",   "parse", "scatter",
                                                       "upload", "compute", "download", "gather", "write", "commit"};
constexpr std::string_view delay_prefix = "slow.";
constexpr std::uint64_t longest_delay = 10'000'000;  // in microseconds

constexpr std::array<std::string_view, 3> wrong_orders{"shared-folder", "journal-first", "rename-over"};

constexpr std::string_view clock_name = "clock";

constexpr std::array<std::pair<std::string_view, int>, 9> errors{{{"EDQUOT", EDQUOT},
                                                                  {"EFBIG", EFBIG},
                                                                  {"EINVAL", EINVAL},
                                                                  {"EIO", EIO},
                                                                  {"EMFILE", EMFILE},
                                                                  {"ENOSPC", ENOSPC},
                                                                  {"EPERM", EPERM},
                                                                  {"EROFS", EROFS},
                                                                  {"ESTALE", ESTALE}}};

enum class Action { none, kill, stop, exit, fail, break_order, delay, drift };

struct Fault {
    std::string point{};
    std::uint64_t nth = 1;  // 0: every time
    Action action = Action::none;
    int value = 0;  // exit code, errno, microseconds or ppm
};

constexpr std::size_t most_faults = 4;

struct ArmedFault {
    Fault fault{};
    std::atomic<std::uint64_t> matches{0};
};

std::shared_mutex arming;  // other threads may meet faults while they are armed
std::array<ArmedFault, most_faults> faults;
std::array<std::atomic<std::uint64_t>, point_names.size()> meetings{};

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
    throw Error(ExitCode::usage,
                {.id = "E-USE-098",
                 .where = "SLUICE_FAULT",
                 .what = fmt::format("got {}: {}", quoted(text), what),
                 .hint = "POINT[:RANK][:NTH]=kill, stop, exit:CODE, errno:NAME or salt:N; several with commas"});
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(number) : std::nullopt;
}

/// Takes what stands before the next `separator`, and the separator.
std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), taken.size() + 1));
    return taken;
}

void set_action(Fault& parsed, std::string_view text, std::string_view all) {
    const std::string_view name = take_until(text, ':');
    if ((name == "kill" || name == "stop") && text.empty()) {
        parsed.action = name == "kill" ? Action::kill : Action::stop;
    } else if (const auto code = number_in(text); (name == "exit" || name == "salt") && code && *code < 256) {
        parsed.action = name == "exit" ? Action::exit : Action::fail;
        parsed.value = static_cast<int>(*code);
    } else {
        const auto* const error = std::find_if(errors.begin(), errors.end(), [&](auto& e) { return e.first == text; });
        if (name != "errno" || error == errors.end()) {
            refuse(all, "unknown action");
        }
        parsed.action = Action::fail;
        parsed.value = error->second;
    }
}

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// "slow.compute:2=5000"
std::optional<Fault> parse_delay(std::string_view all, std::string_view name, std::string_view rank,
                                 std::string_view microseconds, int my_rank) {
    const std::optional<std::uint64_t> value = number_in(microseconds);
    if (!is_one_of(delay_names, name) || (!rank.empty() && !number_in(rank)) || !value || *value > longest_delay) {
        refuse(all, "expected slow.STAGE[:RANK]=MICROSECONDS");
    }
    if (!rank.empty() && number_in(rank) != static_cast<std::uint64_t>(my_rank)) {
        return std::nullopt;
    }
    return Fault{.point = std::string(name), .action = Action::delay, .value = static_cast<int>(*value)};
}

/// Of this process's clock, by so many millionths.
void set_drift(Fault& parsed, std::string_view text, std::string_view all) {
    constexpr std::uint64_t most_ppm = 100'000;
    const std::string_view name = take_until(text, ':');
    const bool is_slower = text.starts_with('-');
    const auto ppm = number_in(text.substr(is_slower ? 1 : 0));
    if (name != "drift" || !ppm || *ppm > most_ppm) {
        refuse(all, "expected clock[:RANK]=drift:PPM");
    }
    parsed.action = Action::drift;
    parsed.value = static_cast<int>(*ppm) * (is_slower ? -1 : 1);
}

bool is_mine(std::string_view wanted, int rank) {
    return wanted.empty() || number_in(wanted) == static_cast<std::uint64_t>(rank);
}

/// Nothing when it is another rank's.
std::optional<Fault> parse_fault(std::string_view all, int rank) {
    std::string_view text = all;
    std::string_view place = take_until(text, '=');
    Fault parsed{.point = std::string(take_until(place, ':'))};
    if (parsed.point.starts_with(delay_prefix)) {
        return parse_delay(all, std::string_view(parsed.point).substr(delay_prefix.size()), place, text, rank);
    }
    if (is_one_of(wrong_orders, parsed.point)) {
        if (!place.empty() || text != "break") {
            refuse(all, "expected NAME=break");
        }
        parsed.action = Action::break_order;
        return parsed;
    }
    if (parsed.point == clock_name) {
        set_drift(parsed, text, all);
        return is_mine(place, rank) ? std::optional(parsed) : std::nullopt;
    }
    const bool known = is_one_of(point_names, parsed.point);
    if (!known && parsed.point != any_point && parsed.point != any_call) {
        refuse(all, "unknown point");
    }
    const std::string_view wanted_rank = take_until(place, ':');
    const bool always = place == "*";
    if ((!wanted_rank.empty() && !number_in(wanted_rank)) ||
        (!place.empty() && !always && number_in(place).value_or(0) == 0)) {
        refuse(all, "RANK is a number from 0, NTH one from 1 or *");
    }
    parsed.nth = always ? 0 : number_in(place).value_or(1);
    set_action(parsed, text, all);
    return is_mine(wanted_rank, rank) ? std::optional(parsed) : std::nullopt;
}

std::size_t index_of(std::string_view name) {
    const auto* const at = std::find(point_names.begin(), point_names.end(), name);
    expects(at != point_names.end(), "every fault point stands in the table");
    return static_cast<std::size_t>(at - point_names.begin());
}

/// The errno to report; 0: none. Ends or stops the process when that is the fault.
int happen(const Fault& fault) {
    switch (fault.action) {
        case Action::kill:
            ::kill(::getpid(), SIGKILL);
            break;
        case Action::stop:
            ::kill(::getpid(), SIGSTOP);
            break;
        case Action::exit:
            ::_exit(fault.value);
        default:
            return fault.value;
    }
    return 0;
}

int meet(std::string_view name, bool is_call) {
    meetings[index_of(name)].fetch_add(1, std::memory_order_relaxed);
    int error = 0;
    const std::shared_lock lock(arming);
    for (ArmedFault& armed : faults) {
        const Fault& fault = armed.fault;
        const bool meant = fault.point == name || fault.point == any_point || (is_call && fault.point == any_call);
        if (fault.action == Action::none || fault.action == Action::delay || !meant) {
            continue;
        }
        if (armed.matches.fetch_add(1) + 1 == fault.nth || fault.nth == 0) {
            error = std::max(error, happen(fault));
        }
    }
    return error;
}

void at_point(std::string_view name) {
    expects(meet(name, false) == 0, "SLUICE_FAULT: a moment that is no system call cannot fail");
}

int value_at(std::string_view name) {
    return meet(name, false);
}

int at_call(std::string_view name) {
    return meet(name, true);
}

bool is_order_broken(std::string_view name) {
    expects(is_one_of(wrong_orders, name), "every wrong order stands in the table");
    const std::shared_lock lock(arming);
    return std::any_of(faults.begin(), faults.end(), [name](const ArmedFault& armed) {
        return armed.fault.action == Action::break_order && armed.fault.point == name;
    });
}

void delay(std::string_view name) {
    expects(is_one_of(delay_names, name), "every place for a delay stands in the table");
    const std::shared_lock lock(arming);
    for (const ArmedFault& armed : faults) {
        if (armed.fault.action == Action::delay && armed.fault.point == name) {
            std::this_thread::sleep_for(std::chrono::microseconds(armed.fault.value));
        }
    }
}

void take_variable(const char* text, int rank) {
    arm_fault(text, rank);
}

constexpr FaultHooks hooks{.at_point = at_point,
                           .at_call = at_call,
                           .value_at = value_at,
                           .is_broken = is_order_broken,
                           .delay = delay,
                           .take_variable = take_variable};

}  // namespace

void install_faults() {
    fault_hooks = &hooks;
}

void arm_fault(std::string_view text, int rank) {
    install_faults();
    const std::string_view all = text;
    std::size_t count = 0;
    std::array<Fault, most_faults> parsed;
    do {
        if (count == most_faults) {
            refuse(all, "too many faults");
        }
        parsed[count++] = parse_fault(take_until(text, ','), rank).value_or(Fault{});
    } while (!text.empty());
    const std::lock_guard lock(arming);
    for (std::size_t i = 0; i < most_faults; ++i) {
        faults[i].fault = parsed[i];
        faults[i].matches = 0;
        if (parsed[i].action == Action::drift) {
            let_clock_drift(parsed[i].value);
        }
    }
    for (std::atomic<std::uint64_t>& met : meetings) {
        met = 0;
    }
}

void disarm_faults() {
    install_faults();
    const std::lock_guard lock(arming);
    for (ArmedFault& armed : faults) {
        armed.fault = {};
    }
    let_clock_drift(0);
    for (std::atomic<std::uint64_t>& met : meetings) {
        met = 0;
    }
}

std::uint64_t times_met(std::string_view name) {
    return meetings[index_of(name)].load(std::memory_order_relaxed);
}

std::uint64_t points_met() {
    std::uint64_t sum = 0;
    for (const std::atomic<std::uint64_t>& met : meetings) {
        sum += met.load(std::memory_order_relaxed);
    }
    return sum;
}

}  // namespace sluice
