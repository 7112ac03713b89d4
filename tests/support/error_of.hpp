#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace sluice::test {

/// What `action` throws; without an Error the test fails.
template <class Action>
[[nodiscard]] Error error_of(Action&& action) {
    try {
        static_cast<void>(action());
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {ExitCode::internal, {}};
}

/// Id and text of the bad data that `action` refuses; "none".
template <class Action>
[[nodiscard]] std::string bad_data_of(Action&& action) {
    try {
        static_cast<void>(action());
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::bad_data);
        return error.text().id + " " + error.text().what;
    }
    return "none";
}

}  // namespace sluice::test
