#include "core/commit/run_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commit/json_text.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunIdentity example() {
    return {.items = 1000,
            .chunk_items = 64,
            .chunks_per_part = 5,
            .layout = OutputLayout::folder,
            .settings = {{"app", "classifier"}, {"input.path", "a\nb\xFF\"ö"}, {"run.precision", "fp32"}}};
}

std::string decoding(const std::string& text) {
    return code_of([&] { static_cast<void>(decode_run_identity(text, "job.json")); });
}

TEST(RunIdentity, ReadsBackAsItWasWritten) {
    const RunIdentity read = decode_run_identity(encode(example()), "job.json");

    EXPECT_THAT(differences(example(), read), IsEmpty());
    EXPECT_EQ(fingerprint(read), fingerprint(example()));
    EXPECT_EQ(read.plan().parts(), 4U);
}

TEST(RunIdentity, NamesWhatDiffers) {
    RunIdentity other = example();
    other.items = 999;
    other.settings[0].second = "minimal";
    other.settings[2].first = "run.mode";

    EXPECT_THAT(differences(example(), other),
                ElementsAre("app (was 'classifier', is 'minimal')", "items (was '1000', is '999')",
                            "run.precision (was 'fp32', is not set)", "run.mode (was not set, is 'fp32')"));
    EXPECT_NE(fingerprint(other), fingerprint(example()));
}

TEST(RunIdentity, NamesTheSizeOfPartsOnlyWhereNothingElseDiffers) {
    RunIdentity other = example();
    other.chunks_per_part = 6;
    EXPECT_THAT(differences(example(), other), ElementsAre("chunks_per_part (was '5', is '6')"));

    other.items = 999;
    EXPECT_THAT(differences(example(), other), ElementsAre("items (was '1000', is '999')"));
}

TEST(RunIdentity, NamesTheGpuAndTheInstructionsOnlyWhereTheKindOfDeviceIsTheSame) {
    RunIdentity on_host = example();
    on_host.settings.insert(on_host.settings.end(), {{"run.device", "host"}, {"run.instructions", "avx2"}});
    RunIdentity on_gpu = example();
    on_gpu.settings.insert(on_gpu.settings.end(), {{"run.device", "cuda"}, {"run.gpu", "a GPU"}});

    EXPECT_THAT(differences(on_gpu, on_host), ElementsAre("run.device (was 'cuda', is 'host')"));
    EXPECT_THAT(differences(on_host, on_gpu), ElementsAre("run.device (was 'host', is 'cuda')"));
    RunIdentity on_another = on_gpu;
    on_another.settings.back().second = "another GPU";
    EXPECT_THAT(differences(on_gpu, on_another), ElementsAre("run.gpu (was 'a GPU', is 'another GPU')"));
}

RunIdentity of_files(const std::string& input, const std::string& digests, std::vector<std::filesystem::path> files) {
    RunIdentity identity = example();
    identity.settings.emplace_back("input", input);
    identity.settings.emplace_back(input_digests, digests);
    identity.input_files = std::move(files);
    return identity;
}

TEST(RunIdentity, NamesTheFirstFileThatDiffers) {
    const RunIdentity was = of_files("2 files", "0123456789abcdef", {"a", "b"});

    EXPECT_THAT(
        differences(was, of_files("2 files, other", "0123456789abcdee", {"in/c", "in/d\n"})),
        ElementsAre("input file 2, 'in/d\\x0a' (has other content)", "input (was '2 files', is '2 files, other')"));
    EXPECT_THAT(differences(was, of_files("3 files", "0123456789abcdef01234567", {"a", "b", "c"})),
                ElementsAre("input file 3, 'c' (was not there)", "input (was '2 files', is '3 files')"));
    EXPECT_THAT(differences(of_files("3 files", "0123456789abcdef01234567", {"a", "b", "c"}), was),
                ElementsAre("input file 3 (was there, is missing)", "input (was '3 files', is '2 files')"));
    EXPECT_THAT(differences(was, decode_run_identity(encode(was), "job.json")), IsEmpty());
}

