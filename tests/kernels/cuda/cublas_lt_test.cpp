#include "kernels/cuda/classifier/cublas_lt.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(CublasLtLibrary, IsLoadedAtItsFirstUse) {
    const CublasLt& library = cublas_lt();

    EXPECT_STRNE(library.status_text(CUBLAS_STATUS_NOT_SUPPORTED), library.status_text(CUBLAS_STATUS_SUCCESS));
    EXPECT_EQ(&library, &cublas_lt());
}

}  // namespace
}  // namespace sluice
