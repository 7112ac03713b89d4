#pragma once

#include "core/app.hpp"

namespace sluice {

/// The program `sluice` with these apps; main() only has to return its result. Takes over the process: signals,
/// standard streams, threads. Returns the exit code; prints errors.
[[nodiscard]] int main(int argc, char** argv, const Apps& apps);

}  // namespace sluice
