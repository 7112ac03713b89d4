#pragma once

#include <filesystem>
#include <string>

namespace sluice::test {

/// A terminal that a test looks at: what a program writes to file() is what it shows.
class Terminal {
public:
    Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

    /// Everything that was written, from the first byte, until `text` is in it or all who write have ended. Fails the
    /// test when that takes longer than longest_run.
    [[nodiscard]] const std::string& read_until(const std::string& text);
    [[nodiscard]] const std::string& read_to_end() { return read_until({}); }

private:
    int master_ = -1;
    std::filesystem::path file_;
    std::string text_;
};

}  // namespace sluice::test
