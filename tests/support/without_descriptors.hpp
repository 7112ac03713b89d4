#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/error.hpp"

namespace sluice::test {

/// For a death test: calls `action`, which succeeds, then again where no file can be opened. Ends the process with the
/// exit code of the Error that this throws, and its id on stderr; with 0 if none is thrown.
template <class Action>
[[noreturn]] void exit_without_descriptors(Action action) {
    // UndefinedBehaviorSanitizer needs a descriptor to look at a type for the first time: it meets all of them here.
    action();
    static_cast<void>(std::error_code(EMFILE, std::generic_category()).message());
    try {
        throw Error(ExitCode::out_of_memory, {.id = "E-IO-005"});
    } catch (const Error& error) {
        static_cast<void>(error.text().id);
    }
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    try {
        action();
    } catch (const Error& error) {
        static_cast<void>(std::fputs(error.text().id.c_str(), stderr));
        ::_exit(static_cast<int>(error.code()));
    }
    ::_exit(0);
}

}  // namespace sluice::test
