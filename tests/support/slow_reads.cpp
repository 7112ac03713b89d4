// Preloaded into a program: each read of a file whose name ends with SLUICE_SLOW_FILE takes SLUICE_SLOW_MIB more
// milliseconds a MiB, as from a slow disk.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

bool is_slow(int file) {
    static const char* const name = std::getenv("SLUICE_SLOW_FILE");
    std::array<char, 64> link{};
    std::array<char, 4096> path{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
    const ssize_t length = ::readlink(link.data(), path.data(), path.size());
    return name != nullptr && length > 0 &&
           std::string_view(path.data(), static_cast<std::size_t>(length)).ends_with(name);
}

ssize_t slow_pread(const char* function, int file, void* to, std::size_t bytes, off_t offset) {
    using Pread = ssize_t (*)(int, void*, std::size_t, off_t);
    const auto real = reinterpret_cast<Pread>(::dlsym(RTLD_NEXT, function));
    const ssize_t got = real(file, to, bytes, offset);
    if (got > 0 && is_slow(file)) {
        static const long milliseconds = std::atol(std::getenv("SLUICE_SLOW_MIB"));
        const long nanoseconds = got * milliseconds * 1'000'000 / (1 << 20);
        const std::timespec time{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
        ::nanosleep(&time, nullptr);
    }
    return got;
}

}  // namespace

extern "C" {

ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
    return slow_pread("pread", file, to, bytes, offset);
}

ssize_t pread64(int file, void* to, std::size_t bytes, off_t offset) {
    return slow_pread("pread64", file, to, bytes, offset);
}

}  // extern "C"
