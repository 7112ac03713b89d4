#include "tests/e2e/held_items.hpp"

#include <filesystem>

#include "tests/support/files.hpp"

namespace sluice::test {

std::string HeldItems::job_lines() const {
    return "[echo]\nmarks = \"\"\"" + marks_.path().native() + "\"\"\"\n";
}

bool HeldItems::is_held(pid_t pid) const {
    return std::filesystem::exists(marks_.path() / std::to_string(pid));
}

void HeldItems::release() const {
    write_file(marks_.path() / "released", "");
}

void HeldItems::hold() const {
    std::filesystem::remove(marks_.path() / "released");
}

}  // namespace sluice::test
