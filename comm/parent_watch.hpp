#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice {

/// While it lives, the end of this process's parent ends this process, with E-MPI-145 and exit code 76, by a thread of
/// its own. For MPI_Init, in which Open MPI 4.1 waits for ever for a launcher that was killed meanwhile; later on it
/// notices by itself.
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
