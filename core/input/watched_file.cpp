#include "core/input/watched_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t most_blocks = 64;

/// Of a kernel's clock for files, at most: HZ is 100 or more. A file whose time lies further ahead has another clock.
constexpr std::int64_t longest_tick = 10'000'000;

constexpr std::int64_t second = 1'000'000'000;

std::int64_t nanoseconds_of(const timespec& time) {
    return std::int64_t{time.tv_sec} * second + time.tv_nsec;
}

/// By which file systems stamp changes.
timespec file_clock() {
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

/// A file that does not settle is being written: who reads it then meets the change, instead of waiting for its end.
constexpr std::chrono::milliseconds longest_settling{1200};
constexpr std::chrono::milliseconds between_looks{1};

[[noreturn]] void fail(const std::filesystem::path& path, const char* operation, int error) {
    throw Error(ExitCode::io_error, {.id = "E-IO-003",
                                     .where = escaped(path.native()),
                                     .what = fmt::format("cannot {}: {}", operation, system_text(error)),
                                     .hint = "check the file system, then run the same command again"});
}

struct stat status_of_open(const Descriptor& file, const std::filesystem::path& path) {
    struct stat status = {};
    if (::fstat(file.number(), &status) != 0) {
        fail(path, "query the file", errno);
    }
    return status;
}

bool is_sampled_whole(std::uint64_t size) {
    return size <= most_blocks * block_bytes;
}

struct Block {
    std::uint64_t offset;
    std::uint64_t bytes;
};

std::vector<Block> sampled_blocks(std::uint64_t size) {
    if (is_sampled_whole(size)) {
        return {{0, size}};
    }
    std::vector<Block> blocks;
    for (std::uint64_t i = 0; i + 1 < most_blocks; ++i) {
        const std::uint64_t even = (size - block_bytes) / (most_blocks - 1) * i;
        blocks.push_back({even / block_bytes * block_bytes, block_bytes});
    }
    blocks.push_back({size - block_bytes, block_bytes});
    return blocks;
}

/// Of a file that has become shorter, another one.
std::string stamp_of(const Descriptor& file, std::uint64_t size, const std::filesystem::path& path) {
    const std::vector<Block> blocks = sampled_blocks(size);
    for (const Block& block : blocks) {  // all at once: a network's or disk's latency is met a few times, not 64
        static_cast<void>(::posix_fadvise(file.number(), static_cast<off_t>(block.offset),
                                          static_cast<off_t>(block.bytes), POSIX_FADV_WILLNEED));
    }
    std::string sample;
    for (const Block& block : blocks) {
        const std::size_t at = sample.size();
        sample.resize(at + block.bytes);
        const auto [bytes, error] = file.read_at(block.offset, std::as_writable_bytes(std::span(sample)).subspan(at));
        if (error != 0) {
            fail(path, "read", error);
        }
        sample.resize(at + bytes);
    }
    const std::string which = blocks.size() == 1 ? "" : fmt::format(" of {} blocks", blocks.size());
    return fmt::format("{} bytes, XXH3{} {}", size, which, fingerprint_of(sample));
}

bool is_same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

bool is_settled(const timespec& last_change, const timespec& now) noexcept {
    // File systems that keep whole seconds, as Lustre does, leave no other time until the second is over.
    const std::int64_t step = last_change.tv_nsec == 0 ? second : 1;
    const std::int64_t ahead = nanoseconds_of(last_change) - nanoseconds_of(now);
    return ahead + step <= 0 || ahead > longest_tick;
}

WatchedFile::WatchedFile(Descriptor file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path)) {
    const Instant end = Clock::now() + longest_settling;
    for (;;) {
        const timespec before = file_clock();
        opened_ = status_of_open(file_, path_);
        times_show_changes_ = is_settled(opened_.st_ctim, before);
        if (times_show_changes_ || is_sampled_whole(size()) || Clock::now() > end) {
            break;
        }
        std::this_thread::sleep_for(between_looks);
    }
    status_changed_.store(nanoseconds_of(opened_.st_ctim));
    stamp_ = stamp_of(file_, size(), path_);
}

std::string WatchedFile::change() const {
    const struct stat now = status_of_open(file_, path_);
    const auto bytes = static_cast<std::uint64_t>(now.st_size);
    if (bytes != size()) {
        return fmt::format("{} while running (got {} bytes, expected {} as when it was opened)",
                           bytes < size() ? "truncated" : "changed", bytes, size());
    }
    if (nanoseconds_of(now.st_mtim) != nanoseconds_of(opened_.st_mtim)) {
        return "changed while running (same size, another time of last change)";
    }
    const std::int64_t status_changed = nanoseconds_of(now.st_ctim);
    if (times_show_changes_ && status_changed == status_changed_.load()) {
        return {};
    }
    if (stamp_of(file_, size(), path_) != stamp_) {
        return "changed while running (same size and time, other content)";
    }
    status_changed_.store(status_changed);
    return {};
}

std::string WatchedFile::change_of_content() const {
    if (std::string what = change(); !what.empty()) {
        return what;
    }
    if (stamp_of(file_, size(), path_) != stamp_) {
        return "changed while running (same size and time, other content)";
    }
    return change_at_path();
}

std::string WatchedFile::change_at_path() const {
    // By opening it: a network file system then asks its server, while it answers stat from what it remembers.
    const Descriptor other(open_to_read(path_));
    if (other.number() < 0) {
        if (errno == EIO) {
            fail(path_, "open", errno);
        }
        return {};  // nothing there that anybody could take for what was read, which is still the open file
    }
    const struct stat now = status_of_open(other, path_);
    if (is_same_file(now, opened_)) {
        return {};
    }
    if (!S_ISREG(now.st_mode)) {
        return "replaced while running by something that is not a file";
    }
    const std::string is = stamp_of(other, static_cast<std::uint64_t>(now.st_size), path_);
    return is == stamp_ ? std::string()
                        : fmt::format("replaced while running by another file (was {}, is {})", stamp_, is);
}

}  // namespace sluice
