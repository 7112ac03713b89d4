#include "core/weights/tensor_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "core/error.hpp"
#include "core/input/half.hpp"
#include "core/input/number_type.hpp"
#include "core/weights/weight_values.hpp"
#include "core/weights/weights_file.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/without_descriptors.hpp"

namespace sluice {
namespace {

const std::vector<TensorSpec> specs{{"weight", {2, 3}}, {"bias", {2}}, {"scalar", {}}, {"nothing", {0, 5}}};
const std::vector<float> values{1, 2, 3, 4, 5, 6, -7, 8, 0.5F};

class TensorFile : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_.path() / name; }

    TemporaryFolder folder_;
    std::vector<float> read_ = std::vector<float>(values.size(), -1.0F);
};

TEST_F(TensorFile, ComesBackAsItWasWritten) {
    test::write_safetensors(file("a.safetensors"), specs, values);

    read_tensors(file("a.safetensors"), specs, read_);

    EXPECT_EQ(read_, values);
}

TEST_F(TensorFile, IsReadInTheOrderThatIsWanted) {
    test::write_safetensors(file("a.safetensors"), specs, values);
    const std::vector<TensorSpec> other{specs[2], specs[3], specs[1], specs[0]};

    read_tensors(file("a.safetensors"), other, read_);

    EXPECT_EQ(read_, (std::vector<float>{0.5F, -7, 8, 1, 2, 3, 4, 5, 6}));
}

TEST_F(TensorFile, MayHaveAHeaderWhoseLengthBeginsAsAPickleDoes) {
    const auto write_with = [&](std::size_t padding) {
        test::write_safetensors(file("a.safetensors"), specs, values, {{"padding", std::string(padding, 'x')}});
        return std::filesystem::file_size(file("a.safetensors")) - sizeof(std::uint64_t) -
               values.size() * sizeof(float);
    };
    const std::size_t least = write_with(0);
    for (const std::size_t length : {0x0280U, 0x0380U, 0x0480U, 0x0580U}) {  // little endian: 80 02, …
        ASSERT_EQ(write_with(length - least), length);

        read_tensors(file("a.safetensors"), specs, read_);

        EXPECT_EQ(read_, values) << length;
        std::ranges::fill(read_, -1.0F);
    }
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

TEST_F(TensorFile, IsRawWhereZerosStandBeforeABraceThatIsAWeight) {
    const std::vector<float> sparse{0, 0, std::bit_cast<float>(0x3F80007BU), 4, 5, 6, -7, 8, 0.5F};  // 7B is '{'
    std::ofstream(file("a.bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(sparse.data()), static_cast<std::streamsize>(sparse.size() * 4));

    read_tensors(file("a.bin"), specs, read_);

    EXPECT_EQ(read_, sparse);
}

/// A safetensors file with this header and data.
void write_with_header(const std::filesystem::path& path, const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << data;
}

TEST_F(TensorFile, ShowsWhatItHoldsBeforeItIsRead) {
    write_with_header(
        file("a"),
        R"({"__metadata__":{"labels":"a,b","empty":""},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})"
        R"(,"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})",
        std::string(8, '\0'));

    const TensorReader reader(file("a"));

    ASSERT_FALSE(reader.is_headerless());
    ASSERT_EQ(reader.tensors().size(), 2U);
    EXPECT_EQ(reader.tensors().front().name, "a");
    ASSERT_NE(reader.find("a"), nullptr);
    EXPECT_EQ(reader.find("a")->shape, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(reader.find("c"), nullptr);
    ASSERT_NE(reader.metadata("labels"), nullptr);
    EXPECT_EQ(*reader.metadata("labels"), "a,b");
    ASSERT_NE(reader.metadata("empty"), nullptr);
    EXPECT_EQ(*reader.metadata("empty"), "");
    EXPECT_EQ(reader.metadata("other"), nullptr);
}

TEST_F(TensorFile, WithoutAHeaderShowsNothing) {
    std::ofstream(file("a.bin"), std::ios::binary) << std::string(36, '\0');

    const TensorReader reader(file("a.bin"));

    EXPECT_TRUE(reader.is_headerless());
    EXPECT_TRUE(reader.tensors().empty());
    EXPECT_EQ(reader.find("a"), nullptr);
    EXPECT_EQ(reader.metadata("labels"), nullptr);
}

TEST_F(TensorFile, WidensHalvesAndTruncatedFloatsExactly) {
    const std::vector<TensorSpec> wanted{{"half", {4}}, {"brain", {2}}, {"whole", {1}}};
    const std::vector<std::uint16_t> words{0x3C00, 0xC000, 0x0001, 0x7BFF, 0x3F80, 0xC040};
    const std::string data(reinterpret_cast<const char*>(words.data()), words.size() * 2);
    write_with_header(file("a"),
                      R"({"half":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
                      R"("brain":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
                      R"("whole":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
                      data + std::string("\0\0\x80\x3F", 4));
    std::vector<float> read(7);

    read_tensors(file("a"), wanted, read);

    EXPECT_EQ(read, (std::vector<float>{1, -2, 0x1p-24F, 65504, 1, -3, 1}));
}

TEST_F(TensorFile, WithAHalfThatIsNotFiniteIsANumericError) {
    for (const char* bad : {"\x00\x7C", "\x00\xFC", "\x01\x7E"}) {
        write_with_header(file("a"), R"({"x":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})",
                          std::string(2, '\0') + std::string(bad, 2));
        std::vector<float> read(2);

        const Error error = test::error_of([&] { read_tensors(file("a"), std::vector<TensorSpec>{{"x", {2}}}, read); });

        EXPECT_EQ(error.text().id, "E-NUM-051");
        EXPECT_NE(error.text().what.find("element 1"), std::string::npos) << error.text().what;
    }
}

/// Several threads read it by pieces, of which the last is short: each value is where it belongs, and of several that
/// are no numbers the first is named.
TEST_F(TensorFile, ThatIsLargeIsReadWholeAndItsFirstBadNumberNamed) {
    constexpr std::size_t count = 3'000'017;
    std::vector<std::uint16_t> halves(count);
    for (std::size_t i = 0; i < count; ++i) {
        halves[i] = static_cast<std::uint16_t>(i * 40503U) & 0xBBFFU;  // finite
    }
    const auto write = [&] {
        write_with_header(file("a"), R"({"x":{"dtype":"F16","shape":[3000017],"data_offsets":[0,6000034]}})",
                          {reinterpret_cast<const char*>(halves.data()), 2 * count});
    };
    const std::vector<TensorSpec> wanted{{"x", {count}}};
    std::vector<float> read(count, std::numeric_limits<float>::quiet_NaN());
    write();

    read_tensors(file("a"), wanted, read);

    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(read[i], float_of_half(halves[i])) << i;
    }
    for (const std::size_t bad : {count - 1, count - 2, std::size_t{2'000'001}, std::size_t{1'234'567}}) {
        halves[bad] = 0x7C00;
        write();
        for (int repeat = 0; repeat < 20; ++repeat) {
            const Error error = test::error_of([&] { read_tensors(file("a"), wanted, read); });
            ASSERT_NE(error.text().what.find("element " + std::to_string(bad) + " is inf"), std::string::npos)
                << error.text().what;
        }
    }
}

/// Every half, against what its definition says: sign, five bits of exponent, ten of fraction.
TEST(FloatType, WidensEveryHalf) {
    std::vector<std::uint16_t> halves(65536);
    std::iota(halves.begin(), halves.end(), std::uint16_t{0});
    std::vector<float> widened(halves.size());

    widen(FloatType::f16, std::as_bytes(std::span(halves)), widened);

    for (const std::uint32_t bits : halves) {
        const float got = widened[bits];
        const auto exponent = static_cast<int>((bits >> 10U) & 31U);
        const auto fraction = static_cast<double>(bits & 1023U) / 1024;
        if (exponent == 31) {
            ASSERT_TRUE(fraction == 0 ? std::isinf(got) : std::isnan(got)) << bits;
            ASSERT_EQ(std::bit_cast<std::uint32_t>(got) >> 13U & 1023U, bits & 1023U);
        } else {
            const double magnitude =
                exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
            ASSERT_EQ(std::abs(got), magnitude) << bits;
        }
        ASSERT_EQ(std::signbit(got), bits >> 15U != 0) << bits;
    }
}

/// An absent bias; UBSan finds what a copy of nothing from nowhere does.
TEST(WeightValues, MayBeNone) {
    EXPECT_TRUE(WeightValues().empty());
    EXPECT_EQ(WeightValues().floats(), std::vector<float>());
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
        const Error error = test::error_of([&] { read_tensors(file(name), specs, read_); });
        EXPECT_EQ(error.code(), ExitCode::no_input) << name;
        EXPECT_EQ(error.text().id, "E-MOD-036") << name;
    }
}

