#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "core/error.hpp"

namespace sluice::test {

/// How a child came to its end, or to a stop.
struct ChildEnd {
    static constexpr int unexpected = 99;  ///< It threw something that is no Error.

    int exit_code = -1;  ///< -1: it was ended or stopped by `signal`.
    int signal = 0;
    bool stopped = false;
};

/// A copy of this process that runs `action` and ends with 0, or with the code of the Error that it throws.
class Child {
public:
    template <class Action>
    explicit Child(Action&& action) : pid_(::fork()) {
        if (pid_ == 0) {
            ::_exit(run(action));
        }
        EXPECT_GT(pid_, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (!over_) {
            send(SIGKILL);
            static_cast<void>(wait());
        }
    }

    void send(int signal) const { ::kill(pid_, signal); }

    /// Until it has ended.
    ChildEnd wait() { return wait_for(0); }
    /// Until it has ended, or stopped itself.
    ChildEnd wait_for_end_or_stop() { return wait_for(WUNTRACED); }

private:
    template <class Action>
    static int run(Action& action) {
        try {
            action();
            return 0;
        } catch (const Error& error) {
            return static_cast<int>(error.code());
        } catch (const std::exception& error) {
            std::fprintf(stderr, "child: %s\n", error.what());
            return ChildEnd::unexpected;
        }
    }
    ChildEnd wait_for(int options) {
        int status = 0;
        EXPECT_EQ(::waitpid(pid_, &status, options), pid_);
        if (WIFSTOPPED(status)) {
            return {.exit_code = -1, .signal = WSTOPSIG(status), .stopped = true};
        }
        over_ = true;
        return WIFEXITED(status) ? ChildEnd{.exit_code = WEXITSTATUS(status)}
                                 : ChildEnd{.exit_code = -1, .signal = WTERMSIG(status)};
    }

    pid_t pid_;
    bool over_ = false;
};

}  // namespace sluice::test
