#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "core/commit/file.hpp"

namespace sluice {

/// The one file of an output in several parts: a thread copies each part into it once that is sealed, while later ones
/// are computed, so that little is left to do when the output is published. Where space is short it leaves that to the
/// parts, and copies at the end. Members are called by one thread at a time.
class Assembly {
public:
    /// `free` tells how many bytes may still be written where the file lies. Throws Error if the file exists or cannot
    /// be created.
    explicit Assembly(const std::filesystem::path& path, std::function<std::uint64_t()> free);
    /// Removes the file unless finish() returned.
    ~Assembly();
    Assembly(const Assembly&) = delete;
    Assembly& operator=(const Assembly&) = delete;

    /// The next part, of `bytes` bytes; nobody writes to it any more.
    void add(std::filesystem::path part, std::uint64_t bytes);

    /// Waits until the file has all parts added, and syncs it; returns its path. Throws the Error of the first failure,
    /// an UnreadableFile if it was a part that could not be read.
    [[nodiscard]] std::filesystem::path finish();

private:
    struct Part {
        std::filesystem::path path;
        std::uint64_t bytes = 0;
    };

    void copy_parts(const std::stop_token& stop);
    [[nodiscard]] bool may_copy() const;
    void copy(const Part& part, const std::stop_token& stop);

    std::function<std::uint64_t()> free_;
    File file_;
    std::uint64_t bytes_ = 0;  // copied
    bool is_finished_ = false;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Part> waiting_;
    bool is_complete_ = false;
    std::exception_ptr failure_;

    std::jthread thread_;
};

}  // namespace sluice
