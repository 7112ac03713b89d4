#include "tests/support/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "tests/support/proc.hpp"

namespace sluice::test {

Terminal::Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    std::array<char, 64> name{};
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0 ||
        ::ptsname_r(master_, name.data(), name.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "pseudoterminal");
    }
    file_ = name.data();
}

Terminal::~Terminal() {
    ::close(master_);
}

const std::string& Terminal::read_until(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + patience();
    while (text.empty() || text_.find(text) == std::string::npos) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        pollfd readable{.fd = master_, .events = POLLIN, .revents = 0};
        if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) == 0) {
            ADD_FAILURE() << "the terminal shows no more than " << text_;
            break;
        }
        std::array<char, 4096> piece{};
        const ssize_t bytes = ::read(master_, piece.data(), piece.size());
        if (bytes <= 0) {
            break;  // EIO: nobody has it open any more
        }
        text_.append(piece.data(), static_cast<std::size_t>(bytes));
    }
    return text_;
}

}  // namespace sluice::test
