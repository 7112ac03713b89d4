#pragma once

#include <thread>

namespace sluice {

/// A thread that ends this process, with E-MPI-145 and exit code 76, when the parent process ends. For MPI_Init, where
/// Open MPI 4.1 waits forever for a killed launcher; later it notices by itself.
[[nodiscard]] std::jthread watch_parent();

}  // namespace sluice
