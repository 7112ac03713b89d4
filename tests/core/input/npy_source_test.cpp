#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/input/npy_header.hpp"
#include "tests/core/input/io_fixture.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

std::string npy(std::string_view dict, std::string_view data, char major = 1) {
    std::string header(dict);
    header += '\n';
    std::string file("\x93NUMPY", 6);
    file += {major, '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
    file += major == 1 ? std::string() : std::string(2, '\0');
    return file + header + std::string(data);
}

class NpySource : public IoTest {
protected:
    [[nodiscard]] JobConfig::Input input(std::string_view bytes) const {
        return {{write("items.npy", bytes)}, InputFormat::npy, {}, false, false};
    }
    [[nodiscard]] std::string failure(std::string_view bytes) const { return failure_of(input(bytes), codec_); }
    FakeCodec codec_{6};
};

TEST_F(NpySource, PassesPackedItemsOnInEveryVersion) {
    const std::string data = "\1\2\3\4\5\6\7\10\11\12\13\14";
    for (const char version : {'\1', '\2', '\3'}) {
        const std::string bytes = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 6), }", data, version);

        const std::vector<std::byte> items = read_all(*open_input(input(bytes), codec_), codec_, 1);

        EXPECT_EQ(std::string(reinterpret_cast<const char*>(items.data()), items.size()), data);
    }
}

TEST_F(NpySource, AllowsAnyPythonWhitespaceInTheHeader) {
    const std::string data = "\1\2\3\4\5\6";

    const auto source = open_input(
        input(npy("\t{'descr':\t'|u1',\r\n\f'fortran_order' :False,\t'shape': (\n1,\t6\r)\f}\t\r", data)), codec_);

    const std::vector<std::byte> items = read_all(*source, codec_, 1);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(items.data()), items.size()), data);
}

TEST_F(NpySource, TakesBytesThatAreSaidToBeLittleEndian) {
    const std::string data = "\1\2\3\4\5\6";

    const auto source =
        open_input(input(npy("{'descr': '<u1', 'fortran_order': False, 'shape': (1, 6), }", data)), codec_);

    const std::vector<std::byte> items = read_all(*source, codec_, 1);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(items.data()), items.size()), data);
}

TEST_F(NpySource, PacksDenseItems) {
    const std::vector<float> dense = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const std::string_view data(reinterpret_cast<const char*>(dense.data()), dense.size() * sizeof(float));

    const auto source =
        open_input(input(npy("{\"shape\":(2,2,3,),'fortran_order':False,'descr':'<f4'}", data)), codec_);

    const std::vector<std::byte> items = read_all(*source, codec_, 2);
    ASSERT_EQ(items.size(), dense.size());
    for (std::size_t i = 0; i < dense.size(); ++i) {
        EXPECT_EQ(static_cast<float>(items[i]), dense[i]);
    }
}

TEST_F(NpySource, RefusesOtherShapesAndOrders) {
    EXPECT_EQ(failure(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 7), }", std::string(14, '\1'))),
              "65 E-INP-032 items.npy: got shape [2,7] of |u1, the model expects [N,6]");
    EXPECT_EQ(failure(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", std::string(24, '\0'))),
              "65 E-INP-032 items.npy: got shape [6] of <f4, the model expects [N,2,3]");
    EXPECT_EQ(failure(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", std::string(4, '\0'))),
              "65 E-INP-032 items.npy: got shape [] of <f4, the model expects [N,2,3]");
    EXPECT_EQ(failure(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1, 6), }", std::string(6, '\1'))),
              "65 E-INP-031 items.npy: the array is in Fortran order (expected C order)");
}

TEST_F(NpySource, RefusesOtherElementTypes) {
    for (const std::string descr : {">f4", "<f8", "<f2", "|i1", "|S6", "u1", ""}) {
        EXPECT_THAT(failure(npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1, 6), }", "")),
                    HasSubstr("65 E-INP-031 items.npy: element type '" + descr + "' (expected '<f4' or '|u1')"));
    }
    EXPECT_THAT(failure(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 6), }", "")),
                HasSubstr("65 E-INP-031 items.npy: the array has a structured type"));
}

