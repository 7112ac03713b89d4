#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/layers/include_rules.hpp"

namespace sluice {
namespace {

using testing::Contains;
using testing::IsEmpty;

const std::filesystem::path root = SLUICE_SOURCE_DIR;

/// Everything in `text` that looks like E-CFG-001, after `before`.
std::set<std::string> ids_in(const std::string& text, const std::string& before) {
    const std::regex pattern(before + "([EW]-[A-Z]{2,3}-[0-9]{3})");
    std::set<std::string> ids;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        ids.insert((*at)[1]);
    }
    return ids;
}

/// The ids that the program's own sources can print.
std::set<std::string> ids_of_the_program() {
    std::set<std::string> ids;
    for (const std::string& source : sources_under(root)) {
        if (!source.starts_with("tests/")) {
            ids.merge(ids_in(text_of(root / source), "(?:\"|error\\[)"));
        }
    }
    return ids;
}

TEST(ErrorIds, AreAllDocumentedAndNoOtherIs) {
    const std::set<std::string> used = ids_of_the_program();
    const std::set<std::string> documented = ids_in(text_of(root / "docs/errors.md"), "\n\\| ");

    std::vector<std::string> undocumented;
    std::set_difference(used.begin(), used.end(), documented.begin(), documented.end(),
                        std::back_inserter(undocumented));
    std::vector<std::string> unused;
    std::set_difference(documented.begin(), documented.end(), used.begin(), used.end(), std::back_inserter(unused));

    EXPECT_THAT(undocumented, IsEmpty());
    EXPECT_THAT(unused, IsEmpty());
    EXPECT_THAT(used, Contains("E-CFG-009"));
}

}  // namespace
}  // namespace sluice
