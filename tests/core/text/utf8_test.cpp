#include "core/text/utf8.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

using namespace std::string_literals;

/// "2+1-1-" of a well-formed sequence of two bytes and two ill-formed ones of one byte.
std::string lengths_in(const std::string& text) {
    std::string lengths;
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Sequence sequence = utf8_sequence(text, at);
        lengths += std::to_string(sequence.length) + (sequence.is_well_formed ? "+" : "-");
        EXPECT_EQ(utf8_length(text, at), sequence.is_well_formed ? sequence.length : 0U);
        at += sequence.length;
    }
    return lengths;
}

TEST(Utf8, KnowsWellFormedSequencesUpToTheirLimits) {
    EXPECT_EQ(lengths_in("a\0\x7F"s), "1+1+1+");
    EXPECT_EQ(lengths_in("\xC2\x80\xDF\xBF"), "2+2+");
    EXPECT_EQ(lengths_in("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"), "3+3+3+3+");
    EXPECT_EQ(lengths_in("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), "4+4+");
}

// The examples of Unicode 15, section 3.9, tables 3-8 to 3-11.
TEST(Utf8, CutsIllFormedSequencesAsUnicodeRecommends) {
    EXPECT_EQ(lengths_in("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "1-1-1-1-1-1-1-1-1+") << "overlong";
    EXPECT_EQ(lengths_in("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "1-1-1-1-1-1-1-1-1+") << "surrogates";
    EXPECT_EQ(lengths_in("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), "1-1-1-1-1-1+1-1-1+") << "beyond U+10FFFF";
    EXPECT_EQ(lengths_in("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "2-1-3-2-1+") << "cut short";
    EXPECT_EQ(lengths_in("\xF0\x90\x80"), "3-") << "at the end";
}

}  // namespace
}  // namespace sluice
