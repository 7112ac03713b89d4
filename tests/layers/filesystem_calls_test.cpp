#include "tests/layers/filesystem_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/layers/include_rules.hpp"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path source_root = SLUICE_SOURCE_DIR;

/// Users do not meet tests, benchmarks and the torture.
bool is_for_users(const std::string& source) {
    return !source.starts_with("tests/") && !source.starts_with("tools/bench/") &&
           !source.starts_with("tools/torture/");
}

TEST(FilesystemCalls, ThrowNoExceptionOfTheirOwnButInTheirWrapper) {
    std::vector<std::string> violations;
    for (const std::string& source : sources_under(source_root)) {
        if (is_for_users(source) && source != "core/files/paths.cpp") {
            for (const std::string& call : throwing_filesystem_calls(source, text_of(source_root / source))) {
                violations.push_back(call);
            }
        }
    }

    EXPECT_THAT(violations, IsEmpty()) << "core/files/paths.hpp has what says why, or give it an std::error_code";
}

TEST(FilesystemCalls, AreFoundWhereverTheyArePlanted) {
    const std::string source =
        "bool f(const std::filesystem::path& path) {\n"
        "    std::error_code error;\n"
        "    std::filesystem::rename(path, path / \"a\", error);\n"
        "    std::filesystem::rename(path,\n"
        "                            path / \"a\");\n"
        "    return std::filesystem::exists(path);\n"
        "}\n";

    EXPECT_THAT(throwing_filesystem_calls("core/f.cpp", source),
                ElementsAre("core/f.cpp:4: rename() throws an exception of its own",
                            "core/f.cpp:6: exists() throws an exception of its own"));
    for (const char* line :
         {"auto p = std::filesystem::current_path();", "auto p = absolute(path);", "if (!exists(path / \"a\")) {",
          "for (const auto& e : std::filesystem::directory_iterator(path, error)) {", "namespace fs = std::filesystem;",
          "using namespace std::filesystem;", "using std::filesystem::exists;",
          "std::filesystem::remove(path, no_error_code);"}) {
        EXPECT_THAT(throwing_filesystem_calls("core/f.cpp", line), ElementsAre(HasSubstr("core/f.cpp:1: "))) << line;
    }
}

TEST(FilesystemCalls, AreLeftAloneWhereTheyCannotThrow) {
    for (const char* line :
         {"// std::filesystem::exists(path) would throw", "std::error_code e; std::filesystem::exists(path, e);",
          "std::error_code e; return std::filesystem::status(a(path, 1), e).type();",
          "const std::filesystem::file_status status = s(path); return std::filesystem::exists(status);",
          "std::error_code e; return std::filesystem::exists(std::filesystem::symlink_status(path, e));",
          "run.exists(path);", "std::filesystem::path(name)",
          "status_of(path); remove_file(path); size_of_file(path);"}) {
        EXPECT_THAT(throwing_filesystem_calls("core/f.cpp", line), IsEmpty()) << line;
    }
}

}  // namespace
}  // namespace sluice
