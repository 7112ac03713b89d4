#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <ostream>
#include <random>
#include <set>

#include "core/error.hpp"
#include "core/weights/safetensors_header.hpp"
#include "core/weights/tensor_file.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/files.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

const std::vector<TensorSpec> small_specs{{"a", {2, 2}}, {"b", {3}}};
const std::vector<float> small_values{1, 2, 3, 4, 5, 6, 7};

std::string length_of(std::uint64_t length) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes;
}

std::string file_of(const std::string& header, std::size_t data_bytes = 28) {
    return length_of(header.size()) + header + std::string(data_bytes, '\0');
}

std::string two(const std::string& a, const std::string& b = R"({"dtype":"F32","shape":[3],"data_offsets":[16,28]})") {
    return R"({"a":)" + a + R"(,"b":)" + b + "}";
}

std::string a_with(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return file_of(two(R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}"));
}

std::string repeated(const std::string& text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) {
        result += text;
    }
    return result;
}

std::string many_tensors(std::size_t count) {
    std::string header = "{";
    for (std::size_t i = 0; i < count; ++i) {
        header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    }
    return header + "}";
}

const std::string good_a = R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
const std::string good_b = R"({"dtype":"F32","shape":[3],"data_offsets":[16,28]})";
const std::string largest = "18446744073709551615";

struct Row {
    const char* id;
    const char* name;
    std::string bytes;

    friend void PrintTo(const Row& row, std::ostream* to) { *to << row.name; }
};

