#pragma once

#include <filesystem>
#include <string>

namespace sluice::test {

/// A terminal under a test's control: programs write to file().
class Terminal {
public:
    Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

    /// Everything written so far, once it contains `text` or all writers have ended. Fails the test after its patience.
    [[nodiscard]] const std::string& read_until(const std::string& text);
    [[nodiscard]] const std::string& read_to_end() { return read_until({}); }

private:
    int master_ = -1;
    std::filesystem::path file_;
    std::string text_;
};

}  // namespace sluice::test
