#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice {

/// While it lives, its thread ends this process, with E-MPI-145 and exit code 76, when the parent process ends. For
/// MPI_Init, where Open MPI 4.1 waits forever for a killed launcher; later it notices by itself.
class ParentWatch {
public:
    ParentWatch();
    ~ParentWatch();
    ParentWatch(const ParentWatch&) = delete;
    ParentWatch& operator=(const ParentWatch&) = delete;

private:
    void watch();

    pid_t parent_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace sluice
