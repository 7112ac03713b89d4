#include "comm/wire.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "comm/mpi_session.hpp"

namespace sluice {

void check_tags(std::uint64_t devices, std::uint64_t depth, std::uint64_t limit) {
    if (devices * depth != 0 && tags::largest(devices, depth) > limit) {
        throw Error(
            ExitCode::configuration,
            {.id = "E-MPI-109",
             .where = "pipeline.depth",
             .what = fmt::format("{} devices per rank with {} chunks in flight each need message tags up to {}, "
                                 "this MPI has tags up to {}",
                                 devices, depth, tags::largest(devices, depth), limit),
             .hint = "lower pipeline.depth or run.devices"});
    }
}

std::uint64_t read_largest_tag() {
    const int* largest = nullptr;
    int found = 0;
    check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found), "MPI_Comm_get_attr");
    expects(found != 0, "MPI tells its largest tag");
    return static_cast<std::uint64_t>(*largest);
}

}  // namespace sluice
