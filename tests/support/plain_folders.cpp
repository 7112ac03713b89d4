// A job that is submitted needs a run folder of a plain path (E-SLM-112): where $TMPDIR has another, the temporary
// folders of this program's tests lie in /tmp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::test {
namespace {

class PlainFolders final : public testing::Environment {
public:
    void SetUp() override {
        const std::string folder = std::filesystem::temp_directory_path();
        const bool is_plain = std::ranges::all_of(folder, [](unsigned char c) {
            return std::isalnum(c) != 0 ||
                   std::string_view("._/-").find(static_cast<char>(c)) != std::string_view::npos;
        });
        if (!is_plain) {
            ::setenv("TMPDIR", "/tmp", 1);
        }
    }
};

const auto* const plain_folders = testing::AddGlobalTestEnvironment(new PlainFolders);

}  // namespace
}  // namespace sluice::test
