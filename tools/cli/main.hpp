#pragma once

#include "core/app.hpp"

namespace sluice {

/// The program `sluice` with these apps: a main function has nothing else to do than to return this. Takes over the
/// process: signals, standard streams, threads. Returns the exit code; prints what fails.
[[nodiscard]] int main(int argc, char** argv, const Apps& apps);

}  // namespace sluice
