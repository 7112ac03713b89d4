#include "core/input/tensor_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "core/error.hpp"
#include "core/input/weights_file.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

const std::vector<TensorSpec> specs{{"weight", {2, 3}}, {"bias", {2}}, {"scalar", {}}, {"nothing", {0, 5}}};
const std::vector<float> values{1, 2, 3, 4, 5, 6, -7, 8, 0.5F};

class TensorFile : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_.path() / name; }

    static Error caught(const std::function<void()>& action) {
        try {
            action();
        } catch (const Error& error) {
            return error;
        }
        throw std::runtime_error("nothing was refused");
    }

    TemporaryFolder folder_;
    std::vector<float> read_ = std::vector<float>(values.size(), -1.0F);
};

TEST_F(TensorFile, ComesBackAsItWasWritten) {
    test::write_safetensors(file("a.safetensors"), specs, values);

    read_safetensors(file("a.safetensors"), specs, read_);

    EXPECT_EQ(read_, values);
}

TEST_F(TensorFile, IsReadInTheOrderThatIsWanted) {
    test::write_safetensors(file("a.safetensors"), specs, values);
    const std::vector<TensorSpec> other{specs[2], specs[3], specs[1], specs[0]};

    read_safetensors(file("a.safetensors"), other, read_);

    EXPECT_EQ(read_, (std::vector<float>{0.5F, -7, 8, 1, 2, 3, 4, 5, 6}));
}

TEST_F(TensorFile, IsRecognisedByExtensionHeaderOrElseRaw) {
    test::write_safetensors(file("a.safetensors"), specs, values);
    test::write_safetensors(file("b.model"), specs, values);
    std::ofstream(file("c.bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));

    for (const char* name : {"a.safetensors", "b.model", "c.bin"}) {
        read_.assign(values.size(), -1.0F);
        read_tensors(file(name), specs, read_);
        EXPECT_EQ(read_, values) << name;
    }
}

TEST_F(TensorFile, StartsItsDataAtAMultipleOfEight) {
    test::write_safetensors(file("a.safetensors"), specs, values);

    std::uint64_t length = 0;
    std::ifstream(file("a.safetensors"), std::ios::binary).read(reinterpret_cast<char*>(&length), sizeof(length));

    EXPECT_EQ(length % 8, 0U);
}

TEST_F(TensorFile, ThatIsMissingOrNoFileIsNoInput) {
    ::mkfifo(file("fifo").c_str(), 0600);

    for (const char* name : {"missing", "fifo", "."}) {
        const Error error = caught([&] { read_tensors(file(name), specs, read_); });
        EXPECT_EQ(error.code(), ExitCode::no_input) << name;
        EXPECT_EQ(error.text().id, "E-MOD-036") << name;
    }
}

TEST_F(TensorFile, WithANumberThatIsNotFiniteIsANumericError) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        auto poisoned = values;
        poisoned[7] = bad;
        test::write_safetensors(file("a.safetensors"), specs, poisoned);

        const Error error = caught([&] { read_tensors(file("a.safetensors"), specs, read_); });

        EXPECT_EQ(error.code(), ExitCode::numeric);
        EXPECT_EQ(error.text().id, "E-NUM-051");
        EXPECT_NE(error.text().what.find("tensor 'bias': element 1"), std::string::npos) << error.text().what;
    }
}

TEST_F(TensorFile, RawHasExactlyTheExpectedSize) {
    for (const std::size_t bytes : {0U, 35U, 37U, 40U}) {
        std::ofstream(file("a.bin"), std::ios::binary | std::ios::trunc) << std::string(bytes, '\1');

        const Error error = caught([&] { read_raw_f32(file("a.bin"), specs, read_); });

        EXPECT_EQ(error.code(), ExitCode::bad_data);
        EXPECT_EQ(error.text().id, "E-MOD-048");
        EXPECT_EQ(error.text().what, "got " + std::to_string(bytes) + " bytes, expected 36");
    }
}

TEST_F(TensorFile, ThatIsSwappedAfterItWasReadIsToldByItsContent) {
    test::write_safetensors(file("a.safetensors"), specs, values);
    std::filesystem::copy_file(file("a.safetensors"), file("copy"));
    std::vector<float> others = values;
    others.front() = 9;
    test::write_safetensors(file("other"), specs, others);
    std::filesystem::last_write_time(file("other"), std::filesystem::last_write_time(file("a.safetensors")));
    const WeightsFile opened(file("a.safetensors"));

    std::filesystem::rename(file("copy"), file("a.safetensors"));
    EXPECT_NO_THROW(opened.check_content());

    std::filesystem::rename(file("other"), file("a.safetensors"));
    const Error error = caught([&] { opened.check_content(); });
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().id, "E-MOD-054");
    EXPECT_NO_THROW(opened.check_unchanged());  // what was read is what it was
}

TEST_F(TensorFile, WhoseTimeWasSetBackAfterARewriteHasChanged) {
    test::write_safetensors(file("a.safetensors"), specs, values);
    const auto time = std::filesystem::last_write_time(file("a.safetensors"));
    const WeightsFile opened(file("a.safetensors"));
    std::vector<float> others = values;
    others.front() = 9;

    test::write_safetensors(file("a.safetensors"), specs, others);
    std::filesystem::last_write_time(file("a.safetensors"), time);

    EXPECT_EQ(caught([&] { opened.check_unchanged(); }).text().id, "E-MOD-053");
}

TEST_F(TensorFile, NeedsRoomOfTheRightSize) {
    std::vector<float> small(8);

    EXPECT_THROW(read_tensors(file("a"), specs, small), Error);  // the missing file comes first
    test::write_safetensors(file("a"), specs, values);
    EXPECT_THROW(read_tensors(file("a"), specs, small), ContractViolation);
}

}  // namespace
}  // namespace sluice
