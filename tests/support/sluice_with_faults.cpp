// sluice with its fault points at work.
#include "apps/registry.hpp"
#include "tests/support/fault_injection.hpp"
#include "tools/cli/main.hpp"

int main(int argc, char** argv) {
    sluice::install_faults();
    return sluice::main(argc, argv, sluice::standard_apps());
}
