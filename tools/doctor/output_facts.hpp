#pragma once

#include <filesystem>
#include <string>

#include "tools/doctor/facts.hpp"

namespace sluice {

/// The folder of the output `path`, or a folder of parts that is there itself, as this process sees it. Writes nothing.
[[nodiscard]] OutputFacts look_at_output(const std::filesystem::path& path);

/// A new file in that folder for other ranks to find; removed by the destructor. If it cannot be created, its path is
/// empty and facts.why_not holds the reason, unless facts.free_files is it.
class OutputMarker {
public:
    OutputMarker(const std::filesystem::path& output, OutputFacts& facts);
    ~OutputMarker();
    OutputMarker(const OutputMarker&) = delete;
    OutputMarker& operator=(const OutputMarker&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

}  // namespace sluice
