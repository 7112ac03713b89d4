#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "core/error.hpp"

namespace sluice::bench {

/// A benchmark's exit code: that of run(argc, argv), or, if it throws, after the message on stderr, an Error's own, and
/// 70 for others.
template <class Run>
int exit_code_of(const Run& run, int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        fmt::print(stderr, "{}\n", render(error.text()));
        return static_cast<int>(error.code());
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return static_cast<int>(ExitCode::internal);
    }
}

}  // namespace sluice::bench
