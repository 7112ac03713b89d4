#include "core/commit/heartbeat.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "core/commit/held_folder.hpp"

namespace sluice {

Heartbeat::Heartbeat(std::filesystem::path file, std::chrono::milliseconds interval)
    : file_(std::move(file)), interval_(interval), thread_([this] { beat(); }) {}

Heartbeat::~Heartbeat() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    over_changed_.notify_all();
    thread_.join();
}

void Heartbeat::beat() {
    std::unique_lock lock(mutex_);
    while (!over_changed_.wait_for(lock, interval_, [this] { return over_; })) {
        // One that fails is one that others miss: at worst they take over, which the writer meets at its next commit.
        const FilePlace place = FilePlace::entry(file_);
        ::utimensat(place.base(), place.name(), nullptr, AT_SYMLINK_NOFOLLOW);
    }
}

}  // namespace sluice
