#include <array>
#include <bit>
#include <cstddef>

#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t characters = 1014;  // of one item of the classifier
constexpr std::size_t symbols = 70;
constexpr char blank = 70;
constexpr std::size_t one_hot_bytes = characters * symbols * sizeof(float);

BadInput input(std::string name, std::string file, std::string content, std::string id, std::string what) {
    return {std::move(name),
            good_job,
            {{file, std::move(content)}},
            {"--set", "input.path=" + file},
            65,
            std::move(id),
            file,
            std::move(what)};
}

/// A version 1.0 .npy file.
std::string npy(const std::string& header, const std::string& data) {
    const auto low = static_cast<char>(header.size() & 0xFF);
    const auto high = static_cast<char>(header.size() >> 8U);
    return std::string("\x93NUMPY\x01\x00", 8) + low + high + header + data;
}

std::string header(const char* descr, const char* shape) {
    return std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

/// Blank one-hot items with one value set.
std::string one_hot(std::size_t items, std::size_t item, std::size_t symbol, std::size_t character, float value) {
    std::string bytes(items * one_hot_bytes, '\0');
    const auto raw = std::bit_cast<std::array<char, sizeof value>>(value);
    bytes.replace(item * one_hot_bytes + (symbol * characters + character) * sizeof value, sizeof value, raw.data(),
                  sizeof value);
    return bytes;
}

std::string blanks(std::size_t items) {
    return std::string(items * characters, blank);
}

}  // namespace

std::vector<BadInput> bad_arrays() {
    std::string out_of_alphabet = blanks(3);
    out_of_alphabet[2 * characters + 5] = blank + 1;
    std::string two_symbols = one_hot(1, 0, 3, 7, 1.0F);
    two_symbols.replace((4 * characters + 7) * sizeof(float), sizeof(float), two_symbols,
                        (3 * characters + 7) * sizeof(float), sizeof(float));
    return {
        input("BytesLeftOver", "a.u8", blanks(2) + "x", "E-INP-030", "1 left over"),
        input("FewerBytesThanAnItem", "a.u8", "x", "E-INP-030", "0 items of 1014 bytes and 1 left over"),
        while_reading(
            input("OutsideTheAlphabet", "a.u8", out_of_alphabet, "E-INP-032", "item 2 (at byte 2028): byte 5: got 71")),
        input("OneHotLeftOver", "a.bin", std::string(one_hot_bytes + 4, '\0'), "E-INP-030", "4 left over"),
        while_reading(
            input("NotOneHot", "a.bin", one_hot(2, 1, 3, 9, 0.5F), "E-INP-032", "item 1 (at byte 283920): column 9")),
        while_reading(input("TwoSymbols", "a.bin", two_symbols, "E-INP-032",
                            "item 0 (at byte 0): column 7: rows 3 and 4 are both 1")),
        input("NoNpy", "a.npy", "[1.0, 2.0, 3.0]", "E-INP-031", "not an .npy file"),
        input("ZippedNpy", "a.npy", "PK\x03\x04 and so on", "E-INP-031", "zip"),
        input("ShortNpy", "a.npy", "\x93NUM", "E-INP-031", "not an .npy file"),
        input("NpyVersion", "a.npy", std::string("\x93NUMPY\x09\x00\x02\x00{}", 12), "E-INP-031", "version 9.0"),
        input("NpyHeaderLength", "a.npy", std::string("\x93NUMPY\x01\x00\xff\x7f{}", 12), "E-INP-031",
              "claims 32767 bytes"),
        input("NpyHeaderSyntax", "a.npy", npy("{'descr': ", ""), "E-INP-031", "not a valid .npy header"),
        input("NpyBigEndian", "a.npy", npy(header(">f4", "(1, 70, 1014)"), ""), "E-INP-031", "element type '>f4'"),
        input("NpyDoubles", "a.npy", npy(header("<f8", "(1, 70, 1014)"), ""), "E-INP-031", "element type '<f8'"),
        input("NpyFortran", "a.npy", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1, 1014)}", blanks(1)),
              "E-INP-031", "Fortran order"),
        input("NpyShape", "a.npy", npy(header("<f4", "(1, 70, 1000)"), ""), "E-INP-032", "got shape [1,70,1000]"),
        input("NpyScalar", "a.npy", npy(header("|u1", "()"), ""), "E-INP-032", "got shape []"),
        input("NpyHugeCount", "a.npy", npy(header("|u1", "(18446744073709551615, 1014)"), blanks(1)), "E-INP-030",
              "claims 18446744073709551615 items"),
        input("NpyCountBeyond64Bits", "a.npy", npy(header("|u1", "(18446744073709551616, 1014)"), blanks(1)),
              "E-INP-031", "header"),
        input("NpyTruncated", "a.npy", npy(header("|u1", "(3, 1014)"), blanks(2)), "E-INP-030", "claims 3 items"),
        input("NpyNoItems", "a.npy", npy(header("|u1", "(0, 1014)"), ""), "E-INP-029", "no items"),
        while_reading(input("NpyOutsideTheAlphabet", "a.npy", npy(header("|u1", "(3, 1014)"), out_of_alphabet),
                            "E-INP-032", "item 2")),
    };
}

}  // namespace sluice::test
