#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <limits>

#include "tests/core/input/io_fixture.hpp"
#include "tests/support/output_codecs.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t item_floats = 6;

class BinarySource : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input input(std::string_view bytes, InputFormat format) const {
        return {{write("items.bin", bytes)}, format, {}, false, false};
    }

    /// Dense items 0, 1, 2, …; element i of item n is (7 n + i) mod 70.
    [[nodiscard]] static std::vector<float> dense_items(std::size_t count) {
        std::vector<float> dense;
        for (std::size_t item = 0; item < count; ++item) {
            for (std::size_t i = 0; i < item_floats; ++i) {
                dense.push_back(static_cast<float>((7 * item + i) % 70));
            }
        }
        return dense;
    }
    [[nodiscard]] static std::string bytes_of(const std::vector<float>& dense) {
        return {reinterpret_cast<const char*>(dense.data()), dense.size() * sizeof(float)};
    }
    [[nodiscard]] static std::vector<std::byte> packed(const std::vector<float>& dense) {
        std::vector<std::byte> wire;
        for (const float value : dense) {
            wire.push_back(static_cast<std::byte>(value));
        }
        return wire;
    }
    FakeCodec codec_{item_floats};
};

TEST_F(BinarySource, PacksDenseItemsTheSameForAnyChunkSize) {
    const std::vector<float> dense = dense_items(131);
    const auto source = open_input(input(bytes_of(dense), InputFormat::onehot_f32), codec_);

    ASSERT_EQ(source->count(), 131U);
    for (const std::uint32_t step : {1U, 7U, 64U, 131U}) {
        EXPECT_EQ(read_all(*source, codec_, step), packed(dense)) << step;
    }
}

