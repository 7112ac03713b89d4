#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "core/stage_error.hpp"
#include "tests/support/mpi_job.hpp"

// A driver of rank 2 fails in the model. Rank 0 has to hear which stage and chunk it was, print it, and end all ranks,
// as the program itself does. What is printed makes the test pass (tests/comm/CMakeLists.txt).

namespace {

using namespace sluice;

void fail(std::span<const std::byte>) {
    throw std::runtime_error("the model is sick");
}

[[noreturn]] void report_and_wait(MpiSession& session) {
    const Failure failure = describe(std::current_exception(), fmt::format("rank {}", session.rank()));
    if (!MpiWorker::report_failure(session, render(failure.text), std::chrono::seconds(30))) {
        session.abort(ExitCode::communication);
    }
    for (;;) {
        pause();  // rank 0 ends this process
    }
}

[[noreturn]] void print_and_end(MpiSession& session) {
    try {
        throw;
    } catch (const RemoteFailure& failure) {
        fmt::print("rank 0 heard of rank {}: {}\n", failure.rank(), failure.what());
    } catch (const std::exception& error) {
        fmt::print("rank 0 met something else: {}\n", error.what());
    }
    std::fflush(stdout);
    session.abort(ExitCode::internal);
}

}  // namespace

int main() {
    MpiSession session;
    test::MpiJob job{.items = 100'000, .distribution = Distribution::fixed, .driver = {.chunk_items = 10}};
    if (session.rank() == 2) {
        job.driver.on_chunk = &fail;
    }
    if (session.rank() == 0) {
        static_cast<void>(test::run_root(session, job, [&] { print_and_end(session); }));
    } else {
        test::run_worker(session, job, [&] { report_and_wait(session); });
    }
    fmt::print("rank {} did not hear of the failure\n", session.rank());
    return 1;
}
