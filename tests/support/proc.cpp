#include "tests/support/proc.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// proc(5): the fields of /proc/PID/stat after the name in parentheses, the state first; empty when it is gone.
std::vector<std::string> stat_fields(pid_t pid) {
    const std::string text = contents("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = text.rfind(')');
    std::vector<std::string> fields;
    if (name_end != std::string::npos) {
        std::istringstream words(text.substr(name_end + 1));
        for (std::string word; words >> word;) {
            fields.push_back(word);
        }
    }
    return fields;
}

std::optional<int> rank_of(pid_t pid) {
    static const std::string name("\0OMPI_COMM_WORLD_RANK=", 22);  // variables are ended by zeros
    const std::string variables = contents("/proc/" + std::to_string(pid) + "/environ");
    const std::size_t at = variables.find(name);
    return at == std::string::npos ? std::nullopt : number(variables.c_str() + at + name.size());
}

}  // namespace

std::chrono::seconds patience() {
    constexpr std::chrono::seconds once_failed{10};
    return testing::Test::HasFailure() ? once_failed : longest_run;
}

EndWatch::EndWatch(const std::vector<pid_t>& pids) {
    for (const pid_t pid : pids) {
        const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
        if (descriptor >= 0) {  // else it is gone already
            descriptors_.push_back(descriptor);
        }
    }
}

EndWatch::~EndWatch() {
    for (const int descriptor : descriptors_) {
        ::close(descriptor);
    }
}

bool EndWatch::wait(std::chrono::nanoseconds at_most) const {
    const auto end = std::chrono::steady_clock::now() + at_most;
    return std::ranges::all_of(descriptors_, [&](int descriptor) {
        pollfd look{.fd = descriptor, .events = POLLIN, .revents = 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        return ::poll(&look, 1, static_cast<int>(std::max<long>(left, 0))) == 1;
    });
}

double cpu_seconds(pid_t pid) {
    constexpr std::size_t user = 11;  // utime and stime, counted from the state
    constexpr std::size_t system = 12;
    const std::vector<std::string> fields = stat_fields(pid);
    return fields.size() <= system
               ? 0
               : (std::stod(fields[user]) + std::stod(fields[system])) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

bool is_pending(pid_t pid, int signal) {
    // proc(5): signals for the process as a whole, as a hexadecimal mask.
    static const std::string field = "\nShdPnd:\t";
    const std::string text = contents("/proc/" + std::to_string(pid) + "/status");
    const std::size_t at = text.find(field);
    return at != std::string::npos &&
           (std::stoull(text.substr(at + field.size(), 16), nullptr, 16) >> (signal - 1) & 1U) != 0;
}

std::vector<pid_t> ranks_of(pid_t launcher) {
    std::map<int, pid_t> ranks;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::optional<int> pid = number(entry.path().filename().native());
        const std::vector<std::string> fields = pid ? stat_fields(*pid) : std::vector<std::string>();
        if (fields.size() > 1 && number(fields[1]) == launcher) {
            if (const auto rank = rank_of(*pid)) {
                ranks[*rank] = *pid;
            }
        }
    }
    std::vector<pid_t> pids;
    for (const auto& [rank, pid] : ranks) {
        pids.push_back(pid);
    }
    return pids;
}

void pause_between_looks() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace sluice::test
