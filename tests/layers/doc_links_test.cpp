#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/layers/include_rules.hpp"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

const fs::path doc_root = SLUICE_SOURCE_DIR;

/// The lines of a page that are no code.
std::vector<std::string> prose_of(const std::string& page) {
    std::vector<std::string> lines;
    std::istringstream text(page);
    bool code = false;
    for (std::string line; std::getline(text, line);) {
        const bool fence = line.starts_with("```");
        code = code != fence;
        if (!code && !fence) {
            lines.push_back(line);
        }
    }
    return lines;
}

/// Where the links of a page lead inside of the project: "slurm.md#status".
std::vector<std::string> links_of(const std::string& page) {
    std::vector<std::string> links;
    for (const std::string& line : prose_of(page)) {
        for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 2)) {
            const std::string link = line.substr(at + 2, line.find(')', at) - at - 2);
            if (link.find("://") == std::string::npos) {
                links.push_back(link);
            }
        }
    }
    return links;
}

/// What a link to one of a page's headings has behind its '#', as GitHub makes it.
std::set<std::string> anchors_of(const std::string& page) {
    std::set<std::string> anchors;
    for (const std::string& line : prose_of(page)) {
        if (!line.starts_with('#')) {
            continue;
        }
        std::string anchor;
        for (const char byte : line.substr(line.find(' ') + 1)) {
            const bool kept =
                (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
            if (byte >= 'A' && byte <= 'Z') {
                anchor += static_cast<char>(byte - 'A' + 'a');
            } else if (kept || byte == ' ') {
                anchor += byte == ' ' ? '-' : byte;
            }
        }
        anchors.insert(anchor);
    }
    return anchors;
}

/// Every page of the project, from its root.
std::vector<std::string> pages() {
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator at(doc_root), end; at != end; ++at) {
        const std::string path = fs::relative(at->path(), doc_root).generic_string();
        if (at->is_directory() && (path.starts_with("build") || path.starts_with('.') || path == "out")) {
            at.disable_recursion_pending();
        } else if (path.ends_with(".md")) {
            found.push_back(path);
        }
    }
    return found;
}

/// What is wrong with a link on `page`, or an empty string.
std::string problem_of(const std::string& page, const std::string& link) {
    const std::size_t hash = link.find('#');
    const std::string target = link.substr(0, hash);
    const fs::path file = target.empty() ? doc_root / page : (doc_root / page).parent_path() / target;
    if (!fs::exists(file)) {
        return page + ": there is no " + link;
    }
    if (hash != std::string::npos && !anchors_of(text_of(file)).contains(link.substr(hash + 1))) {
        return page + ": no heading there is that of " + link;
    }
    return {};
}

TEST(DocLinks, LeadToFilesAndHeadingsThatAreThere) {
    std::vector<std::string> problems;
    std::size_t links = 0;
    for (const std::string& page : pages()) {
        for (const std::string& link : links_of(text_of(doc_root / page))) {
            ++links;
            if (std::string problem = problem_of(page, link); !problem.empty()) {
                problems.push_back(std::move(problem));
            }
        }
    }

    EXPECT_THAT(problems, IsEmpty());
    EXPECT_GT(links, 50U) << "the links were not found";
}

TEST(DocLinks, AreFoundOutsideOfCode) {
    EXPECT_THAT(links_of("[a](b.md#c), [d](#e)\n```\n[f](g.md)\n```\n[h](https://i.org)"), ElementsAre("b.md#c", "#e"));
}

TEST(DocLinks, NameHeadingsAsGitHubDoes) {
    EXPECT_THAT(anchors_of("# It's `run.precision`, twice\ntext\n```\n# no heading\n```\n## A-b c"),
                UnorderedElementsAre("its-runprecision-twice", "a-b-c"));
}

TEST(DocLinks, AreRefusedWhereNothingIs) {
    EXPECT_EQ(problem_of("README.md", "docs/none.md"), "README.md: there is no docs/none.md");
    EXPECT_EQ(problem_of("README.md", "#no-such"), "README.md: no heading there is that of #no-such");
    EXPECT_EQ(problem_of("docs/README.md", "../README.md#limits-today"), "");
}

}  // namespace
}  // namespace sluice