TEST_F(TensorFile, IsNotAtFaultWhereTooManyFilesAreOpen) {
    test::write_safetensors(file("a.safetensors"), specs, values);

    EXPECT_EXIT(test::exit_without_descriptors([&] { read_tensors(file("a.safetensors"), specs, read_); }),
                testing::ExitedWithCode(71), "E-IO-005");
}

TEST_F(TensorFile, WithANumberThatIsNotFiniteIsANumericError) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        auto poisoned = values;
        poisoned[7] = bad;
        test::write_safetensors(file("a.safetensors"), specs, poisoned);

        const Error error = test::error_of([&] { read_tensors(file("a.safetensors"), specs, read_); });

        EXPECT_EQ(error.code(), ExitCode::numeric);
        EXPECT_EQ(error.text().id, "E-NUM-051");
        EXPECT_NE(error.text().what.find("tensor 'bias': element 1"), std::string::npos) << error.text().what;
    }
}

TEST_F(TensorFile, RawHasExactlyTheExpectedSize) {
    for (const std::size_t bytes : {0U, 35U, 37U, 40U}) {
        std::ofstream(file("a.bin"), std::ios::binary | std::ios::trunc) << std::string(bytes, '\1');

        const Error error = test::error_of([&] { read_tensors(file("a.bin"), specs, read_); });

        EXPECT_EQ(error.code(), ExitCode::bad_data);
        EXPECT_EQ(error.text().id, "E-MOD-048");
        EXPECT_EQ(error.text().what, "got " + std::to_string(bytes) + " bytes, expected 36");
    }
}

TEST_F(TensorFile, ThatHasGrownSinceItWasOpenedIsRefused) {
    test::write_safetensors(file("a.safetensors"), specs, values);
    const TensorReader opened(file("a.safetensors"));
    std::ofstream(file("a.safetensors"), std::ios::binary | std::ios::app) << 'x';

    const Error error = test::error_of([&] { opened.read(specs, read_); });

    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().id, "E-MOD-053");
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
    const Error error = test::error_of([&] { opened.check_content(); });
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

    EXPECT_EQ(test::error_of([&] { opened.check_unchanged(); }).text().id, "E-MOD-053");
}

TEST_F(TensorFile, NeedsRoomOfTheRightSize) {
    std::vector<float> small(8);

    EXPECT_THROW(read_tensors(file("a"), specs, small), Error);  // the missing file comes first
    test::write_safetensors(file("a"), specs, values);
    EXPECT_THROW(read_tensors(file("a"), specs, small), ContractViolation);
}

}  // namespace
}  // namespace sluice
