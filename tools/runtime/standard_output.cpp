#include "tools/runtime/standard_output.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/commit/file.hpp"

namespace sluice {
namespace {

std::atomic<int> first_error = 0;  // an errno; rank 0's shutdown hook may print from another thread

/// Network file systems report some errors only when a file is closed; closing a copy of the descriptor suffices.
int error_at_close() {
    const int copy = ::dup(STDOUT_FILENO);
    return copy >= 0 && ::close(copy) != 0 ? errno : 0;
}

}  // namespace

void print(std::string_view text) {
    if (!is_stdout_of_use()) {
        return;
    }
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        first_error = errno == 0 ? EIO : errno;
    }
}

bool is_stdout_of_use() {
    return first_error == 0;
}

std::optional<Error> failure_of_stdout() {
    const int error = first_error != 0 ? first_error.load() : error_at_close();
    if (error == 0 || error == EPIPE) {
        return std::nullopt;
    }
    try {
        fail_on_file("stdout", "write", error);
    } catch (const Error& failure) {
        return while_running(failure);
    }
}

}  // namespace sluice