TEST(RunIdentity, TellsAFileThatCameOrWentFromOneThatHasChanged) {
    const auto first_difference = [](const std::string& was, const std::string& is) {
        return differences(of_files("some files", was, {}), of_files("other files", is, {"a", "b", "c", "d"})).front();
    };
    const std::string a = "aaaaaaa0";
    const std::string b = "aaaaaaa1";
    const std::string c = "aaaaaaa2";

    EXPECT_EQ(first_difference(a + b + c, b + c), "input file 1, 'a' (was file 2)");
    EXPECT_EQ(first_difference(a + b + c, a + c + b), "input file 2, 'b' (was file 3)");
    EXPECT_EQ(first_difference(a + c, a + b + c), "input file 2, 'b' (was not there)");
    EXPECT_EQ(first_difference(a + b, a + a), "input file 2, 'b' (has other content)");
    EXPECT_EQ(first_difference(a + b, a + c + c), "input file 2, 'b' (has other content)");
}

TEST(RunIdentity, LeavesOutDigestsWhereThereIsASingleFile) {
    RunIdentity one = example();
    one.settings.emplace_back("input", "1 file");

    EXPECT_THAT(differences(of_files("2 files", "0123456789abcdef", {"a", "b"}), one),
                ElementsAre("input (was '2 files', is '1 file')"));
    EXPECT_NE(fingerprint(one), fingerprint(of_files("1 file", "", {})));
}

TEST(RunIdentity, DoesNotDependOnTheOrderOfItsSettings) {
    RunIdentity other = example();
    std::swap(other.settings[0], other.settings[2]);

    EXPECT_EQ(fingerprint(other), fingerprint(example()));
    EXPECT_THAT(differences(example(), other), IsEmpty());
}

TEST(RunIdentity, IsRefusedWhenAnyByteHasChangedOrIsMissing) {
    std::string text = encode(example());
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (const int mask : {0x01, 0x04, 0x20, 0xFF}) {
            text[at] = static_cast<char>(text[at] ^ mask);
            EXPECT_EQ(decoding(text), "84 E-CKP-085") << at;
            text[at] = static_cast<char>(text[at] ^ mask);
        }
        EXPECT_EQ(decoding(text.substr(0, at)), "84 E-CKP-085") << at;
    }
    EXPECT_EQ(decoding(text + "\n"), "84 E-CKP-085");
    EXPECT_EQ(decoding("[]"), "84 E-CKP-085");
    EXPECT_EQ(decoding(sealed_text({{"format", "something else"}})), "84 E-CKP-085");
    EXPECT_EQ(decoding(text), "none");
}

TEST(RunIdentity, OfAnotherVersionIsSaidToBe) {
    for (const Json& version : {Json(2), Json(0), Json(-1), Json("1"), Json()}) {
        EXPECT_EQ(decoding(sealed_text({{"format", "sluice run"}, {"version", version}})), "78 E-CKP-089") << version;
    }
}

class EstablishRunIdentity : public testing::Test {
protected:
    EstablishRunIdentity() { std::filesystem::create_directories(paths_.run_folder()); }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "out.csv", ".csv");
};

TEST_F(EstablishRunIdentity, FixesTheFirstOneForGood) {
    RunIdentity other = example();
    other.chunk_items = 32;
    EXPECT_FALSE(read_run_identity(paths_));

    establish_run_identity(paths_, example());
    const std::string text = contents(paths_.identity());
    establish_run_identity(paths_, example());

    EXPECT_EQ(code_of([&] { establish_run_identity(paths_, other); }), "78 E-CKP-090");
    EXPECT_EQ(contents(paths_.identity()), text);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths_.run_folder()), {}), 1);
}

TEST_F(EstablishRunIdentity, SaysWhatDiffers) {
    RunIdentity other = example();
    other.chunk_items = 32;
    establish_run_identity(paths_, example());

    const Error error = error_of([&] { establish_run_identity(paths_, other); });

    EXPECT_THAT(error.text().what, HasSubstr("chunk_items (was '64', is '32')"));
}

}  // namespace
}  // namespace sluice::test
