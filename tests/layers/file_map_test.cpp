#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/layers/include_rules.hpp"

namespace sluice {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::filesystem::path root = SLUICE_SOURCE_DIR;

/// What ARCHITECTURE.md's file map has in backticks, by the folder that the name stands under: "core/io/".
std::map<std::string, std::set<std::string>> names_of_the_map() {
    const std::string page = text_of(root / "ARCHITECTURE.md");
    const std::size_t begin = page.find("## File map");
    const std::string text = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    const std::regex pattern("(### )?`([^`]+)`");
    std::map<std::string, std::set<std::string>> names;
    std::string folder;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        if ((*at)[1].matched) {
            folder = (*at)[2];
        } else if (!folder.empty()) {
            names[folder].insert((*at)[2]);
        }
    }
    return names;
}

/// "core/io/read_ahead.cpp" is named "read_ahead" under core/io/; tools/doctor/gather.hpp at least "doctor/" under
/// tools/.
bool is_named(const std::string& source, const std::map<std::string, std::set<std::string>>& map) {
    std::string folder = source.substr(0, source.rfind('/') + 1);
    std::string name = std::filesystem::path(source).stem().string();
    while (!map.contains(folder) && folder.find('/') != folder.size() - 1) {
        const std::size_t above = folder.rfind('/', folder.size() - 2) + 1;
        name = folder.substr(above);
        folder.resize(above);
    }
    const auto found = map.find(folder);
    return found != map.end() && std::ranges::any_of(found->second, [&](const std::string& entry) {
               return entry == name || (entry.ends_with('*') && name.starts_with(entry.substr(0, entry.size() - 1)));
           });
}

TEST(FileMap, NamesEverySource) {
    const auto map = names_of_the_map();

    std::vector<std::string> missing;
    for (const std::string& source : sources_under(root)) {
        if (!source.starts_with("tests/") && !is_named(source, map)) {
            missing.push_back(source);
        }
    }

    EXPECT_THAT(map, SizeIs(10));
    EXPECT_THAT(missing, IsEmpty()) << "each needs its place in ARCHITECTURE.md's file map";
    EXPECT_FALSE(is_named("core/no_such_file.cpp", map));
    EXPECT_FALSE(is_named("tools/no_such_folder/gather.cpp", map));
}

TEST(FileMap, NamesNoFileThatIsGone) {
    const std::vector<std::string> sources = sources_under(root);

    std::vector<std::string> gone;
    for (const auto& [folder, names] : names_of_the_map()) {
        std::set<std::string> stems;
        for (const std::string& source : sources) {
            if (source.starts_with(folder)) {
                stems.insert(std::filesystem::path(source).stem().string());
            }
        }
        for (const std::string& name : names) {
            const bool is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
            if (is_word && !stems.contains(name) && !name.starts_with("sluice_")) {
                gone.push_back(folder + name);
            }
        }
    }

    EXPECT_THAT(gone, IsEmpty());
}

}  // namespace
}  // namespace sluice
