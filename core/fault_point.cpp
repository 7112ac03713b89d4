#include "core/fault_point.hpp"

#include <cstdlib>

#include "core/error.hpp"

namespace sluice {

void take_fault_variable(int rank) {
    static_cast<void>(rank);
    if (std::getenv("SLUICE_FAULT") != nullptr) {
        throw Error(ExitCode::usage, {.id = "E-USE-097",
                                      .where = "SLUICE_FAULT",
                                      .what = "is set, but this build has no fault points",
                                      .hint = "unset it, or build with -D SLUICE_FAULTS=ON"});
    }
}

}  // namespace sluice
