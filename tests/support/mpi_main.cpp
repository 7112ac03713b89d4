#include "tests/support/mpi_main.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace sluice::test {
namespace {

MpiSession* the_session = nullptr;

/// What ranks other than 0 say: only their failures.
class FailuresOnly final : public testing::EmptyTestEventListener {
public:
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed()) {
            fmt::print(stderr, "rank {}: {}:{}: {}\n", session().rank(),
                       result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(),
                       result.message());
        }
    }
};

}  // namespace

MpiSession& session() {
    return *the_session;
}

}  // namespace sluice::test

int main(int argc, char** argv) {
    sluice::MpiSession session;
    sluice::test::the_session = &session;
    testing::InitGoogleTest(&argc, argv);
    if (session.rank() != 0) {
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new sluice::test::FailuresOnly);
    }
    const std::vector<int> results = session.all_gather(RUN_ALL_TESTS());
    return *std::max_element(results.begin(), results.end());
}
