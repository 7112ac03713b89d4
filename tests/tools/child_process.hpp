#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

struct ChildResult {
    int exit_code = -1;  ///< 128 + the signal's number when one ended it.
    std::string out;
    std::string err;
};

enum class Stdout { caught, full, closed };  ///< `full`: every write fails, as on a full disk.

/// Runs `program` with exactly these arguments (no shell) in `folder`, stderr caught, stdin empty.
[[nodiscard]] ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments,
                                    const std::filesystem::path& folder, Stdout out = Stdout::caught);

/// A folder of its own, removed at the end with all that is in it.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace sluice::test
