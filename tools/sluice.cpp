#include "apps/registry.hpp"
#include "tools/cli/main.hpp"

int main(int argc, char** argv) {
    return sluice::main(argc, argv, sluice::standard_apps());
}
