#include "core/process/fault_point.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

TEST(FaultPoint, VariableIsRefusedWithoutHooks) {
    ASSERT_EQ(::setenv("SLUICE_FAULT", "seal=kill", 1), 0);

    const Error error = test::error_of([&] { take_fault_variable(0); });

    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(error.text().id, "E-USE-097");
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);
    EXPECT_NO_THROW(take_fault_variable(0));
}

}  // namespace
}  // namespace sluice
