#include "core/stage_error.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "core/text/program_name.hpp"

namespace sluice {
namespace {

std::exception_ptr disk_full() {
    return std::make_exception_ptr(Error(
        ExitCode::io_error, {.id = "E-IO-002", .where = "out.csv", .what = "No space left", .hint = "free some"}));
}

TEST(StageError, NamesStageChunkAndItems) {
    const StageError error(Stage::upload, {9, 63, 7}, disk_full());

    EXPECT_STREQ(error.what(), "upload of chunk 9 (items 63 to 69)");
    EXPECT_EQ(error.stage(), Stage::upload);
    EXPECT_EQ(error.chunk(), (Chunk{9, 63, 7}));
}

TEST(StageError, NamesTheChunksThatSharedTheWork) {
    const auto failure = std::make_exception_ptr(StageError(Stage::compute, {9, 63, 7}, disk_full(), {11, 13}));

    const Failure described = describe(failure, "");

    EXPECT_EQ(described.text.where, "compute of chunk 9 (items 63 to 69) or of chunk 11, 13, in flight with it");
    EXPECT_EQ(described.chunks, (std::vector<std::uint64_t>{9, 11, 13}));
}

TEST(Describe, KeepsTheCodeIdAndHintOfTheCause) {
    const auto failure = std::make_exception_ptr(StageError(Stage::write, {9, 63, 7}, disk_full()));

    const Failure described = describe(failure, "rank 3 on n07");

    EXPECT_EQ(described.code, ExitCode::io_error);
    EXPECT_EQ(described.text.id, "E-IO-002");
    EXPECT_EQ(described.text.where, "rank 3 on n07: write of chunk 9 (items 63 to 69)");
    EXPECT_EQ(described.text.what, "out.csv: No space left");
    EXPECT_EQ(described.text.hint, "free some");
}

TEST(Describe, FindsTheCauseBehindNestedStages) {
    const auto inner = std::make_exception_ptr(StageError(Stage::compute, {1, 10, 10}, disk_full()));
    const auto outer = std::make_exception_ptr(StageError(Stage::download, {1, 10, 10}, inner));

    const Failure described = describe(outer, "");

    EXPECT_EQ(described.code, ExitCode::io_error);
    EXPECT_EQ(described.text.where, "download of chunk 1 (items 10 to 19)");
    EXPECT_EQ(described.text.what, "compute of chunk 1 (items 10 to 19): out.csv: No space left");
}

TEST(Describe, PutsWhoBeforeAPlainErrorsPlace) {
    EXPECT_EQ(describe(disk_full(), "rank 1 on n01").text.where, "rank 1 on n01: out.csv");
    EXPECT_EQ(describe(disk_full(), "").text.where, "out.csv");
}

TEST(Describe, KnowsThatMemoryRanOut) {
    const Failure described = describe(std::make_exception_ptr(std::bad_alloc()), "rank 1 on n01");

    EXPECT_EQ(described.code, ExitCode::out_of_memory);
    EXPECT_EQ(described.text.where, "rank 1 on n01");
}

TEST(Describe, NamesTheTypeOfAnExceptionOfAnyOther) {
    const auto failure = std::make_exception_ptr(StageError(Stage::compute, {9, 63, 7}, std::make_exception_ptr(42)));

    const Failure described = describe(failure, "rank 1 on n01");

    EXPECT_EQ(described.code, ExitCode::internal);
    EXPECT_EQ(described.text.id, "E-RUN-001");
    EXPECT_EQ(described.text.where, "rank 1 on n01: compute of chunk 9 (items 63 to 69)");
    EXPECT_EQ(described.text.what, "internal error: an exception of type int, which is no std::exception");
    EXPECT_EQ(described.chunks, std::vector<std::uint64_t>{9});
}

TEST(Describe, TakesADefectForTheProgramsAppsToo) {
    const auto hint = [](const char* program) {
        name_program(program);
        return describe(std::make_exception_ptr(std::runtime_error("ill")), "").text.hint;
    };

    const std::string of_sluice = hint("/opt/bin/sluice");
    const std::string of_another = hint("build/my-app");
    name_program("");

    EXPECT_EQ(of_sluice, "this is a defect of sluice; please report it with the job file");
    EXPECT_EQ(of_another, "this is a defect of an app of my-app, or of sluice; please report it with the job file");
}

TEST(Describe, KnowsThatThereWasNoThreadButNoOtherSystemError) {
    const auto described = [](std::errc code) {
        return describe(std::make_exception_ptr(std::system_error(std::make_error_code(code))), "rank 1 on n01");
    };

    const Failure no_thread = described(std::errc::resource_unavailable_try_again);

    EXPECT_EQ(no_thread.code, ExitCode::out_of_memory);
    EXPECT_EQ(no_thread.text.id, "E-MEM-108");
    EXPECT_EQ(no_thread.text.where, "rank 1 on n01");
    EXPECT_EQ(described(std::errc::invalid_argument).code, ExitCode::internal);
}

TEST(Describe, CallsEverythingElseADefectAndEscapesIt) {
    const Failure described = describe(std::make_exception_ptr(std::runtime_error("a\nb")), "");

    EXPECT_EQ(described.code, ExitCode::internal);
    EXPECT_EQ(described.text.what, "internal error: a\\x0ab");
}

}  // namespace
}  // namespace sluice