TEST_F(NpySource, ComparesTheHeadersClaimWithTheFile) {
    const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 6), }";

    EXPECT_EQ(
        failure(npy(dict, std::string(11, '\1'))),
        "65 E-INP-030 items.npy: the header claims 2 items of 6 bytes, 11 bytes follow (1 items and 5 left over)");
    EXPECT_EQ(
        failure(npy(dict, std::string(18, '\1'))),
        "65 E-INP-030 items.npy: the header claims 2 items of 6 bytes, 18 bytes follow (3 items and 0 left over)");
    EXPECT_THAT(failure(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (18446744073709551615, 6), }", "")),
                HasSubstr("65 E-INP-030"));
    EXPECT_THAT(failure(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3074457345618258603, 6), }", "\1\1")),
                HasSubstr("65 E-INP-030"));  // the product is 2 modulo 2^64
}

TEST_F(NpySource, TellsASecondArrayFromAFileThatIsCut) {
    const auto hint = [this](std::size_t bytes) {
        const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 6), }";
        try {
            static_cast<void>(open_input(input(npy(dict, std::string(bytes, '\1'))), codec_));
        } catch (const Error& error) {
            return error.text().hint;
        }
        return std::string();
    };

    EXPECT_THAT(hint(11), HasSubstr("incomplete"));
    EXPECT_THAT(hint(13), HasSubstr("save one array a file"));
}

TEST_F(NpySource, RefusesDamagedHeaders) {
    const std::vector<std::string> dicts = {
        "",
        "{",
        "{}",
        "{'descr': '|u1'}",
        "{'descr': '|u1', 'fortran_order': False}",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1, 6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6), 'more': 1}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6)} trailing",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6)",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1 6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': [1, 6]}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-1, 6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (01, 6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1.0, 6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (18446744073709551616, 6)}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (1, 6)}",
        "{'descr': |u1, 'fortran_order': False, 'shape': (1, 6)}",
        "{'descr': '|u1",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (1, 6)}",
        "{'des\\x63r': '|u1', 'fortran_order': False, 'shape': (1, 6)}",
    };
    for (const std::string& dict : dicts) {
        EXPECT_THAT(failure(npy(dict, std::string(6, '\1'))),
                    HasSubstr("65 E-INP-031 items.npy: not a valid .npy header"))
            << dict;
    }
    std::string many = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 33; ++i) {
        many += "1,";
    }
    EXPECT_THAT(failure(npy(many + ")}", "\1")), HasSubstr("more than 32 dimensions"));
}

TEST_F(NpySource, RefusesAnythingButNpyOfAKnownVersion) {
    const std::string good = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6), }", std::string(6, '\1'));

    EXPECT_THAT(failure("item\n1\n"), HasSubstr("65 E-INP-031 items.npy: not an .npy file"));
    EXPECT_THAT(failure(""), HasSubstr("65 E-INP-031 items.npy: not an .npy file"));
    EXPECT_THAT(failure(good.substr(0, 8)), HasSubstr("65 E-INP-031 items.npy: an .npy file that ends after 8 bytes"));
    EXPECT_THAT(failure(npy("{}", "", 4)), HasSubstr("65 E-INP-031 items.npy: .npy version 4.0"));
    EXPECT_THAT(failure(npy("{}", "", 0)), HasSubstr("65 E-INP-031 items.npy: .npy version 0.0"));
    EXPECT_THAT(failure(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
                HasSubstr("65 E-INP-031 items.npy: the .npy header claims 4294967295 bytes"));
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_NE(failure(good.substr(0, length)), "none") << length;
    }
    EXPECT_EQ(failure(good), "none");
}

TEST_F(NpySource, NeverCrashesOnADamagedByte) {
    const std::string good = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6), }", std::string(6, '\1'));
    int refused = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int flip : {0x01, 0x20, 0x80}) {
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ flip);
            refused += failure(bad) == "none" ? 0 : 1;
        }
    }
    EXPECT_GT(refused, 150);
}

TEST_F(NpySource, HasNoItemsWhenItsFirstDimensionIsZero) {
    JobConfig::Input in = input(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 6), }", ""));
    EXPECT_EQ(failure_of(in, codec_), "65 E-INP-029 items.npy: no items (expected at least one)");

    in.allow_empty = true;
    EXPECT_EQ(open_input(in, codec_)->count(), 0U);
}

TEST_F(NpySource, ReadsTheHeadersThatItWrites) {
    const std::vector<OutputField> field = {{"score", FieldType::float32, 4}};

    const std::string header = make_npy_header(field, 3);

    EXPECT_EQ(header.size() % 64, 0U);
    const NpyHeader read = read_npy_header(InputFile(write("own.npy", header + std::string(48, '\0'))));
    EXPECT_EQ(read.descr, "<f4");
    EXPECT_EQ(read.shape, (std::vector<std::uint64_t>{3, 4}));
    EXPECT_EQ(read.data_offset, header.size());
}

}  // namespace
}  // namespace sluice::test
