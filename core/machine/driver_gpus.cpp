#include "core/machine/driver_gpus.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>

#include "core/machine/topology.hpp"
#include "core/paths.hpp"
#include "core/split.hpp"

namespace sluice {
namespace {

using Fields = std::map<std::string, std::string>;

/// Lines such as "GPU UUID: \t GPU-…".
Fields read_fields(const std::filesystem::path& file) {
    constexpr std::string_view blanks = " \t";
    Fields fields;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        std::string_view value = line;
        const std::string_view name = take_until(value, ':');
        fields[std::string(trimmed(name, blanks))] = trimmed(value, blanks);
    }
    return fields;
}

/// A GPU that has not been initialised since the module was loaded has question marks in place of digits.
bool is_uuid(std::string_view text) {
    constexpr std::size_t length = std::string_view("GPU-00000000-0000-0000-0000-000000000000").size();
    return text.starts_with("GPU-") && text.size() == length && text.find('?') == std::string_view::npos;
}

bool has_instances(const std::filesystem::path& proc) {
    return std::ranges::any_of(entries_of(proc / "capabilities"), [](const std::filesystem::path& gpu) {
        return std::ranges::any_of(entries_of(gpu / "mig"), [](const std::filesystem::path& entry) {
            return entry.filename().native().starts_with("gi");
        });
    });
}

/// What a cgroup denies is no file of this process's, as it is not to CUDA.
bool may_open(const std::filesystem::path& file) {
    return ::access(file.c_str(), R_OK | W_OK) == 0;
}

}  // namespace

std::optional<std::vector<CudaGpu>> read_driver_gpus(const std::filesystem::path& proc,
                                                     const std::filesystem::path& dev) {
    const auto folders = entries_of(proc / "gpus");
    if (folders.empty() || has_instances(proc)) {
        return std::nullopt;
    }
    std::vector<CudaGpu> gpus;
    for (const auto& folder : folders) {
        Fields fields = read_fields(folder / "information");
        CudaGpu gpu{.uuid = fields["GPU UUID"], .pci = normal_pci(fields["Bus Location"]), .name = fields["Model"]};
        if (!is_uuid(gpu.uuid) || gpu.pci.empty() || fields["Device Minor"].empty()) {
            return std::nullopt;
        }
        if (fields["GPU Excluded"] != "Yes" && may_open(dev / ("nvidia" + fields["Device Minor"]))) {
            gpus.push_back(std::move(gpu));
        }
    }
    const auto is_other_model = [&](const CudaGpu& gpu) { return gpu.name != gpus.front().name; };
    if (std::ranges::any_of(gpus, is_other_model)) {
        return std::nullopt;
    }
    std::ranges::sort(gpus, {}, &CudaGpu::pci);
    return gpus;
}

}  // namespace sluice
