#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace sluice {

/// A thread that sends a heartbeat: it touches a file, by the clock of its file system, as long as it lives.
class Heartbeat {
public:
    /// `file` exists. Throws std::system_error when no thread can be started.
    Heartbeat(std::filesystem::path file, std::chrono::milliseconds interval);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

private:
    void beat();

    std::filesystem::path file_;
    std::chrono::milliseconds interval_;
    std::mutex mutex_;
    std::condition_variable over_changed_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace sluice
