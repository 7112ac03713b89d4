#pragma once

#include <filesystem>

namespace sluice::test {

/// While it lives, the file is appended a byte to right after the first read of it by pread(), which is this file's own
/// in a program that it is part of. One at a time.
class GrowsWhenRead {
public:
    explicit GrowsWhenRead(const std::filesystem::path& file);
    ~GrowsWhenRead();
    GrowsWhenRead(const GrowsWhenRead&) = delete;
    GrowsWhenRead& operator=(const GrowsWhenRead&) = delete;
};

}  // namespace sluice::test
