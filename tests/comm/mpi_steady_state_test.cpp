#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <memory>

#include "tests/support/marking_device.hpp"
#include "tests/support/mpi_job.hpp"
#include "tests/support/mpi_main.hpp"
#include "tests/support/thread_audit.hpp"

using sluice::test::RoleScope;
using sluice::test::ThreadRole;

// The calls of the steady state, so that what the MPI library allocates and locks counts for itself.

extern "C" int MPI_Testsome(int count, MPI_Request requests[], int* finished, int indices[], MPI_Status statuses[]) {
    const RoleScope inside(ThreadRole::library);
    return PMPI_Testsome(count, requests, finished, indices, statuses);
}

extern "C" int MPI_Test(MPI_Request* request, int* finished, MPI_Status* status) {
    const RoleScope inside(ThreadRole::library);
    return PMPI_Test(request, finished, status);
}

extern "C" int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
    const RoleScope inside(ThreadRole::library);
    return PMPI_Isend(from, count, type, to, tag, comm, request);
}

extern "C" int MPI_Issend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                          MPI_Request* request) {
    const RoleScope inside(ThreadRole::library);
    return PMPI_Issend(from, count, type, to, tag, comm, request);
}

extern "C" int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         MPI_Request* request) {
    const RoleScope inside(ThreadRole::library);
    return PMPI_Irecv(to, count, type, from, tag, comm, request);
}

namespace sluice {
namespace {

using test::audited;
using test::become;
using test::session;

constexpr std::uint64_t chunks = 3000;  // 500 a device
constexpr std::uint64_t first_audited = 100;
constexpr std::uint64_t first_not_audited = 400;
std::atomic<std::uint64_t> chunks_here{0};

void switch_audit(std::span<const std::byte>) {
    const std::uint64_t chunk = chunks_here.fetch_add(1);
    if (chunk == first_audited) {
        test::start_audit();
    } else if (chunk == first_not_audited) {
        test::stop_audit();
    }
}

void expect_idle(ThreadRole role, const char* name) {
    EXPECT_EQ(audited(role).allocations, 0U) << name;
    EXPECT_EQ(audited(role).locks, 0U) << name;
}

class MpiSteadyState : public testing::TestWithParam<bool> {};

TEST_P(MpiSteadyState, NeitherAllocatesNorLocksOnAnyRankOutsideOfTheMpiLibrary) {
    constexpr std::uint32_t chunk_items = 5;
    chunks_here = 0;

    become(ThreadRole::comm);
    const auto results =
        test::run_on_all_ranks(session(), {.items = chunks * chunk_items,
                                           .distribution = Distribution::fixed,
                                           .shares = GetParam(),
                                           .driver = {.chunk_items = chunk_items,
                                                      .on_chunk = &switch_audit,
                                                      .on_thread = [] { become(ThreadRole::driver); },
                                                      .make_device = [](std::uint32_t) -> std::unique_ptr<Device> {
                                                          return std::make_unique<test::MarkingDevice>();
                                                      }}});
    become(ThreadRole::other);

    EXPECT_GT(chunks_here.load(), first_not_audited) << "the audit was switched on and off";
    expect_idle(ThreadRole::driver, "drivers");
    expect_idle(ThreadRole::comm, "comm thread");
    expect_idle(ThreadRole::stream, "streams' workers");
    const auto library = audited(ThreadRole::library);
    for (const std::string& line : session().gather(
             fmt::format("rank {}: the MPI library allocated or freed {} times and locked {} times in {} chunks",
                         session().rank(), library.allocations, library.locks, first_not_audited - first_audited))) {
        fmt::print("{}\n", line);
    }
    if (session().rank() == 0) {
        EXPECT_EQ(results, test::expected_results(chunks * chunk_items));
    }
}

INSTANTIATE_TEST_SUITE_P(Items, MpiSteadyState, testing::Bool(),
                         [](const auto& shares) { return shares.param ? "Shared" : "Sent"; });

}  // namespace
}  // namespace sluice
