#include "core/system/descriptor.hpp"

#include <unistd.h>

#include <cerrno>

namespace sluice {

Descriptor::~Descriptor() {
    close();
}

Descriptor::Read Descriptor::read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got = ::pread(number_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            done += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            return {.bytes = done, .error = errno};
        }
    }
    return {.bytes = done};
}

int Descriptor::close() noexcept {
    const int number = std::exchange(number_, -1);
    return number >= 0 && ::close(number) != 0 ? errno : 0;
}

int write_all(int number, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t written = ::write(number, bytes.data(), bytes.size());
        if (written > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        } else if (written == 0 || errno != EINTR) {
            return written == 0 ? EIO : errno;
        }
    }
    return 0;
}

}  // namespace sluice
