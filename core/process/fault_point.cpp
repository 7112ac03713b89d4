#include "core/process/fault_point.hpp"

#include <cstdlib>

#include "core/error.hpp"

namespace sluice {

void take_fault_variable(int rank) {
    const char* const text = std::getenv("SLUICE_FAULT");
    if (text == nullptr) {
        return;
    }
    if (!has_fault_hooks()) {
        throw Error(ExitCode::usage, {.id = "E-USE-097",
                                      .where = "SLUICE_FAULT",
                                      .what = "is set, but this program obeys no faults",
                                      .hint = "unset it, or run sluice_with_faults, which is built with the tests"});
    }
    fault_hooks.load()->take_variable(text, rank);
}

}  // namespace sluice