std::vector<Row> rows() {
    return {
        {"E-MOD-037", "empty", ""},
        {"E-MOD-037", "seven_bytes", std::string(7, '\0')},
        {"E-MOD-038", "length_2_to_63", length_of(1ULL << 63U) + "{}"},
        {"E-MOD-038", "length_largest", length_of(~0ULL) + "{}"},
        {"E-MOD-038", "length_one_more_than_file", length_of(3) + "{}"},
        {"E-MOD-039", "no_header", length_of(0)},
        {"E-MOD-039", "not_an_object", file_of("[]")},
        {"E-MOD-039", "leading_space", file_of(" " + two(good_a))},
        {"E-MOD-039", "byte_order_mark", file_of("\xef\xbb\xbf" + two(good_a))},
        {"E-MOD-039", "cut_json", file_of(two(good_a).substr(0, 40))},
        {"E-MOD-039", "text_after_the_object", file_of(two(good_a) + "x")},
        {"E-MOD-039", "two_objects", file_of(two(good_a) + "{}")},
        {"E-MOD-039", "zero_byte_in_header", file_of(two(good_a) + std::string(1, '\0'))},
        {"E-MOD-039", "not_utf8", file_of("{\"a\xff\":" + good_a + "}")},
        {"E-MOD-039", "overlong_utf8", file_of("{\"a\xc0\x80\":" + good_a + "}")},
        {"E-MOD-039", "deep_nesting", file_of(R"({"a":)" + repeated("[", 100'000))},
        {"E-MOD-039", "deep_metadata", file_of(R"({"__metadata__":)" + repeated(R"({"x":)", 100'000))},
        {"E-MOD-039", "tensor_is_a_number", file_of(two("1"))},
        {"E-MOD-039", "tensor_is_null", file_of(two("null"))},
        {"E-MOD-039", "tensor_is_an_array", file_of(two("[1]"))},
        {"E-MOD-039", "metadata_is_a_string", file_of(R"({"__metadata__":"x"})")},
        {"E-MOD-039", "metadata_value_is_a_number", file_of(R"({"__metadata__":{"x":1}})")},
        {"E-MOD-039", "unknown_key", file_of(two(R"({"dtype":"F32","shape":[],"offsets":[0,4]})"))},
        {"E-MOD-039", "no_dtype", file_of(two(R"({"shape":[2,2],"data_offsets":[0,16]})"))},
        {"E-MOD-039", "no_shape", file_of(two(R"({"dtype":"F32","data_offsets":[0,16]})"))},
        {"E-MOD-039", "no_offsets", file_of(two(R"({"dtype":"F32","shape":[2,2]})"))},
        {"E-MOD-039", "dtype_is_a_number", a_with("32", "[2,2]", "[0,16]")},
        {"E-MOD-039", "shape_is_a_string", a_with("\"F32\"", "\"2,2\"", "[0,16]")},
        {"E-MOD-039", "shape_holds_an_array", a_with("\"F32\"", "[[2,2]]", "[0,16]")},
        {"E-MOD-039", "shape_holds_a_string", a_with("\"F32\"", "[\"2\"]", "[0,16]")},
        {"E-MOD-040", "name_twice", file_of(R"({"a":)" + good_a + R"(,"a":)" + good_a + "}")},
        {"E-MOD-040", "name_twice_by_escape", file_of(R"({"a":)" + good_a + R"(,"\u0061":)" + good_a + "}")},
        {"E-MOD-040", "metadata_twice", file_of(R"({"__metadata__":{},"__metadata__":{}})")},
        {"E-MOD-040", "metadata_key_twice", file_of(R"({"__metadata__":{"x":"1","x":"2"}})")},
        {"E-MOD-040", "shape_twice",
         file_of(two(R"({"dtype":"F32","shape":[2,2],"shape":[2,2],"data_offsets":[0,16]})"))},
        {"E-MOD-041", "unknown_dtype", a_with("\"F33\"", "[2,2]", "[0,16]")},
        {"E-MOD-041", "dtype_in_small_letters", a_with("\"f32\"", "[2,2]", "[0,16]")},
        {"E-MOD-041", "empty_dtype", a_with("\"\"", "[2,2]", "[0,16]")},
        {"E-MOD-042", "negative_size", a_with("\"F32\"", "[-2,2]", "[0,16]")},
        {"E-MOD-042", "fractional_size", a_with("\"F32\"", "[2.0,2]", "[0,16]")},
        {"E-MOD-042", "size_2_to_64", a_with("\"F32\"", "[18446744073709551616]", "[0,16]")},
        {"E-MOD-042", "huge_exponent", a_with("\"F32\"", "[1e300]", "[0,16]")},
        {"E-MOD-042", "negative_offset", a_with("\"F32\"", "[2,2]", "[-1,15]")},
        {"E-MOD-043", "shape_wraps_to_4", a_with("\"F32\"", "[4611686018427387905,4]", "[0,16]")},
        {"E-MOD-043", "bytes_wrap_to_16", a_with("\"F32\"", "[4611686018427387908]", "[0,16]")},
        {"E-MOD-043", "shape_of_largest", a_with("\"F32\"", "[" + largest + "," + largest + "]", "[0,16]")},
        {"E-MOD-044", "offsets_inverted", a_with("\"F32\"", "[2,2]", "[16,0]")},
        {"E-MOD-044", "offsets_out_of_file", a_with("\"F32\"", "[2,2]", "[16,32]")},
        {"E-MOD-044", "offsets_of_largest", a_with("\"F32\"", "[0]", "[" + largest + "," + largest + "]")},
        {"E-MOD-044", "offsets_overlap", a_with("\"F32\"", "[2,2]", "[4,20]")},
        {"E-MOD-044", "the_same_bytes_twice", a_with("\"F32\"", "[3]", "[16,28]")},
        {"E-MOD-044", "a_gap", a_with("\"F32\"", "[3]", "[0,12]")},
        {"E-MOD-044", "one_offset", a_with("\"F32\"", "[2,2]", "[0]")},
        {"E-MOD-044", "three_offsets", a_with("\"F32\"", "[2,2]", "[0,16,28]")},
        {"E-MOD-044", "trailing_bytes", file_of(two(good_a), 29)},
        {"E-MOD-044", "missing_bytes", file_of(two(good_a), 27)},
        {"E-MOD-044", "no_tensors_but_data", file_of("{}")},
        {"E-MOD-045", "too_few_bytes_for_shape", a_with("\"F32\"", "[2,3]", "[0,16]")},
        {"E-MOD-045", "offsets_of_another_dtype", a_with("\"F64\"", "[2,2]", "[0,16]")},
        {"E-MOD-045", "half_a_byte", a_with("\"F4\"", "[3]", "[0,16]")},
        {"E-MOD-046", "rank_9", a_with("\"F32\"", "[1,1,1,1,1,1,1,1,4]", "[0,16]")},
        {"E-MOD-046", "name_of_513_bytes", file_of("{\"" + std::string(513, 'n') + "\":" + good_a + "}")},
        {"E-MOD-046", "too_many_tensors", file_of(many_tensors(100'001), 0)},
        {"E-MOD-047", "no_tensors", file_of("{}", 0)},
        {"E-MOD-047", "tensor_missing", file_of(R"({"a":)" + good_a + "}", 16)},
        {"E-MOD-047", "tensor_extra",
         file_of(R"({"a":)" + good_a + R"(,"b":)" + good_b +
                 R"(,"c":{"dtype":"U8","shape":[0],"data_offsets":[28,28]}})")},
        {"E-MOD-047", "wrong_shape_of_same_size", a_with("\"F32\"", "[4]", "[0,16]")},
        {"E-MOD-047", "wrong_dtype_of_same_size", a_with("\"I32\"", "[2,2]", "[0,16]")},
        {"E-MOD-049", "git_lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 47632400\n"},
        {"E-MOD-050", "pytorch_zip", "PK\x03\x04" + std::string(60, 'x')},
        {"E-MOD-050", "pickle", "\x80\x02}q" + std::string(60, 'x')},
        {"E-MOD-050", "gguf", "GGUF" + std::string(60, '\3')},
        {"E-MOD-050", "html", "<!DOCTYPE html>\n<title>Not found</title>"},
    };
}

class HostileTensorFile : public testing::TestWithParam<Row> {
protected:
    [[nodiscard]] std::filesystem::path write(const std::string& bytes) const {
        const auto path = folder_.path() / "m.safetensors";
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        return path;
    }

    TemporaryFolder folder_;
    std::vector<float> to_ = std::vector<float>(small_values.size());
};

TEST_P(HostileTensorFile, IsRefusedWithItsOwnError) {
    const auto path = write(GetParam().bytes);

    const Error error = test::error_of([&] { read_tensors(path, small_specs, to_); });

    EXPECT_EQ(error.text().id, GetParam().id) << error.text().what;
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().where, path.string());
    EXPECT_FALSE(error.text().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(Rows, HostileTensorFile, testing::ValuesIn(rows()),
                         [](const auto& row) { return std::string(row.param.name); });

/// What a reader may do with a damaged file: refuse it by an Error, or accept it because the damage changed nothing
/// that the format gives a meaning to.
bool accepts(const std::filesystem::path& path, std::vector<float>& to) {
    try {
        read_tensors(path, small_specs, to);
        return true;
    } catch (const Error&) {
        return false;
    }
}

class DamagedTensorFile : public testing::Test {
protected:
    DamagedTensorFile() {
        test::write_safetensors(path_, small_specs, small_values);
        good_ = test::contents(path_);
    }
    void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
    [[nodiscard]] std::size_t data_start() const { return good_.size() - small_values.size() * sizeof(float); }

    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_.path() / "m.safetensors";
    std::string good_;
    std::vector<float> to_ = std::vector<float>(small_values.size());
};

constexpr std::size_t length_bytes = 8;

bool parses(const std::string& header) {
    try {
        return !parse_safetensors_header(header, small_values.size() * sizeof(float), "m").tensors.empty();
    } catch (const Error&) {
        return false;
    }
}

TEST_F(DamagedTensorFile, CutAnywhereIsRefused) {
    ASSERT_TRUE(accepts(path_, to_));
    for (std::size_t size = 0; size < good_.size(); ++size) {
        write(good_.substr(0, size));

        EXPECT_FALSE(accepts(path_, to_)) << size;
    }
}

TEST_F(DamagedTensorFile, WithAByteOfItsHeaderChangedIsRefusedOrMeansTheSame) {
    constexpr char telling[] = "\0\1 \t\n\"[]{},:-+.0123456789eEzF\\u\x7f\x80\xff";
    for (std::size_t at = 0; at < data_start(); ++at) {
        for (const char byte : std::string(telling, sizeof(telling) - 1)) {
            std::string damaged = good_;
            damaged[at] = byte;
            if (at >= length_bytes && !parses(damaged.substr(length_bytes, data_start() - length_bytes))) {
                continue;
            }
            write(damaged);
            to_.assign(small_values.size(), -1);

            if (accepts(path_, to_)) {
                EXPECT_EQ(to_, small_values) << "byte " << at << " = " << static_cast<int>(byte);  // other white space
            }
        }
    }
}

/// What the format promises of every accepted header, worked out once more.
void expect_sound(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_bytes, const std::string& json) {
    std::uint64_t covered = 0;
    std::set<std::string> names;
    for (const SafetensorsEntry& entry : entries) {
        EXPECT_EQ(entry.begin, covered) << json;
        EXPECT_LE(entry.end, data_bytes) << json;
        covered = entry.end;
        EXPECT_TRUE(names.insert(entry.name).second) << json;
        if (entry.dtype == "F32") {
            std::uint64_t bytes = 4;
            for (const std::uint64_t size : entry.shape) {
                bytes *= size;
            }
            EXPECT_EQ(entry.end - entry.begin, bytes) << json;
        }
    }
    EXPECT_EQ(covered, data_bytes) << json;
}

TEST_F(DamagedTensorFile, WithAMangledHeaderNeverCrashesNorBreaksTheRules) {
    constexpr int mutations = 40'000;
    std::mt19937 bits(2026);
    const std::string header = good_.substr(8, data_start() - 8);
    int accepted = 0;
    for (int i = 0; i < mutations; ++i) {
        std::string damaged = header;
        for (auto edits = 1 + bits() % 3; edits > 0; --edits) {
            const std::size_t at = bits() % damaged.size();
            switch (bits() % 4) {
                case 0:
                    damaged[at] = static_cast<char>(bits());
                    break;
                case 1:
                    damaged.erase(at, std::min<std::size_t>(1 + bits() % 8, damaged.size() - 1));
                    break;
                case 2:
                    damaged.insert(at, damaged.substr(bits() % damaged.size(), 1 + bits() % 16));
                    break;
                default:
                    damaged.insert(at, 1, "[]{}\",:0123456789-e."[bits() % 20]);
                    break;
            }
        }
        try {
            expect_sound(parse_safetensors_header(damaged, 28, "m").tensors, 28, damaged);
            ++accepted;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::bad_data);
        }
    }
    EXPECT_GT(accepted, 0);  // renamed tensors, other white space
    EXPECT_LT(accepted, mutations / 2);
}

TEST(SafetensorsHeader, AcceptsTheLargestThatTheFormatAllows) {
    const std::string name(512, 'n');
    const std::string one = "{\"" + name + R"(":{"dtype":"BF16","shape":[1,1,1,1,1,1,1,4],"data_offsets":[0,8]}})";

    EXPECT_EQ(parse_safetensors_header(one, 8, "m").tensors.size(), 1U);
    EXPECT_EQ(parse_safetensors_header(many_tensors(100'000), 0, "m").tensors.size(), 100'000U);
    EXPECT_TRUE(parse_safetensors_header("{}", 0, "m").tensors.empty());
    EXPECT_TRUE(parse_safetensors_header(R"({"__metadata__":{"format":"pt"}}   )", 0, "m").tensors.empty());
}

TEST(SafetensorsHeader, EscapesNamesInMessages) {
    const Error error = test::error_of([&] {
        return parse_safetensors_header(R"({"\u001b[2J":{"dtype":"\n","shape":[0],"data_offsets":[0,0]}})", 0, "m");
    });

    EXPECT_EQ(error.text().what, "tensor '\\x1b[2J': unknown dtype '\\x0a'");
}

}  // namespace
}  // namespace sluice
