#include "tools/runtime/compute_peak.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/clock.hpp"
#include "core/device/cuda.hpp"
#include "core/device/host_device.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

double never() {
    throw ContractViolation("what is kept needs no measurement");
}

TEST(ComputePeak, IsThatOfARealProduct) {
    constexpr double flop_of_product = 2.0 * 256 * 1024 * 1024;  // the smallest that fills a core
    HostDevice device;
    const Instant begin = Clock::now();
    const double peak = measure_peak(device, DeviceKind::host, Precision::fp32);
    const double whole = Seconds(Clock::now() - begin).count();

    EXPECT_GT(peak * whole, 2 * flop_of_product) << "several were computed, of which it takes the quickest";
    EXPECT_LT(peak, 1e13) << "no core is that fast";
}

TEST(ComputePeak, IsMeasuredOnceAfterALongRun) {
    const TemporaryFolder folder;
    PeakSearch search{.file = folder.path() / "sluice" / "costs.json", .key = "host | a", .measure = never};
    Roofline roofline;
    set_peak(roofline, search);
    EXPECT_EQ(roofline.peak, std::nullopt);
    EXPECT_NE(roofline.note, "");

    search.may_measure = true;
    search.measure = [] { return 5e10; };
    roofline = {};
    set_peak(roofline, search);
    EXPECT_EQ(roofline.peak, 5e10);
    EXPECT_EQ(roofline.note, "");

    search.measure = never;
    roofline = {};
    set_peak(roofline, search);
    EXPECT_EQ(roofline.peak, 5e10);

    search.key = "host | b";
    EXPECT_THROW(set_peak(roofline, search), ContractViolation);
}

TEST(ComputePeak, IsSharedAmongTheProductsOfOne) {
    const TemporaryFolder folder;
    PeakSearch search{
        .file = folder.path() / "costs.json", .key = "gpu | fp16", .products = 3, .may_measure = true, .measure = [] {
            return 6e14;
        }};
    Roofline measured;
    set_peak(measured, search);
    Roofline kept;
    set_peak(kept, search);
    search.products = 1;
    search.measure = never;
    Roofline of_fp16;
    set_peak(of_fp16, search);

    EXPECT_EQ(measured.peak, 2e14);
    EXPECT_EQ(kept.peak, 2e14);
    EXPECT_EQ(of_fp16.peak, 6e14) << "runs whose products are of one precision share its measurement";
}

TEST(ComputePeak, OfAGpuIsThatOfARealProduct) {
    if (cuda_device_count() == 0) {
        GTEST_SKIP() << "no GPU: " << why_no_cuda();
    }
    const auto device = make_cuda_device(0);
    const double fp32 = measure_peak(*device, DeviceKind::cuda, Precision::fp32);
    const double fp16 = measure_peak(*device, DeviceKind::cuda, Precision::fp16);

    EXPECT_GT(fp32, 1e12);
    EXPECT_GT(fp16, 2 * fp32);
    EXPECT_LT(fp16, 1e16);
}

TEST(ComputePeak, SaysWhyItCouldNotBeMeasured) {
    const TemporaryFolder folder;
    Roofline roofline;

    set_peak(roofline,
             {.file = folder.path() / "costs.json", .key = "a", .may_measure = true, .measure = []() -> double {
                  throw Error(ExitCode::out_of_memory, {.what = "got no memory"});
              }});

    EXPECT_EQ(roofline.peak, std::nullopt);
    EXPECT_THAT(roofline.note, testing::HasSubstr("got no memory"));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "costs.json"));
}

TEST(ComputePeak, NeedsNoCache) {
    Roofline roofline;

    set_peak(roofline, {.may_measure = true, .measure = [] { return 7e10; }});

    EXPECT_EQ(roofline.peak, 7e10);
}

}  // namespace
}  // namespace sluice
