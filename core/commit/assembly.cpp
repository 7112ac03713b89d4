#include "core/commit/assembly.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t copied_at_once = std::uint64_t{8} << 20;
constexpr std::uint64_t parts_of_room = 4;  // free for the parts to come while one is copied

}  // namespace

Assembly::Assembly(const std::filesystem::path& path, std::function<std::uint64_t()> free)
    : free_(std::move(free)), file_(File::create(path)) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
        name_this_thread("assembly");
        try {
            copy_parts(stop);
        } catch (...) {
            failure_ = std::current_exception();  // finish() reads it after the thread's end
        }
    });
}

Assembly::~Assembly() {
    if (is_finished_) {
        return;
    }
    thread_.request_stop();
    if (thread_.joinable()) {
        thread_.join();
    }
    static_cast<void>(try_to_remove_file(file_.path()));  // else the next attempt removes it
}

void Assembly::add(std::filesystem::path part, std::uint64_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({.path = std::move(part), .bytes = bytes});
    }
    changed_.notify_one();
}

std::filesystem::path Assembly::finish() {
    expects(thread_.joinable(), "a file is finished once");
    {
        const std::lock_guard lock(mutex_);
        is_complete_ = true;
    }
    changed_.notify_one();
    thread_.join();
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    file_.sync();
    file_.close();
    is_finished_ = true;
    return file_.path();
}

void Assembly::copy_parts(const std::stop_token& stop) {
    while (true) {
        Part part;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, stop, [this] { return is_complete_ || may_copy(); });
            if (stop.stop_requested() || waiting_.empty()) {
                return;
            }
            part = std::move(waiting_.front());
            waiting_.pop_front();
        }
        copy(part, stop);
    }
}

bool Assembly::may_copy() const {
    return !waiting_.empty() && free_() / parts_of_room >= waiting_.front().bytes;
}

void Assembly::copy(const Part& part, const std::stop_token& stop) {
    const File from = File::open(part.path);
    for (std::uint64_t done = 0; done < part.bytes && !stop.stop_requested();) {
        const std::uint64_t piece = std::min(copied_at_once, part.bytes - done);
        file_.copy_at(bytes_, from, done, piece);
        if (piece == copied_at_once) {
            file_.start_writing_back(bytes_, piece);
        }
        bytes_ += piece;
        done += piece;
    }
}

}  // namespace sluice
