#pragma once

#include "comm/mpi_session.hpp"

namespace sluice::test {

/// The session of the program, made by the main function in mpi_main.cpp. Every rank runs the same tests, in the same
/// order; the program fails if a test fails on any rank.
[[nodiscard]] MpiSession& session();

}  // namespace sluice::test
