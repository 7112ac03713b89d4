#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

/// Programs of Slurm's, played by shell scripts that PATH names first, or alone.
class FakePrograms {
public:
    enum class Others { hidden, seen };
    explicit FakePrograms(Others others) {
        ::setenv("PATH", (folder_.path().native() + (others == Others::seen ? ":" + path_ : "")).c_str(), 1);
    }
    FakePrograms(const FakePrograms&) = delete;
    FakePrograms& operator=(const FakePrograms&) = delete;
    ~FakePrograms() { ::setenv("PATH", path_.c_str(), 1); }

    void add(const std::string& name, const std::string& body) const {
        const auto file = folder_.path() / name;
        write_file(file, "#!/bin/sh\n" + body + "\n");
        ::chmod(file.c_str(), 0700);
    }

private:
    std::string path_ = std::getenv("PATH");
    TemporaryFolder folder_;
};

}  // namespace sluice::test