TEST_F(BinarySource, PacksItemsLargerThanOneRead) {
    constexpr std::size_t large_floats = 300'000;  // 1.2 MB an item
    FakeCodec codec(large_floats);
    codec.set_dense_shape({3, 100'000});
    std::vector<float> dense(3 * large_floats);
    for (std::size_t i = 0; i < dense.size(); ++i) {
        dense[i] = static_cast<float>(i % 69);
    }

    const auto source = open_input(input(bytes_of(dense), InputFormat::onehot_f32), codec);

    EXPECT_EQ(read_all(*source, codec, 2), packed(dense));
}

TEST_F(BinarySource, SaysHowManyBytesItHasAndHowManyItemsAReadIsWorth) {
    const auto small = open_input(input(std::string(60, '\1'), InputFormat::u8), codec_);
    EXPECT_EQ(small->bytes(), 60U);
    EXPECT_EQ(small->granularity(), (64U << 10U) / 6);

    FakeCodec codec(100'000);
    codec.set_dense_shape({100'000});
    const auto large = open_input(input(std::string(800'000, '\0'), InputFormat::onehot_f32), codec);
    EXPECT_EQ(large->bytes(), 800'000U);
    EXPECT_EQ(large->granularity(), 1U);
}

TEST_F(BinarySource, PassesPackedItemsOn) {
    const std::string bytes = "\1\2\3\4\5\6\7\10\11\12\13\14";
    const auto source = open_input(input(bytes, InputFormat::u8), codec_);

    const std::vector<std::byte> items = read_all(*source, codec_, 1);

    EXPECT_EQ(std::string(reinterpret_cast<const char*>(items.data()), items.size()), bytes);
}

TEST_F(BinarySource, CountsWhatIsLeftOver) {
    EXPECT_EQ(failure_of(input(std::string(13, '\1'), InputFormat::u8), codec_),
              "65 E-INP-030 items.bin: 13 bytes are 2 items of 6 bytes and 1 left over");
    EXPECT_EQ(failure_of(input(std::string(23, '\1'), InputFormat::onehot_f32), codec_),
              "65 E-INP-030 items.bin: 23 bytes are 0 items of 24 bytes and 23 left over");
}

TEST_F(BinarySource, GivesTheNumberOfABadItemAndWhatTheCodecSays) {
    std::vector<float> dense = dense_items(10);
    dense[8 * item_floats + 2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(failure_of(input(bytes_of(dense), InputFormat::onehot_f32), codec_),
              "65 E-INP-032 items.bin: item 8 (at byte 192): element 2: out of range");

    std::string wire(60, '\1');
    wire[7 * item_floats + 5] = '\x46';
    EXPECT_EQ(failure_of(input(wire, InputFormat::u8), codec_),
              "65 E-INP-032 items.bin: item 7 (at byte 42): byte 5: out of range");
}

TEST_F(BinarySource, HasNoItemsInAnEmptyFile) {
    for (const InputFormat format : {InputFormat::u8, InputFormat::onehot_f32}) {
        JobConfig::Input in = input("", format);
        EXPECT_EQ(failure_of(in, codec_), "65 E-INP-029 items.bin: no items (expected at least one)");

        in.allow_empty = true;
        EXPECT_EQ(open_input(in, codec_)->count(), 0U);
    }
}

TEST_F(BinarySource, RefusesFp32InputForAnAppWithoutIt) {
    codec_.set_dense_shape({});

    EXPECT_EQ(failure_of(input(std::string(24, '\0'), InputFormat::onehot_f32), codec_),
              "65 E-INP-032 items.bin: this app has no fp32 input format");
}

TEST_F(BinarySource, RefusesArraysForAnAppThatReadsTextsAlone) {
    const FieldsCodec texts({{.name = "label"}});
    const auto refusal = [&](InputFormat format) { return failure_of(input(std::string(24, '\0'), format), texts); };

    EXPECT_EQ(refusal(InputFormat::u8), "65 E-INP-032 items.bin: this app has no uint8 input format");
    EXPECT_EQ(refusal(InputFormat::onehot_f32), "65 E-INP-032 items.bin: this app has no fp32 input format");
}

TEST_F(BinarySource, RecognisesPackedFilesAndPointers) {
    const JobConfig::Input packed_file = input("\x1f\x8b\x08", InputFormat::u8);
    EXPECT_EQ(error_of([&] { static_cast<void>(open_input(packed_file, codec_)); }).text().hint,
              "unpack it first: it is in gzip format");

    const std::string pointer = "version https://git-lfs.github.com/spec/v1\n";
    EXPECT_EQ(failure_of(input(pointer, InputFormat::onehot_f32), codec_),
              "65 E-INP-031 items.bin: this is a Git LFS pointer, not the data");
}

TEST_F(BinarySource, FindsOutThatTheFileWasCutWhileInUse) {
    for (const InputFormat format : {InputFormat::u8, InputFormat::onehot_f32}) {
        const JobConfig::Input in = input(bytes_of(dense_items(4)), format);
        const auto source = open_input(in, codec_);

        std::filesystem::resize_file(in.paths.front(), 24);

        std::vector<std::byte> item(item_floats);
        const Error error = error_of([&] { source->read(3, 1, item); });
        EXPECT_EQ(error.text().id, "E-INP-034");
        EXPECT_EQ(error.code(), ExitCode::bad_data);
    }
}

TEST_F(BinarySource, FindsOutThatTheFileWasRewrittenWhileInUse) {
    for (const InputFormat format : {InputFormat::u8, InputFormat::onehot_f32}) {
        const JobConfig::Input in = input(bytes_of(dense_items(4)), format);
        const auto source = open_input(in, codec_);

        const auto later = std::filesystem::last_write_time(in.paths.front()) + std::chrono::seconds(2);
        std::filesystem::last_write_time(in.paths.front(), later);

        std::vector<std::byte> item(item_floats);
        EXPECT_EQ(error_of([&] { source->read(1, 1, item); }).text().id, "E-INP-034");
    }
}

TEST_F(BinarySource, RefusesReadsBeyondItsItems) {
    const auto source = open_input(input(std::string(12, '\1'), InputFormat::u8), codec_);
    std::vector<std::byte> items(2 * item_floats);

    EXPECT_THROW(source->read(1, 2, items), ContractViolation);
    EXPECT_THROW(source->read(3, 0, {}), ContractViolation);
    EXPECT_THROW(source->read(0, 1, items), ContractViolation);
    EXPECT_NO_THROW(source->read(2, 0, {}));
}

TEST_F(BinarySource, TakesNoRoomThatIsTooSmallBy4GiB) {
    constexpr std::uint32_t item_bytes = 65'537;
    constexpr std::uint32_t items = 65'536;  // times item_bytes: 2^32 + items
    const FakeCodec codec(item_bytes);
    const JobConfig::Input in = input("", InputFormat::u8);
    std::filesystem::resize_file(in.paths.front(), std::uint64_t{items} * item_bytes);
    const auto source = open_input(in, codec);
    std::vector<std::byte> room(items);

    EXPECT_THROW(source->read(0, items, room), ContractViolation);
}

}  // namespace
}  // namespace sluice::test
