#include "core/commit/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Verify : public testing::TestWithParam<OutputLayout> {
protected:
    Verify() { run_to_the_end(run_, run_.options()); }

    [[nodiscard]] std::filesystem::path published(std::uint32_t part) const {
        return run_.paths().published_folder() / run_.paths().published_name(part);
    }

    RunFolder run_{FakeJob{.layout = GetParam()}};
};

TEST_P(Verify, FindsAllWellAfterARun) {
    const Verification verification = verify_output(run_.paths());

    EXPECT_THAT(verification.problems, IsEmpty());
    EXPECT_EQ(verification.parts, 3U);
    EXPECT_EQ(verification.items, 100U);
    std::uint64_t bytes = 0;
    for (const std::string& file : run_.published()) {
        bytes += file.size();
    }
    EXPECT_EQ(verification.bytes, bytes);
    require_intact(verification, run_.paths());
}

TEST_P(Verify, FindsEveryByteThatHasChanged) {
    const std::string text = contents_of(published(2));
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        write_contents(published(2), changed);
        EXPECT_EQ(verify_output(run_.paths()).problems.size(), 1U) << at;
    }
}

TEST_P(Verify, FindsWhatIsMissingOrTooMuch) {
    const std::string text = contents_of(published(2));
    write_contents(published(2), text + "x");
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(HasSubstr("bytes, expected")));
    write_contents(published(2), text.substr(0, text.size() - 1));
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(HasSubstr("ends before byte")));
    std::filesystem::remove(published(2));
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre(HasSubstr("missing")));

    EXPECT_EQ(code_of([&] { require_intact(verify_output(run_.paths()), run_.paths()); }), "84 E-CKP-088");
}

TEST_P(Verify, FindsAManifestOfAnotherJob) {
    const RunFolder other(FakeJob{.layout = GetParam(), .items = 50});
    run_to_the_end(other, other.options());
    std::filesystem::copy_file(other.paths().identity(), run_.paths().identity(),
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre("MANIFEST.json: of another job than job.json"));

    std::filesystem::remove(run_.paths().identity());
    EXPECT_THAT(verify_output(run_.paths()).problems, ElementsAre("job.json: missing"));
}

TEST_P(Verify, RefusesWhatIsNotFinished) {
    const RunFolder unfinished(FakeJob{.layout = GetParam()});
    const CommittedOutput run(unfinished.options());

    EXPECT_EQ(code_of([&] { static_cast<void>(verify_output(unfinished.paths())); }), "66 E-OUT-111");
}

INSTANTIATE_TEST_SUITE_P(Layouts, Verify, testing::Values(OutputLayout::file, OutputLayout::folder),
                         [](const auto& test) {
                             return std::string(test.param == OutputLayout::file ? "File" : "Folder");
                         });

}  // namespace
}  // namespace sluice::test
