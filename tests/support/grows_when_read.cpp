#include "tests/support/grows_when_read.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "core/error.hpp"

namespace sluice::test {
namespace {

std::mutex mutex;
std::filesystem::path growing;  // empty: none

void grow_if_read(int file) {
    const std::lock_guard lock(mutex);
    struct ::stat read = {};
    struct ::stat wanted = {};
    if (growing.empty() || ::fstat(file, &read) != 0 || ::stat(growing.c_str(), &wanted) != 0 ||
        read.st_dev != wanted.st_dev || read.st_ino != wanted.st_ino) {
        return;
    }
    const int end = ::open(growing.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const bool grew = ::write(end, " ", 1) == 1 && ::close(end) == 0;
    expects(grew, "GrowsWhenRead: the file can be appended to");
    growing.clear();
}

ssize_t read_and_grow(int file, void* to, std::size_t bytes, off_t offset) {
    const ssize_t got = ::syscall(SYS_pread64, file, to, bytes, offset);
    grow_if_read(file);
    return got;
}

}  // namespace

GrowsWhenRead::GrowsWhenRead(const std::filesystem::path& file) {
    const std::lock_guard lock(mutex);
    growing = file;
}

GrowsWhenRead::~GrowsWhenRead() {
    const std::lock_guard lock(mutex);
    growing.clear();
}

}  // namespace sluice::test

extern "C" {

ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
    return sluice::test::read_and_grow(file, to, bytes, offset);
}

ssize_t pread64(int file, void* to, std::size_t bytes, off_t offset) {
    return sluice::test::read_and_grow(file, to, bytes, offset);
}

}  // extern "C"
