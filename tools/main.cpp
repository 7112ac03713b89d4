#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/launch.hpp"
#include "tools/command_line.hpp"

namespace {

/// Opens /dev/null in place of a standard stream that is closed, so that no file of ours takes its number and gets what
/// was meant for a terminal.
void keep_standard_streams() {
    for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
        if (fd > STDERR_FILENO) {
            ::close(fd);
            return;
        }
    }
}

int fail(sluice::ExitCode code, const sluice::ErrorText& text) {
    if (sluice::read_launch().number ==
        0) {  // every rank fails alike before the ranks know each other: one of them says it
        const std::string lines = sluice::render(text) + "\n";
        std::fwrite(lines.data(), 1, lines.size(), stderr);
    }
    return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
    keep_standard_streams();
    ::signal(SIGPIPE, SIG_IGN);  // a reader that goes away does not change what the job is worth
    ::signal(SIGXFSZ, SIG_IGN);  // a file over its size limit is an error of that write, with a message
    try {
        const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
        return sluice::run_command_line(arguments);
    } catch (const sluice::Error& error) {
        return fail(error.code(), error.text());
    } catch (const std::bad_alloc&) {
        return fail(sluice::ExitCode::out_of_memory,
                    {"E-MEM-068", {}, "out of memory", "lower pipeline.chunk_items or pipeline.depth"});
    } catch (const std::exception& error) {
        return fail(
            sluice::ExitCode::internal,
            {"E-RUN-001", {}, fmt::format("internal error: {}; please report", sluice::escaped(error.what())), {}});
    } catch (...) {
        return fail(sluice::ExitCode::internal,
                    {"E-RUN-001", {}, "internal error: an unknown exception; please report", {}});
    }
}
